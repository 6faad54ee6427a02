package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/simulate"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

type simulateOptions struct {
	app      *App
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
}

func newSimulate(a *App) *cobra.Command {
	o := &simulateOptions{app: a}
	cmd := &cobra.Command{
		Use:   "simulate FILE",
		Short: "Run a workflow against every failure, in virtual time",
		Long: "Run a workflow on the real Scheduler, Supervisor and agents, in virtual time and against everything that\n" +
			"can go wrong: crashes before and after each call, duplicates, delays, lost answers, frozen processes, clocks\n" +
			"that jump, services that hang, refuse or contradict themselves. Every invariant is checked after every step;\n" +
			"then the faults stop, and every order must come to its end.\n\n" +
			"What breaks an invariant is shrunk, drawn as a sequence diagram, and written as a tape that --replay plays\n" +
			"again. The exit code is 6 then. A seed gives the same run each time.\n\n" +
			"--services says what the services truly offer, where that is not what the workflow declares:\n\n" +
			"  services:\n" +
			"    payment: {grade: idempotent, latency: 200ms, slowLatency: 5s, failures: 0.05, forgets: 10m}\n" +
			"    mail: {noUndo: true, refusals: 0.01, check: true}\n\n" +
			"Faults: " + strings.Join(faultNames(), ", ") + ".",
		Example: "  stepkeeper simulate workflows/order.yaml --order order.json\n" +
			"  stepkeeper simulate workflows/order.yaml --services services.yaml --minutes 5\n" +
			"  stepkeeper simulate workflows/order.yaml --faults crash-after,duplicate --seeds 50000\n" +
			"  stepkeeper simulate --replay counterexample.json",
		Args: args(cobra.MaximumNArgs(1), "one workflow file"),
		RunE: func(cmd *cobra.Command, given []string) error {
			if len(given) > 0 {
				o.file = given[0]
			}
			return runSimulate(cmd.Context(), o)
		},
		ValidArgsFunction: completeWorkflowFiles,
	}
	f := cmd.Flags()
	f.StringVar(&o.services, "services", "", "`file` that says what the services truly offer, YAML")
	f.StringVar(&o.order, "order", "", "`file` with the content of every order, JSON (default: an empty object)")
	f.StringSliceVar(&o.faults, "faults", nil, "only these `kinds` of faults, separated by commas (default: all)")
	f.IntVar(&o.orders, "orders", 4, "most orders of one seed")
	f.IntVar(&o.seeds, "seeds", 0, "`number` of seeds (default 20000, or no limit with --minutes)")
	f.Uint64Var(&o.first, "seed", 1, "the first seed")
	f.Float64Var(&o.minutes, "minutes", 0, "how long to look (default: until the seeds are used up)")
	f.StringVar(&o.replay, "replay", "", "play this `tape` instead, and tell what happens")
	f.StringVar(&o.tape, "tape", "counterexample.json", "`file` for the tape of what was found")
	_ = cmd.MarkFlagFilename("services", "yaml", "yml")
	_ = cmd.MarkFlagFilename("order", "json")
	_ = cmd.MarkFlagFilename("replay", "json")
	_ = cmd.RegisterFlagCompletionFunc("faults", cobra.FixedCompletions(faultNames(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
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
	sc, err := o.scenario()
	if err != nil {
		return err
	}
	search := simulate.Search{Seeds: o.seeds, First: o.first, Time: time.Duration(o.minutes * float64(time.Minute))}
	if search.Seeds == 0 && search.Time == 0 {
		search.Seeds = 20_000
	}
	report := o.find(ctx, sc, search)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return o.tell(report)
}

// scenario reads what is to be run.
func (o *simulateOptions) scenario() (simulate.Scenario, error) {
	var sc simulate.Scenario
	if o.file == "" {
		return sc, failure.New(failure.Usage, "name one, or a tape with --replay", "there is no workflow file to simulate")
	}
	if o.seeds < 0 || o.minutes < 0 || o.orders < 1 {
		return sc, failure.New(failure.Usage, "give positive numbers", "--seeds, --minutes and --orders count things")
	}
	def, problems := source.LoadFile(o.file, source.Options{})
	if def == nil {
		return sc, failure.New(failure.Usage, problems.Error(), "%s is no valid workflow", o.file)
	}
	sc = simulate.Scenario{Definition: def, Orders: o.orders}
	if o.order != "" {
		data, err := os.ReadFile(o.order)
		if err != nil {
			return sc, failure.Wrap(err, failure.NotFound, "give --order a file with JSON", "the order cannot be read")
		}
		if !json.Valid(data) {
			return sc, failure.New(failure.Usage, "give --order a file with one JSON document", "%s is not JSON", o.order)
		}
		sc.Order = data
	}
	if o.services != "" {
		data, err := os.ReadFile(o.services)
		if err != nil {
			return sc, failure.Wrap(err, failure.NotFound, "give --services a YAML file", "the services cannot be read")
		}
		if sc.Services, err = simulate.ParseServices(data, def); err != nil {
			return sc, failure.Wrap(err, failure.Usage, "see `stepkeeper simulate --help`", "%s is not right", o.services)
		}
	}
	for _, name := range o.faults {
		f := simulate.FaultNamed(strings.TrimSpace(name))
		if f == simulate.NoFault {
			return sc, failure.New(failure.Usage, "there are "+strings.Join(faultNames(), ", "), "there is no fault %q", name)
		}
		sc.Only = append(sc.Only, f)
	}
	return sc, nil
}

// find searches with a bar that shows how far it is.
func (o *simulateOptions) find(ctx context.Context, sc simulate.Scenario, search simulate.Search) *simulate.Report {
	bar := o.app.Streams.Progress("seeds", int64(search.Seeds))
	defer bar.Done()
	var mu sync.Mutex
	done := 0
	search.Stop = func() bool { return ctx.Err() != nil }
	search.Progress = func(seeds, _ int) {
		mu.Lock()
		defer mu.Unlock()
		if seeds > done {
			bar.Add(seeds - done)
			done = seeds
		}
	}
	return simulate.Find(sc, search)
}

// tell is the ending: what was done, and what may be concluded.
func (o *simulateOptions) tell(r *simulate.Report) error {
	a := o.app
	if r.Tape != nil {
		if err := r.Tape.Write(o.tape); err != nil {
			return failure.Wrap(err, failure.General, "give --tape a file that can be written", "the tape cannot be kept")
		}
	}
	if a.JSON() {
		if err := a.printJSON(r); err != nil {
			return err
		}
		return broken(r.Violation)
	}
	out, style := a.Streams.Out, a.Streams.Style()
	fmt.Fprintf(out, "%s: %d seeds, %d orders, %d events in %.1f s (%.0f orders/s on each core)\n",
		style.Bold(r.Workflow), r.Seeds, r.Orders, r.Events, r.Seconds, r.OrdersPerS)
	fmt.Fprintf(out, "ends: %s\n", counts(ends(r.Ends)))
	fmt.Fprintf(out, "faults injected: %s\n", counts(r.FaultsByKind))
	fmt.Fprintf(out, "cells (place × fault) hit: %d\n", len(r.Cells))
	fmt.Fprintf(out, "invariants checked: %d, %s\n", len(r.Invariants), counts(r.Invariants))
	if r.Violation == nil {
		fmt.Fprintln(out, style.Good(r.Statement()))
		return nil
	}
	fmt.Fprintf(out, "%s\n", style.Bad(r.Statement()))
	fmt.Fprintf(out, "found by seed %d, shrunk to %d choices:\n\n", r.Seed, len(r.Tape.Choices))
	fmt.Fprintln(out, simulate.Diagram(simulate.About(r.Story, r.Violation)))
	fmt.Fprintf(out, "replay: stepkeeper simulate --replay %s\n", o.tape)
	return broken(r.Violation)
}

// play runs a tape and tells its story.
func (o *simulateOptions) play() error {
	tape, err := simulate.ReadTape(o.replay)
	if err != nil {
		return failure.Wrap(err, failure.NotFound, "give --replay a tape that `stepkeeper simulate` has written", "there is nothing to replay")
	}
	r, err := tape.Play(simulate.Options{Story: true})
	if err != nil {
		return failure.Wrap(err, failure.Usage, "the tape was written for another version; simulate the workflow again", "the tape cannot be played")
	}
	if o.app.JSON() {
		if err := o.app.printJSON(map[string]any{"story": r.Story, "violation": r.Violation, "ends": r.Ends}); err != nil {
			return err
		}
		return broken(r.Violation)
	}
	out, style := o.app.Streams.Out, o.app.Streams.Style()
	for _, l := range r.Story {
		fmt.Fprintln(out, l)
	}
	if r.Violation == nil {
		fmt.Fprintln(out, style.Good("no violation; ends: "+counts(ends(r.Ends))))
		return nil
	}
	fmt.Fprintf(out, "\n%s\n%s\n", style.Bad("invariant "+r.Violation.String()), r.Violation.Rule())
	return broken(r.Violation)
}

func broken(v *simulate.Violation) error {
	if v == nil {
		return nil
	}
	return failure.Silent(failure.NotProcessed, "an invariant is broken")
}

func ends(m map[core.State]int) map[string]int {
	all := map[string]int{}
	for s, n := range m {
		all[string(s)] = n
	}
	return all
}

// counts writes what was counted, the names sorted.
func counts(m map[string]int) string {
	if len(m) == 0 {
		return "none"
	}
	parts := make([]string, 0, len(m))
	for _, name := range simulate.Sorted(m) {
		parts = append(parts, fmt.Sprintf("%s %d", name, m[name]))
	}
	return strings.Join(slices.Clip(parts), ", ")
}
