package author

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/internal/simulate"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// print prints the report of a simulation. If the report has a tape, print then stores it. A tape records
// the run that broke an invariant. Hours of search may have found it, so that a full disk must not hide the report.
func (o *simulateOptions) print(r *simulate.Report, stopped bool) error {
	a := o.app
	if a.JSON() {
		a.PrintJSON(o.whole(r))
	} else {
		o.printText(r, stopped)
	}
	return o.conclude(r)
}

// conclude stores the tape of a report that is printed in any case, and returns the verdict.
func (o *simulateOptions) conclude(r *simulate.Report) error {
	if r.Tape != nil {
		if err := r.Tape.Write(o.tape); err != nil {
			return failure.Wrap(err, failure.General, "give --tape a file that can be written", "the tape cannot be written")
		}
		if !o.app.JSON() {
			fmt.Fprintf(o.app.Streams.Out, "replay: stepkeeper simulate --replay %s\n", message.Quoted(o.tape))
		}
	}
	if r.Wrong() {
		return failure.Silent(failure.NotProcessed, "the workflow is wrong even without faults")
	}
	return broken(r.Violation)
}

func (o *simulateOptions) printText(r *simulate.Report, stopped bool) {
	if r.Seeds == 0 && r.Wrong() {
		o.printFindings(r)
		return
	}
	out := o.app.Streams.Out
	style := o.app.Streams.Style()
	if stopped {
		fmt.Fprintln(out, "stopped early; this is what was done so far")
	}
	fmt.Fprintf(out, "%s: %d seeds, %d orders, %d events in %.1f s (%.0f orders/s on each core)\n",
		style.Bold(r.Workflow), r.Seeds, r.Orders, r.Events, r.Seconds, r.OrdersPerS)
	looks := 0
	for _, n := range r.Checks {
		looks += n
	}
	fmt.Fprintf(out, "ends: %s\n", counts(r.Ends))
	fmt.Fprintf(out, "faults injected: %s\n", counts(r.Faults))
	fmt.Fprintf(out, "cells (place × fault) hit: %d of %d\n", len(r.Cells), r.CellCount)
	fmt.Fprintf(out, "invariants checked: %d of %d, %d times in all\n", len(r.Checks),
		len(simulate.Invariants()), looks)
	o.printFindings(r)
	if r.Violation == nil {
		fmt.Fprintln(out, style.Good(r.Statement()))
		return
	}
	fmt.Fprintf(out, "\n%s\n%s\n", style.Bold(style.Bad(r.Statement())), r.Violation.Describe(o.scene))
	fmt.Fprintf(out, "Found by seed %d, shrunk to %d choices; what happens then:\n\n", r.Seed,
		len(r.Tape.Choices))
	fmt.Fprintln(out, simulate.Diagram(simulate.About(r.Story, r.Violation)))
}

func (o *simulateOptions) printFindings(r *simulate.Report) {
	out := o.app.Streams.Out
	style := o.app.Streams.Style()
	for _, f := range r.Findings {
		title := f.Title()
		if !f.Advice {
			title = style.Bold(style.Bad(title))
		}
		fmt.Fprintf(out, "%s\nFix: %s.\n", title, f.Fix)
	}
}

// Simulated is the JSON form of a simulation's report. It lacks the diagram of the text report.
type Simulated struct {
	*simulate.Report
	Statement string      `json:"statement,omitempty"` // absent if no seed was run
	Violation *brokenRule `json:"violation,omitempty"`
}

type brokenRule struct {
	*simulate.Violation
	simulate.Explained
	Rule string `json:"rule"`
}

func brokenRuleOf(v *simulate.Violation, sc simulate.Scenario) *brokenRule {
	if v == nil {
		return nil
	}
	return &brokenRule{Violation: v, Explained: v.Explain(sc), Rule: v.Rule()}
}

func (o *simulateOptions) whole(r *simulate.Report) *Simulated {
	all := &Simulated{Report: r, Violation: brokenRuleOf(r.Violation, o.scene)}
	if r.Seeds > 0 {
		all.Statement = r.Statement()
	}
	return all
}

func broken(v *simulate.Violation) error {
	if v == nil {
		return nil
	}
	return failure.Silent(failure.NotProcessed, "an invariant is broken")
}

func counts[K ~string](m map[K]int) string {
	if len(m) == 0 {
		return "none"
	}
	parts := make([]string, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, m[name]))
	}
	return strings.Join(slices.Clip(parts), ", ")
}

// play replays a tape and prints the events of the run. If the user named a workflow file, this file replaces
// the recorded workflow.
func (o *simulateOptions) play() error {
	tape, err := simulate.ReadTape(o.replay)
	if err != nil {
		return app.Unread(err, "give --replay a tape that `stepkeeper simulate` has written", "tape")
	}
	var def *core.Definition
	if o.file != "" {
		def, err = definitionOf(o.file)
		if err != nil {
			return err
		}
	}
	sc, r, err := tape.Play(def)
	if err != nil {
		return failure.Wrap(err, failure.Usage,
			"play it without a file, or with a file of its workflow; if the tape is damaged, simulate the workflow again",
			"the tape %s cannot be played", o.replay)
	}
	o.scene = sc
	return o.played(&r, len(tape.Choices), len(tape.Choices)-len(r.Choices))
}

// played prints the events of a replayed tape. missed is the number of recorded choices that the run did not
// use.
func (o *simulateOptions) played(r *simulate.Result, choices, missed int) error {
	if o.app.JSON() {
		o.app.PrintJSON(map[string]any{
			"story": r.Story, "violation": brokenRuleOf(r.Violation, o.scene), "ends": r.Ends, "choicesMissed": max(0, missed),
		})
		return broken(r.Violation)
	}
	out := o.app.Streams.Out
	style := o.app.Streams.Style()
	for _, l := range r.Story {
		fmt.Fprintln(out, l)
	}
	if missed > 0 {
		fmt.Fprintf(out, "The run did not use %d of the %d choices of the tape: the workflow or the program "+
			"has changed since\n", missed, choices)
	}
	if r.Violation == nil {
		fmt.Fprintln(out, style.Good("no violation; ends: "+counts(r.Ends)))
		return nil
	}
	fmt.Fprintf(out, "\n%s\n%s\n", style.Bad("invariant "+r.Violation.String()), r.Violation.Describe(o.scene))
	return broken(r.Violation)
}
