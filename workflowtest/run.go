package workflowtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// Types that the methods of Run use. The packages view and core document the fields.
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
	// Verdict is the response to a command.
	Verdict = protocol.Verdict
	// Fact is an operator's statement about a step in doubt.
	Fact = core.Fact
)

// The states of an order and its steps.
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

// The facts that an operator can state with Resolve.
const (
	Happened    = core.Happened
	NotHappened = core.NotHappened
	Undone      = core.Undone
)

// Run is one order of a test. Its methods send commands, move the clock and check the order.
type Run struct {
	w        *Workflow
	id       string
	task     *protocol.Task // last stored version of the task
	calls    []Call
	alerts   []Alert
	statuses []Status
	path     []string
	undone   []string
	story    []moment
}

// ID returns the ID of the order.
func (r *Run) ID() string { return r.id }

// Child returns a child order of a step. The index of the first child order is 0.
func (r *Run) Child(step string, index int) *Run {
	r.w.t.Helper()
	id := core.Parent{OrderID: r.id, Run: r.task.Run, Step: step, Index: index}.ChildID()
	child := r.w.runs[id]
	if child == nil || child.task == nil {
		r.w.t.Fatalf("order %s has no child %s\n%s", r.id, id, r.w.timelines())
	}
	return child
}

// Task returns the task of the order in the form that the API returns.
func (r *Run) Task() Task { return view.Of(r.task, r.w.defs[r.task.Definition]) }

// State returns the state of the order.
func (r *Run) State() State { return r.task.ProcessState }

// Ended reports whether the order is Processed, Compensated, Cancelled or Closed, or in Error with no step in
// flight.
func (r *Run) Ended() bool { return view.Ended(r.task) }

// Step returns the step with the given name. An unknown name ends the test.
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

// Output decodes the output of the order. If the order has no output, the test ends.
func (r *Run) Output(into any) {
	r.w.t.Helper()
	if r.task.Output == nil {
		r.fatal("has no output; it is %s", r.State())
	}
	if err := json.Unmarshal(r.task.Output, into); err != nil {
		r.fatal("has an output that cannot be read into %T: %v", into, err)
	}
}

// Path returns the names of the steps that the present run has completed, in the order of their completion.
// Steps that one decision completed are in the order of the workflow file.
func (r *Run) Path() []string { return slices.Clone(r.path) }

// Undone returns the names of the steps that were undone in the present run, in the order of the undos.
func (r *Run) Undone() []string { return slices.Clone(r.undone) }

// Calls returns the calls of an operation by the order and its child orders, oldest first. The operation has
// the form "payment.charge". The name "" means all operations. The field OrderID of a Call names the order
// that made the call. For the calls of one child order, use Child.
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

// below reports whether the order is a direct or indirect child order of the other order.
func (r *Run) below(other *Run) bool {
	for r != nil && r.task != nil && r.task.Parent != nil {
		if r.task.Parent.OrderID == other.id {
			return true
		}
		r = r.w.runs[r.task.Parent.OrderID]
	}
	return false
}

// Alerts returns the alerts about the order.
func (r *Run) Alerts() []Alert { return slices.Clone(r.alerts) }

// Statuses returns the status messages about the order that the application has received.
func (r *Run) Statuses() []Status {
	r.w.t.Helper()
	r.w.listen()
	return slices.Clone(r.statuses)
}

// UntilEnd moves the clock until the order has ended and the order's final status was sent. If this takes
// more than longest, the test ends.
func (r *Run) UntilEnd(longest time.Duration) *Run {
	r.w.t.Helper()
	if !r.w.until(r.w.clock.Now().Add(longest), r.reported) {
		r.fatal("has no end after %s; it is %s", longest, r.State())
	}
	return r
}

func (r *Run) reported() bool { return r.task.AtRest() }

// UntilStep moves the clock until the step is in the given state. If this takes more than longest, the test
// ends.
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

