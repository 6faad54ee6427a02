package protocol_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/internal/reference"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// transition is an arrow of a diagram: an event leads from a state to another one.
type transition struct {
	from, to core.State
	event    string
}

// transitions are those of one diagram.
type transitions map[transition]bool

func (x transitions) add(from, to core.State, event string) {
	if from != to {
		x[transition{from, to, event}] = true
	}
}

// mermaid returns the diagram. Events that lead from a state to the same other one share an arrow.
func (x transitions) mermaid() string {
	events := map[transition][]string{}
	from := map[core.State]bool{}
	for one := range x {
		arrow := transition{from: one.from, to: one.to}
		events[arrow] = append(events[arrow], one.event)
		from[one.from] = true
	}
	arrows := slices.SortedFunc(maps.Keys(events), func(a, b transition) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	lines := []string{"```mermaid", "stateDiagram-v2"}
	ends := map[string]bool{}
	for _, arrow := range arrows {
		slices.Sort(events[arrow])
		names := strings.Join(slices.Compact(events[arrow]), ", ")
		lines = append(lines, fmt.Sprintf("  %s --> %s: %s", arrow.from, arrow.to, names))
		if !from[arrow.to] {
			ends[fmt.Sprintf("  %s --> [*]", arrow.to)] = true
		}
	}
	lines = append(lines, slices.Sorted(maps.Keys(ends))...)
	return strings.Join(append(lines, "```"), "\n")
}

// eventNames are the words of a diagram for events whose name in the tables is shorter.
var eventNames = map[string]string{
	"later": "retry later", "undo-failed": "undo failed", "undo-later": "undo failed", "submit": "order",
	"other": "order",
}

func eventName(event string) string { return cmp.Or(eventNames[event], event) }

// variant is what a workflow, or the order's past, can change about a transition.
type variant struct {
	policy            core.Policy
	failures          int // failures that the step and its undo may have
	skipped, canceled bool
}

var variants = []variant{
	{policy: core.OnFailureUndo, failures: 9},
	{policy: core.OnFailureUndo, failures: 1},
	{policy: core.OnFailureStop, failures: 1},
	{policy: core.OnFailureUndo, failures: 9, canceled: true},
	{policy: core.OnFailureUndo, failures: 9, skipped: true},
}

// TestDiagramsOfStates checks that docs/explanation/architecture.md draws the transitions of a step and of a task
// that the tables have: those of every variant, and with the other step in every state that can be beside it.
func TestDiagramsOfStates(t *testing.T) {
	steps := transitions{}
	tasks := transitions{}
	for _, v := range variants {
		v.walk(t, "submit", "Waiting", "unknown", "", steps, tasks)
		v.walk(t, "submit", "new", "unknown", "", steps, tasks)
	}
	for _, row := range grid(stepTransitions) {
		for _, mode := range modes {
			for _, other := range beside(mode, row["event"]) {
				for _, v := range variants {
					v.walk(t, row["event"], row["step"], mode, other, steps, tasks)
				}
			}
		}
	}
	for _, row := range grid(taskTransitions) {
		for mode, to := range row {
			for _, state := range failedStates[mode] {
				variants[0].walk(t, row["event"], state, mode, companion(mode, row["event"]), steps, tasks)
			}
			if strings.ToUpper(to[:1]) == to[:1] && mode != "event" && to != "-" && to != "=" {
				tasks.add(stateOf(mode), core.State(to), eventName(row["event"]))
			}
		}
	}
	const page = "../../docs/explanation/architecture.md"
	reference.Show(t, page, "states of a task", tasks.mermaid())
	reference.Show(t, page, "states of a step", steps.mermaid())
}

// failedStates are states of a step in an order that has stopped.
var failedStates = map[string][]string{
	"Error-forward": {"Failed", "Pending"}, "Error-undo": {"UndoWait"}, "Compensated": {"Compensated"},
}

// beside returns the states that the other step can have.
func beside(mode, event string) []core.State {
	switch {
	case mode == "Processing" && !strings.HasPrefix(event, "undo"):
		return []core.State{core.Processing, core.Processed}
	case mode == "Compensating":
		return []core.State{core.Processed, core.Compensating, core.Compensated}
	}
	return []core.State{companion(mode, event)}
}

// stateOf returns the state of a task in a mode of the tables.
func stateOf(mode string) core.State {
	if mode == "unknown" {
		return "[*]"
	}
	state, _, _ := strings.Cut(mode, "-")
	return core.State(state)
}

// walk applies one event to the first of two steps, and adds what it does.
func (v variant) walk(t *testing.T, event, state, mode string, other core.State, steps, tasks transitions) {
	t.Helper()
	first := step("a", failures(v.failures))
	first.OnFailure = v.policy
	first.Undo.Retry.MaxFailures = v.failures
	if state == "Waiting" {
		first = waitStep("a", core.Hour)
	}
	second := step("b", grade(core.Idempotent))
	if mode == "unknown" {
		second.After = []string{"a"}
	}
	d := newDesk(t, workflow(first, second))
	if v.skipped {
		d.def.Steps[0].When = "false"
		d.def.Expr = &expressions{when: map[int]func(core.Environment) (bool, error){
			0: func(core.Environment) (bool, error) { return false, nil },
		}}
	}
	from := core.State("[*]")
	if mode != "unknown" {
		d.task = fixture(mode, state, other)
		from = d.task.Steps[0].State
		d.task.Undo.CancelAsked = v.canceled
		if d.task.ProcessState == core.Error && taskEvent(event) != nil {
			d.task.Steps[0].CompleteBy = 0 // no step waits there
		}
	}
	happened := stepEvent(event)
	if happened == nil {
		happened = taskEvent(event)
	}
	dec, err := d.try(happened)
	if err != nil || !dec.Changed {
		return
	}
	steps.add(from, dec.Task.Steps[0].State, eventName(event))
	if mode == "unknown" {
		steps.add(from, dec.Task.Steps[1].State, eventName(event))
	}
	tasks.add(stateOf(mode), dec.Task.ProcessState, eventName(event))
}
