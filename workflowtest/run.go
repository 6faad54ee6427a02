package workflowtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// Results of a Run. Packages view and core document their fields.
type (
	// State is the state of an order or a step.
	State = core.State
	// Step is one step of a Task.
	Step = view.Step
	// Task is an order with its steps.
	Task = view.Task
	// Alert is an alert to the operator.
	Alert = core.RaiseAlert
	// Status is a status message to the sender of the order.
	Status = core.Status
	// Verdict is the result of a command.
	Verdict = core.Verdict
	// Fact is what an operator states about a step in doubt.
	Fact = core.Fact
)

// States of an order and its steps.
const (
	Pending      = core.Pending
	Skipped      = core.Skipped
	Processing   = core.Processing
	Processed    = core.Processed
	Waiting      = core.Waiting
	Failed       = core.Failed
	UndoWait     = core.UndoWait
	Compensating = core.Compensating
	Compensated  = core.Compensated
	Cancelled    = core.Cancelled
	Closed       = core.Closed
	Error        = core.Error
)

// Facts that an operator can state with Resolve.
const (
	Happened    = core.Happened
	NotHappened = core.NotHappened
	Undone      = core.Undone
)

// Run is one order.
type Run struct {
	w        *Workflow
	id       string
	task     *core.Task // task as it was last stored
	calls    []Call
	alerts   []Alert
	statuses []Status
	path     []string
	undone   []string
	story    []moment
}

// ID is the order's.
func (r *Run) ID() string { return r.id }

// Child is the child order of a step of child orders, by its index, from 0.
func (r *Run) Child(step string, index int) *Run {
	r.w.t.Helper()
	id := core.Parent{OrderID: r.id, Run: r.task.Run, Step: step, Index: index}.ChildID()
	child := r.w.runs[id]
	if child == nil || child.task == nil {
		r.w.t.Fatalf("order %s has no child %s\n%s", r.id, id, r.w.timelines())
	}
	return child
}

// Task is the order's task as every reader sees it.
func (r *Run) Task() Task { return view.Of(r.task, r.w.defs[r.task.Definition]) }

// State is the task's.
func (r *Run) State() State { return r.task.ProcessState }

// Ended reports that nothing more happens without a command: the order is Processed, Compensated,
// Cancelled or Closed, or in Error with nothing in flight.
func (r *Run) Ended() bool { return view.Ended(r.task) }

// Step answers one step; a name that the workflow does not have ends the test.
func (r *Run) Step(name string) Step {
	r.w.t.Helper()
	for _, s := range r.Task().Steps {
		if s.Name == name {
			return s
		}
	}
	r.w.t.Fatalf("the workflow %s has no step %q", r.w.def.Name, name)
	return Step{}
}

// Output decodes the workflow's output of a Processed order. An order without one ends the test.
func (r *Run) Output(into any) {
	r.w.t.Helper()
	if r.task.Output == nil {
		r.fatal("has no output; it is %s", r.State())
	}
	if err := json.Unmarshal(r.task.Output, into); err != nil {
		r.fatal("has an output that cannot be read into %T: %v", into, err)
	}
}

// Path names the steps in the order in which they were done, in the present run. Of steps done by
// one decision the earlier in the file comes first.
func (r *Run) Path() []string { return slices.Clone(r.path) }

// Undone names the steps in the order in which they were undone, in the present run.
func (r *Run) Undone() []string { return slices.Clone(r.undone) }

// Calls returns the calls that the order and its child orders have made to an operation, "payment.charge", in
// the order in which they were made; OrderID says whose each is. With "" it returns the calls of all
// operations. Of one child alone use Child.
func (r *Run) Calls(operation string) []Call {
	var some []Call
	next := map[*Run]int{}
	for _, run := range r.w.callers {
		c := run.calls[next[run]]
		next[run]++
		if (operation == "" || c.Operation == operation) && (run == r || run.below(r)) {
			some = append(some, c)
		}
	}
	return some
}

// below reports whether the run is a child order of another one, or a child of such a child.
func (r *Run) below(other *Run) bool {
	for r != nil && r.task != nil && r.task.Parent != nil {
		if r.task.Parent.OrderID == other.id {
			return true
		}
		r = r.w.runs[r.task.Parent.OrderID]
	}
	return false
}

// Alerts are those that the operator got.
func (r *Run) Alerts() []Alert { return slices.Clone(r.alerts) }

// Statuses are the messages that the application got.
func (r *Run) Statuses() []Status {
	r.w.t.Helper()
	r.w.listen()
	return slices.Clone(r.statuses)
}

// UntilEnd moves the clock until the order has ended and the application was notified; an order that
// takes longer than that ends the test.
func (r *Run) UntilEnd(longest time.Duration) *Run {
	r.w.t.Helper()
	if !r.w.until(r.w.clock.Now().Add(longest), r.reported) {
		r.fatal("has no end after %s; it is %s", longest, r.State())
	}
	return r
}

