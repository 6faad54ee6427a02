package author

import (
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/suggest"
	"github.com/stepkeeper/stepkeeper/simulate"
)

type simulateOptions struct {
	app      *app.App
	file     string
	services string
	order    string
	faults   []string
	orders   int
	seeds    int
	first    uint64
	minutes  float64
	replay   string
	tape     string
	test     string
	move     string // an order to begin with
	given    func(flag string) bool

	scene    simulate.Scenario
	findings []simulate.Finding // findings that need no seed
}

// NewSimulate returns the command simulate.
func NewSimulate(a *app.App) *cobra.Command {
	o := &simulateOptions{app: a}
	cmd := &cobra.Command{
		Use:   "simulate FILE",
		Short: "Run a workflow against every failure, in virtual time",
		Long: "Run a workflow on the real Scheduler, Supervisor and agents, in virtual time and against " +
			"everything that\n" +
			"can go wrong: crashes before and after each call, duplicates, delays, lost answers, frozen " +
			"processes, clocks\n" +
			"that jump, services that hang, refuse or contradict themselves. Every invariant is checked " +
			"after every step;\n" +
			"then the faults stop, and every order must come to its end.\n\n" +
			"What breaks an invariant is shrunk, drawn as a sequence diagram, and written as a tape that " +
			"--replay plays\n" +
			"again, also with the corrected FILE. A seed gives the same run each time. ^C ends the search " +
			"and reports what was\n" +
			"done so far.\n\n" +
			"Exit codes: 0 nothing was broken, 6 an invariant is broken, 2 wrong input, 4 no such file, 1 " +
			"interrupted.\n\n" +
			"--services says what the services truly offer, where that is not what the " +
			"workflow declares:\n\n" +
			"  services:\n" +
			"    payment: {grade: idempotent, latency: 200ms, slowLatency: 5s, failures: 0.05, forgets: " +
			"10m}\n" +
			"    mail: {noUndo: true, refusals: 0.01, check: true}\n\n" +
			"--move begins with an order of the server or stack, in the state in which a move to FILE " +
			"would leave it, before\n" +
			"FILE is deployed. What the task does not know is drawn: a call in doubt may have happened, " +
			"or not.\n\n" +
			"Faults: " + strings.Join(faultNames(), ", ") + ".",
		Example: "  stepkeeper simulate workflows/order.yaml --order order.json\n" +
			"  stepkeeper simulate workflows/order.yaml --services services.yaml --minutes 5\n" +
			"  stepkeeper simulate workflows/order.yaml --faults crash-after,fresh-copy --seeds 50000\n" +
			"  stepkeeper simulate workflows/order.yaml --move order-1001\n" +
			"  stepkeeper simulate --replay counterexample.json\n" +
			"  stepkeeper simulate corrected.yaml --replay counterexample.json",
		Args: app.Args(cobra.MaximumNArgs(1), "one workflow file"),
		RunE: func(cmd *cobra.Command, given []string) error {
			if len(given) > 0 {
				o.file = given[0]
			}
			o.given = cmd.Flags().Changed
			return runSimulate(cmd.Context(), o)
		},
		ValidArgsFunction: app.CompleteWorkflowFiles,
	}
	o.flags(cmd)
	return cmd
}

func (o *simulateOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.services, "services", "", "`file` that says what the services truly offer, YAML")
	f.StringVar(&o.order, "order", "",
		"`file` with the content of every order, JSON (default: an empty object)")
	f.StringSliceVar(&o.faults, "faults", nil,
		"only these `kinds` of faults, separated by commas (default: all)")
	f.IntVar(&o.orders, "orders", 4, "most orders of one seed")
	f.IntVar(&o.seeds, "seeds", 0, "`number` of seeds (default 20000, or no limit with --minutes)")
	f.Uint64Var(&o.first, "seed", 1, "the first seed")
	f.Float64Var(&o.minutes, "minutes", 0, "how long to look (default: until the seeds are used up)")
	f.StringVar(&o.replay, "replay", "", "play this `tape` instead, and report what happens")
	f.StringVar(&o.tape, "tape", "counterexample.json", "`file` for the tape of what was found")
	f.StringVar(&o.move, "move", "", "begin with this `order`, as a move to FILE leaves it; nothing is moved")
	f.StringVar(&o.test, "regression-test", "", "`file` for a Go test of what was found, with its tape in it")
	_ = cmd.MarkFlagFilename("services", "yaml", "yml")
	_ = cmd.MarkFlagFilename("order", "json")
	_ = cmd.MarkFlagFilename("replay", "json")
	_ = cmd.RegisterFlagCompletionFunc("faults",
		cobra.FixedCompletions(faultNames(), cobra.ShellCompDirectiveNoFileComp))
}