// Cancel sends the application's command to stop the order and undo it.
func (r *Run) Cancel() Verdict {
	r.w.t.Helper()
	return r.command(core.Command{Name: core.Cancel, Run: r.task.Run})
}

// Undo sends the operator's command to undo an order in Error.
func (r *Run) Undo() Verdict {
	r.w.t.Helper()
	return r.command(core.Command{Name: core.UndoCommand})
}

// Resubmit sends the operator's command to continue an order in Error, or to start an undone order again.
func (r *Run) Resubmit() Verdict {
	r.w.t.Helper()
	return r.command(core.Command{Name: core.Resubmit})
}

// ResubmitWith sends the command Resubmit with a new input for a step.
func (r *Run) ResubmitWith(step string, input any) Verdict {
	r.w.t.Helper()
	data, err := rawjson.Marshal(input)
	if err != nil {
		r.w.t.Fatalf("the input cannot be sent: %v", err)
	}
	return r.command(core.Command{Name: core.Resubmit, Step: step, Input: data}, step, string(data))
}

// Resolve sends the operator's statement about a step in doubt. The order stays in Error until the operator
// sends Resubmit or Undo.
func (r *Run) Resolve(step string, fact Fact) Verdict {
	r.w.t.Helper()
	return r.command(core.Command{Name: core.Resolve, Step: step, Fact: fact}, step, string(fact))
}

// ResolveWith sends the fact Happened about a step in doubt, together with the output of the step.
func (r *Run) ResolveWith(step string, output any) Verdict {
	r.w.t.Helper()
	data, err := rawjson.Marshal(output)
	if err != nil {
		r.w.t.Fatalf("the output cannot be sent: %v", err)
	}
	return r.command(core.Command{Name: core.Resolve, Step: step, Fact: Happened, Output: data}, step, string(Happened),
		string(data))
}

// Answer sends a person's answer to the present round of an approval step.
func (r *Run) Answer(step, by string, value any) Verdict {
	r.w.t.Helper()
	return r.AnswerWith(step, by, value, "")
}

// AnswerWith sends a person's answer with a reason.
func (r *Run) AnswerWith(step, by string, value any, reason string) Verdict {
	r.w.t.Helper()
	round := 1
	if s := r.task.Step(step); s != nil && s.Answers != nil {
		round = s.Answers.Round
	}
	return r.answer(core.Answered{Step: step, Round: round, By: by, Note: reason}, value)
}

// Event sends a named event from an application. The event counts for each step that waits for it now or
// later.
func (r *Run) Event(name, by string, value any) Verdict {
	r.w.t.Helper()
	return r.answer(core.Answered{Name: name, By: by}, value)
}

func (r *Run) answer(a core.Answered, value any) Verdict {
	r.w.t.Helper()
	data, err := rawjson.Marshal(value)
	if err != nil {
		r.w.t.Fatalf("the answer cannot be sent: %v", err)
	}
	a.Run = r.task.Run
	a.Value = data
	return r.command(a, a.Step, a.Name, string(data), a.By, a.Note)
}

// Close sends the operator's command to end an order in Error as it stands.
func (r *Run) Close(by, reason string) Verdict {
	r.w.t.Helper()
	return r.command(core.Command{Name: core.Close, Sender: core.Sender{By: by, Reason: reason}}, by, reason)
}

// Move sends the operator's command to move the order to the newest definition. Workflow.Deploy sets the
// newest definition.
func (r *Run) Move() Verdict {
	r.w.t.Helper()
	return r.command(core.Command{Name: core.Move, Definition: message.Latest})
}

// command executes a command and returns the verdict. A refused command does not end the test. The timeline
// contains the details.
func (r *Run) command(ev core.Event, details ...string) Verdict {
	r.w.t.Helper()
	r.w.next++
	c := message.Control{OrderID: r.id, Event: core.Stamped(ev, fmt.Sprintf("command-%d", r.w.next),
		core.CommandOf(ev).Sender, r.task.Commands.Number)}
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
