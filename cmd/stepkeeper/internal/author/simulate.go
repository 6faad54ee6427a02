package author

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/internal/simulate"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

type simulateOptions struct {
	app      *app.App
	file     string
	services string
	order    string
	answers  []string // answers to steps, in the form STEP=VALUE
	faults   []string
	orders   int
	simulate.Search
	replay string
	tape   string

	scene simulate.Scenario
}

var simulateText = app.Text{
	Use:   "simulate FILE",
	Group: "author",
	Short: "Run a workflow against every failure, in virtual time",
	Examples: `  stepkeeper simulate workflows/order.yaml --order order.json
  stepkeeper simulate workflows/order.yaml --services services.yaml --for 5m
  stepkeeper simulate workflows/expense.yaml --answer approve=yes --order expense.json
  stepkeeper simulate workflows/order.yaml --faults crash-after,fresh-copy --seeds 50000
  stepkeeper simulate --replay counterexample.json
  stepkeeper simulate corrected.yaml --replay counterexample.json`,
	Long: `It runs the real Scheduler, Supervisor and agents in virtual time, with crashes, duplicates, delays, lost answers,
frozen processes, clock jumps, and services that hang, refuse or contradict themselves. It checks every invariant
after every step. Then the faults stop, and every order must end.

It shrinks a broken invariant, draws it as a sequence diagram, and writes a tape that --replay plays again, also
with a corrected FILE. A seed gives the same run each time. ^C ends the search and prints the result so far.
Exit codes: 0 nothing is broken, 6 an invariant is broken, 2 wrong input, 4 no such file, 1 interrupted.

A file for --services states what the services truly offer, if the workflow declares something else:

  services:
    payment: {grade: idempotent, latency: 200ms, slowLatency: 5s, failures: 0.05, forgets: 10m}
    mail: {noUndo: true, refusals: 0.01, check: true}
    hotels: {reserve: {output: {price: 270}}}
    cars: {reserve: {schema: {type: object, required: [price], properties: {price: {type: number}}}}}

The last two state what operations return: an output, or a JSON Schema of random outputs.`,
	Args:  app.Args{Most: 1, What: "one workflow file"},
	Offer: app.Files("yaml", "yml"),
}

// NewSimulate returns the command `simulate`.
func NewSimulate(a *app.App) *cobra.Command {
	o := &simulateOptions{app: a, orders: 4, Search: simulate.Search{First: 1}, tape: "counterexample.json"}
	search := o.flags()
	flags := append(search, app.FileFlags.Flag("replay", &o.replay,
		"play this `tape` instead").Offers(app.Files("json")))
	return a.Command(simulateText, flags, func(cmd *cobra.Command, given []string) error {
		if len(given) > 0 {
			o.file = given[0]
		}
		if o.replay != "" {
			if err := app.Foreign(cmd, search, "a search, and --replay plays a tape"); err != nil {
				return err
			}
		}
		return runSimulate(cmd.Context(), o)
	})
}

func (o *simulateOptions) flags() []app.Flag {
	return []app.Flag{
		app.FileFlags.Flag("order", &o.order,
			"`file` with the content of every order, JSON "+
				"(default: drawn from the schema of the workflow, or an empty object)").
			Offers(app.Files("json")),
		app.FileFlags.Flag("services", &o.services,
			"`file` with what the services truly offer, YAML").Offers(app.Files("yaml", "yml")),
		app.FileFlags.Flag("tape", &o.tape, "`file` for the tape of a broken invariant"),
		app.SearchFlags.Flag("answer", app.Whole{To: &o.answers},
			"`answer` to an approval or event, STEP=VALUE, any number of times; "+
				"BLOCK/STEP=VALUE in a block or child order"),
		{
			In: app.SearchFlags, Name: "faults", To: &o.faults, Of: faultNames(),
			Text: "`kinds` of faults, separated by commas (default: all): " + strings.Join(faultNames(), ", "),
		},
		app.SearchFlags.Flag("for", &o.Time,
			"how long to search (default: a minute, or until the last seed with --seeds)").Within("50ms", "365d"),
		app.SearchFlags.Flag("orders", &o.orders, "most orders of one seed").Within("1", "1000"),
		app.SearchFlags.Flag("seed", &o.First, "the first seed"),
		app.SearchFlags.Flag("seeds", &o.Seeds,
			"`number` of seeds (default 20000 seeds or a minute, whichever ends first; no limit with --for)").
			Within("1", ""),
	}
}

func faultNames() []string {
	var names []string
	for _, f := range simulate.Faults() {
		names = append(names, string(f))
	}
	return names
}

func runSimulate(ctx context.Context, o *simulateOptions) error {
	if o.replay != "" {
		return o.play()
	}
	sc, err := o.scenario()
	if err != nil {
		return err
	}
	if o.Seeds == 0 && o.Time == 0 {
		o.Seeds = 20_000
		o.Time = time.Minute
	}
	if err := o.print(o.search(ctx, sc), ctx.Err() != nil); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return failure.Silent(failure.General, "interrupted")
	}
	return nil
}