func faultNames() []string {
	var names []string
	for _, f := range simulate.Faults() {
		names = append(names, f.String())
	}
	return names
}

func runSimulate(ctx context.Context, o *simulateOptions) error {
	if o.replay != "" {
		return o.play()
	}
	sc, err := o.scenario(ctx)
	if err != nil {
		return err
	}
	search := simulate.Search{Seeds: o.seeds, First: o.first,
		Time: time.Duration(o.minutes * float64(time.Minute))}
	if search.Seeds == 0 && search.Time == 0 {
		search.Seeds = 20_000
	}
	if err := o.print(o.search(ctx, sc, search), ctx.Err() != nil); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return failure.Silent(failure.General, "interrupted")
	}
	return nil
}

// search looks for what goes wrong without any fault, which needs no seed, and then with them.
func (o *simulateOptions) search(ctx context.Context, sc simulate.Scenario,
	s simulate.Search) *simulate.Report {
	o.scene, o.findings = sc, simulate.Diagnose(sc)
	if o.wrong() != nil {
		return simulate.Find(sc, simulate.Search{Stop: func() bool { return true }})
	}
	defer simulate.Spacious()()
	return o.find(ctx, sc, s)
}

// mostSimulated bounds the orders of one seed, which are all in memory.
const mostSimulated = 1000

// numbers looks at what counts things: 0 is no answer to how many, where it was given.
func (o *simulateOptions) numbers() error {
	const year = 365 * 24 * 60
	switch {
	case o.orders > mostSimulated:
		return failure.New(failure.Usage, fmt.Sprintf("give a number from 1 to %d", mostSimulated),
			"--orders %d is out of range", o.orders)
	case o.seeds < 0, o.seeds == 0 && o.given("seeds"), o.orders < 1:
		return failure.New(failure.Usage, "give positive numbers",
			"--seeds and --orders count things, from 1")
	case o.minutes < 0, o.minutes == 0 && o.given("minutes"), math.IsNaN(o.minutes), o.minutes > year:
		return failure.New(failure.Usage, "give a positive number, 0.5 for half a minute",
			"--minutes says how long to look, up to a year")
	}
	return nil
}

// scenario reads what is to be run.
func (o *simulateOptions) scenario(ctx context.Context) (simulate.Scenario, error) {
	var sc simulate.Scenario
	if o.file == "" {
		return sc, failure.New(failure.Usage, "name one, or a tape with --replay",
			"there is no workflow file to simulate")
	}
	if err := o.numbers(); err != nil {
		return sc, err
	}
	def, err := definitionOf(o.file)
	if err != nil {
		return sc, err
	}
	sc = simulate.Scenario{Definition: def, Orders: o.orders}
	if o.move != "" {
		if o.order != "" || o.test != "" {
			return sc, failure.New(failure.Usage, "leave them out",
				"--order and --regression-test do not fit to --move: the order has its content, and its "+
					"test would hold its data")
		}
		c, err := o.app.Client(ctx)
		if err == nil {
			sc, err = moved(ctx, o.app, c, o.move, "", def)
		}
		if err != nil {
			return sc, err
		}
	}
	if o.order != "" {
		if sc.Order, err = orderContent(o.order); err != nil {
			return sc, err
		}
	}
	if o.services != "" {
		data, err := os.ReadFile(o.services)
		if err != nil {
			return sc, failure.Wrap(err, failure.NotFound, "give --services a YAML file",
				"the services cannot be read")
		}
		if sc.Services, err = simulate.ParseServices(data, def); err != nil {
			return sc, failure.Wrap(err, failure.Usage, "see `stepkeeper simulate --help`", "%s is not right",
				o.services)
		}
	}
	for _, name := range o.faults {
		f := simulate.FaultNamed(strings.TrimSpace(name))
		if f == simulate.NoFault {
			return sc, failure.New(failure.Usage, suggest.DidYouMean(name, faultNames(),
				"there are "+strings.Join(faultNames(), ", ")), "there is no fault %q", name)
		}
		sc.Only = append(sc.Only, f)
	}
	return sc, nil
}

