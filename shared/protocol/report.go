package protocol

import (
	"cmp"
	"encoding/json"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Settles reports whether the sent effects include all unsettled messages of the present end: the final status, the
// alert, the report to the parent, and the cancels of children. A final status that is postponed needs no send. An
// actor may settle an end only after it has itself sent all these messages (P11).
func Settles(def *core.Definition, t *Task, sent []core.Effect) bool {
	if t.End.ResendAt == 0 {
		return false
	}
	if t.End.Seq > 0 {
		for _, name := range t.EndReceivers(def) {
			if !t.Postponed(name) && !hasStatuses(sent, t.StatusesSince(name, t.End.Seq)) {
				return false
			}
		}
	}
	alert := !RaisesAlert(def, t)
	parent := t.Parent == nil
	children := !t.cancelsChildren()
	for _, e := range sent {
		switch e := e.(type) {
		case core.RaiseAlert:
			alert = alert || e.At == t.End.At
		case core.ChildEnded:
			parent = parent || e.Parent == *t.Parent
		case core.AskChild: // the end sends all of them together
			children = true
		}
	}
	return alert && parent && children
}

// AlertOf returns the alert of a task. It ignores later changes of the task, so that a repeated alert has the
// same bytes (P12, effects are emitted again).
func AlertOf(def *core.Definition, task *Task) core.RaiseAlert {
	t := task.Clone()
	for i := range t.Steps {
		s := &t.Steps[i]
		s.State = cmp.Or(s.EndState, s.State)
		if s.Resolved != nil && s.Resolved.Command > t.End.Command {
			s.Resolved = nil
		}
		if s.NoEffect > t.End.At {
			s.NoEffect = 0
		}
	}
	a := core.RaiseAlert{
		OrderID: t.OrderID, Workflow: t.Workflow, Run: t.Run, Command: t.End.Command,
		Phase: t.Phase,
		Step:  t.Reason.Step, Code: t.Reason.Code, Message: t.Reason.Text, At: t.End.At,
	}
	a.Undone = t.ProcessState == core.Compensated
	for _, o := range t.Offers(def, t.End.At) {
		switch {
		case o.Command == "resubmit" && o.Step == "":
			a.Accepts.Resubmit = true
		case o.Command == "undo":
			a.Accepts.Undo = true
		case o.Command == "resolve" && o.Step == t.Reason.Step && o.Fact == core.NotHappened:
			a.Accepts.Resolve = true
			a.Accepts.ResolveFrom = o.From
		}
	}
	if i := t.Index(t.Reason.Step); i >= 0 && !a.Undone {
		a.Attempts = t.Steps[i].Attempt
		a.FirstTry = t.Steps[i].FirstClaim()
		a.LastTry = t.Steps[i].Claim.At
		if t.Steps[i].Attempted() {
			a.Key = core.Key(t.OrderID, t.Run, t.Reason.Step)
		}
	}
	return a
}

// Request returns the request of the present claim. It reads only values that do not change before the end of
// the claim (P12).
func (t *Task) Request(def *core.Definition, i int, input json.RawMessage) core.SendRequest {
	s := &t.Steps[i]
	d := &def.Steps[i]
	q := core.SendRequest{
		Agent: s.AskedAgent(d), OrderID: t.OrderID, Run: t.Run, Step: s.Name, Attempt: s.Attempt,
		Operation: core.Do, Name: d.Operation, Grade: d.Grade, Key: core.Key(t.OrderID, t.Run, s.Name),
		Timeout: s.TimeoutOf(d), ClaimedAt: s.Claim.At, CompleteBy: s.FirstCompleteBy(d),
		StopBy:    s.Claim.StopBy,
		ClockSkew: def.Agents[d.Agent].ClockSkew, Input: input, Resolved: s.Resolved,
		PointOfNoReturn: d.PointOfNoReturn,
		Trace:           core.AttemptTrace(t.OrderID, t.Run, s.Name, s.Attempt),
	}
	if s.Claim.Undo {
		q.Operation = core.UndoOp
		q.Name = d.Undo.Operation
	} else {
		q.MaxDuration = d.MaxDuration
	}
	return q
}