func (o *simulateOptions) scenario() (simulate.Scenario, error) {
	var sc simulate.Scenario
	if o.file == "" {
		return sc, failure.New(failure.Usage, "name one, or a tape with --replay",
			"there is no workflow file to simulate")
	}
	def, err := definitionOf(o.file)
	if err != nil {
		return sc, err
	}
	sc = simulate.Scenario{Definition: def, Orders: o.orders}
	if o.order != "" {
		sc.Order, err = o.app.ReadJSON(o.order, "order", port.MaxOrder)
		if err != nil {
			return sc, err
		}
	}
	if o.services != "" {
		data, err := os.ReadFile(o.services)
		if err != nil {
			return sc, app.Unread(err, "give --services a YAML file", "services file")
		}
		sc.Services, err = simulate.ParseServices(data, def, beside(o.file)...)
		if err != nil {
			return sc, failure.Wrap(err, failure.Usage, "see `stepkeeper simulate --help`", "%s is not right",
				o.services)
		}
	}
	sc.Answers, err = simulate.ParseAnswers(o.answers, def)
	if err != nil {
		return sc, failure.Wrap(err, failure.Usage, "see `stepkeeper simulate --help`",
			"--answer cannot be used")
	}
	sc, err = simulate.Fitted(sc)
	if err != nil {
		return sc, failure.Wrap(err, failure.Usage, "give --order a file with an order that matches",
			"the order cannot be simulated")
	}
	for _, name := range o.faults {
		sc.Only = append(sc.Only, simulate.Fault(name))
	}
	return sc, nil
}

// beside returns the workflows in the folder of a workflow file, because one file of services may serve them
// all. It leaves out what cannot be read as a workflow.
func beside(file string) (all []*core.Definition) {
	files, _ := source.LoadDir(filepath.Dir(file), source.Options{})
	for _, f := range files {
		if f.Definition != nil {
			all = append(all, f.Definition)
		}
	}
	return all
}

// moved returns a scenario in which an order continues after a move to the definition that hash names.
func moved(ctx context.Context, a *app.App, c *client.Client, id, hash string) (sc simulate.Scenario, err error) {
	ctx, cancel := a.Bounded(ctx, app.DefaultTimeout)
	defer cancel()
	plan, err := c.PlanMoveDocuments(ctx, id, hash)
	switch {
	case err != nil:
		return sc, a.Explain(err, "order "+id)
	case plan.Definition == "" && plan.Reason != "":
		return sc, failure.New(failure.Refused, "", "order %s cannot be moved: %s", id, plan.Reason)
	case plan.Documents == nil:
		return sc, failure.New(failure.General, "run the server and this program in the same version",
			"the server does not return the stored data of order %s", id)
	}
	sc, err = simulate.Moved(plan.Documents, plan.Definition, core.TimeOf(a.Now()))
	if err != nil {
		return sc, failure.Wrap(err, failure.Refused, "compare the definitions with `stepkeeper move "+id+
			" --definition latest --dry-run`", "the move of order %s cannot be simulated", id)
	}
	return sc, nil
}

// SimulateMove simulates an order after a move. It returns a report only if the output is JSON, also with an error. An
// error with the code NotProcessed means that the simulation found a problem.
func SimulateMove(ctx context.Context, a *app.App, c *client.Client, id, hash string,
	seeds int,
) (*Simulated, error) {
	o := &simulateOptions{app: a, Search: simulate.Search{Seeds: seeds, First: 1}, tape: "counterexample.json"}
	sc, err := moved(ctx, a, c, id, hash)
	if err != nil {
		return nil, err
	}
	r := o.search(ctx, sc)
	if ctx.Err() != nil {
		return nil, failure.Wrap(ctx.Err(), failure.General, "", "order %s is not moved", id)
	}
	if !a.JSON() {
		return nil, o.print(r, false)
	}
	return o.whole(r), o.conclude(r)
}

// search examines the scenario and shows its progress.
func (o *simulateOptions) search(ctx context.Context, sc simulate.Scenario) *simulate.Report {
	o.scene = sc
	defer simulate.Spacious()()
	search := o.Search
	label := "seeds"
	total := int64(search.Seeds)
	if total == 0 {
		label = "seconds"
		total = int64(search.Time / time.Second)
	}
	bar := o.app.Streams.Search(label+", nothing broken so far", total)
	defer bar.Done()
	began := time.Now()
	search.Stop = func() bool { return ctx.Err() != nil }
	search.Progress = func(done, _ int) {
		if search.Seeds == 0 {
			done = int(time.Since(began) / time.Second)
		}
		bar.Set(done, 0)
	}
	return simulate.Examine(sc, search)
}