// moved is the scenario of an order that is moved: to def, or where that is nil to the definition of its
// workflow with the hash, or the latest.
func moved(ctx context.Context, a *app.App, c *client.Client, id, hash string,
	def *core.Definition) (sc simulate.Scenario, err error) {
	ctx, cancel := a.Bounded(ctx, app.DefaultTimeout)
	defer cancel()
	if def != nil {
		t, err := c.Get(ctx, id)
		if err != nil {
			return sc, a.Explain(err, "order "+id)
		}
		hash = t.Definition // a stack has stored the definition of each order
	}
	plan, err := c.PlanMoveDocuments(ctx, id, hash)
	switch {
	case err != nil:
		return sc, a.Explain(err, "order "+id)
	case plan.Definition == "" && plan.Reason != "":
		return sc, failure.New(failure.Refused, "", "order %s cannot be moved: %s", id, plan.Reason)
	case plan.Documents == nil:
		return sc, failure.New(failure.General, "run a server of the version of this program",
			"the server does not return what is stored of order %s", id)
	}
	if sc, err = simulate.Moved(plan.Documents, plan.Definition, def, core.TimeOf(a.Now())); err != nil {
		return sc, failure.Wrap(err, failure.Refused, "compare the definitions with `stepkeeper move "+id+
			" --definition latest --dry-run`", "order %s cannot be moved, or not simulated", id)
	}
	return sc, nil
}

// SimulateMove simulates an order as a move would leave it. The report is nil unless the output is JSON. An
// error with the code NotProcessed means that the simulation found something wrong.
func SimulateMove(ctx context.Context, a *app.App, c *client.Client, id, hash string,
	seeds int) (*Simulated, error) {
	o := &simulateOptions{app: a, tape: "counterexample.json"}
	sc, err := moved(ctx, a, c, id, hash, nil)
	if err != nil {
		return nil, err
	}
	r := o.search(ctx, sc, simulate.Search{Seeds: seeds, First: 1})
	if ctx.Err() != nil {
		return nil, failure.Wrap(ctx.Err(), failure.General, "", "order %s is not moved", id)
	}
	if !a.JSON() {
		return nil, o.print(r, false)
	}
	if err := o.keepTape(r); err != nil {
		return nil, err
	}
	return o.whole(r), o.verdict(r)
}

// find searches, and shows how far it is: with a bar on a terminal, else with a line now and then.
func (o *simulateOptions) find(ctx context.Context, sc simulate.Scenario,
	search simulate.Search) *simulate.Report {
	label, total := "seeds", int64(search.Seeds)
	if total == 0 {
		label, total = "seconds", int64(search.Time/time.Second)
	}
	s := o.app.Streams
	bar := s.Progress(label, total)
	defer bar.Done()
	var mu sync.Mutex
	began, done, reported := time.Now(), 0, time.Now()
	search.Stop = func() bool { return ctx.Err() != nil }
	search.Progress = func(seeds, orders int) {
		mu.Lock()
		defer mu.Unlock()
		at := seeds
		if search.Seeds == 0 {
			at = int(time.Since(began) / time.Second)
		}
		if at > done {
			bar.Add(at - done)
			done = at
		}
		if !s.ErrIsTerminal() && time.Since(reported) > 10*time.Second {
			reported = time.Now()
			fmt.Fprintf(s.Err, "%d seeds, %d orders, nothing broken so far\n", seeds, orders)
		}
	}
	return simulate.Find(sc, search)
}