func (r *Run) reported() bool { return r.task.AtRest() }

// UntilStep moves the clock until the step is in that state; the test ends if it does not get there
// in that time.
func (r *Run) UntilStep(step string, state State, longest time.Duration) *Run {
	r.w.t.Helper()
	if r.task.Step(step) == nil {
		r.w.t.Fatalf("the workflow %s has no step %q", r.w.def.Name, step)
	}
	if !r.w.until(r.w.clock.Now().Add(longest), func() bool { return r.task.Step(step).State == state }) {
		r.fatal("did not come to %s %s within %s; the step is %s", step, state, longest,
			r.task.Step(step).State)
	}
	return r
}

// Cancel is the application's wish to stop the order and undo it.
func (r *Run) Cancel() Verdict {
	r.w.t.Helper()
	return r.command(core.Cancel{Run: r.task.Run})
}

// Undo is the operator's decision to undo an order in Error.
func (r *Run) Undo() Verdict {
	r.w.t.Helper()
	return r.command(core.UndoCommand{})
}

// Resubmit is the operator's decision to go on with an order in Error, or to start an undone one again.
func (r *Run) Resubmit() Verdict {
	r.w.t.Helper()
	return r.command(core.Resubmit{})
}

// ResubmitWith is a Resubmit that gives a step another input, in place of what its definition says.
func (r *Run) ResubmitWith(step string, input any) Verdict {
	r.w.t.Helper()
	data, err := json.Marshal(input)
	if err != nil {
		r.w.t.Fatalf("the input cannot be sent: %v", err)
	}
	return r.command(core.Resubmit{Step: step, Input: data}, step, string(data))
}

// Resolve states what happened to a step in doubt. The order stays in Error; Resubmit or Undo goes on.
func (r *Run) Resolve(step string, fact Fact) Verdict {
	r.w.t.Helper()
	return r.command(core.Resolve{Step: step, Fact: fact}, step, string(fact))
}

// ResolveWith is a Resolve of a step that happened, with what it returned: its output, which later steps can
// read.
func (r *Run) ResolveWith(step string, output any) Verdict {
	r.w.t.Helper()
	data, err := json.Marshal(output)
	if err != nil {
		r.w.t.Fatalf("the output cannot be sent: %v", err)
	}
	return r.command(core.Resolve{Step: step, Fact: Happened, Output: data}, step, string(Happened),
		string(data))
}

// Answer is what a person answers to a step with an approval, in its present round.
func (r *Run) Answer(step, by string, value any) Verdict {
	r.w.t.Helper()
	return r.AnswerWith(step, by, value, "")
}

// AnswerWith is an Answer with the reason that the person gives.
func (r *Run) AnswerWith(step, by string, value any, reason string) Verdict {
	r.w.t.Helper()
	round := 1
	if s := r.task.Step(step); s != nil && s.Answers != nil {
		round = s.Answers.Round
	}
	return r.answer(core.Answered{Step: step, Round: round, By: by, Note: reason}, value)
}

// Event is what an application sends under the name of an event, for every step that waits for it or will.
func (r *Run) Event(name, by string, value any) Verdict {
	r.w.t.Helper()
	return r.answer(core.Answered{Name: name, By: by}, value)
}

func (r *Run) answer(a core.Answered, value any) Verdict {
	r.w.t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		r.w.t.Fatalf("the answer cannot be sent: %v", err)
	}
	a.Run, a.Value = r.task.Run, data
	return r.command(a, a.Step, a.Name, string(data), a.By, a.Note)
}

// Close is the operator's decision to end an order in Error as it stands.
func (r *Run) Close(by, reason string) Verdict {
	r.w.t.Helper()
	return r.command(core.Close{Sender: core.Sender{By: by, Reason: reason}}, by, reason)
}

// Move pins the order to the definition that was deployed last; see Workflow.Deploy.
func (r *Run) Move() Verdict {
	r.w.t.Helper()
	return r.command(core.Move{Definition: message.Latest})
}

// command carries a command out at once and answers the verdict; a refused one is no error. The record shows
// its details.
func (r *Run) command(ev core.Event, details ...string) Verdict {
	r.w.t.Helper()
	r.w.next++
	_, from, _ := core.CommandOf(ev)
	c := message.Control{OrderID: r.id, Event: core.Stamped(ev, fmt.Sprintf("command-%d", r.w.next), from,
		r.task.Commands.Number)}
	r.note("command %s %s", c.Kind(), joined(details...))
	v, err := r.w.scheduler.Command(r.w.t.Context(), c)
	if err != nil {
		r.fatal("cannot take the command %s: %v", c.Kind(), err)
	}
	if !v.Accepted {
		r.note("command %s refused: %s", c.Kind(), v.Reason)
	}
	return v
}
