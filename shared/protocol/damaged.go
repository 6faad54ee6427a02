package protocol

import (
	"fmt"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// damaged decides an event about a task that cannot be read, or that does not fit its definition (P60, a
// damaged order is set aside). It changes the task only for a Close. The reports to the operator and to the
// parent depend only on the fields that can be read, so each actor may repeat them.
//
// ErrUnfit means that the message must stay in its queue. It may be decided after the document is restored.
func damaged(t *Task, ev core.Event, at At) (Decision, error) {
	r := &decision{t: t.Clone(), at: at, about: aboutOf(ev, t)}
	switch e := ev.(type) {
	case nil, core.Settle:
		r.reportDamage(t.Parent)
	case core.ResendDue: // the Supervisor leaves the report to the parent to the Scheduler
		r.reportDamage(nil)
		if t.Parent != nil {
			r.emit(core.SendSettle{OrderID: t.OrderID})
		}
	case core.AskChild:
		r.reportDamage(&e.Parent)
	case core.Submitted:
		if e.KnownHash == "" || e.ContentHash != e.KnownHash {
			return Decision{}, damageRefusal(t)
		}
		r.reportDamage(t.Parent)
	case core.Command:
		if e.Name != core.Close {
			return Decision{}, damageRefusal(t)
		}
		if verdict := t.Verdict(e.ID); verdict != nil {
			return Decision{Task: t, Ignored: "this command already has a verdict", Verdict: verdict}, nil
		}
		if e.Number != t.Commands.Number {
			return Decision{}, damageRefusal(t)
		}
		return r.closeDamaged(), nil
	default:
		if r.Name == "" {
			return Decision{}, fmt.Errorf("task %q: %s: %w", t.OrderID, t.Damaged, core.ErrUnfit)
		}
		return Decision{}, damageRefusal(t)
	}
	return Decision{Task: t, Effects: r.effects, Ignored: "the stored task is damaged"}, nil
}

// reportDamage emits the alert, and the report to a parent. A child stays open for its parent until an
// operator closes it, as a child in Error does (P41, parent and child talk by messages). An order at rest
// raises no alert, because nothing waits for it, unless its parent asks.
func (r *decision) reportDamage(parent *core.Parent) {
	t := r.t
	if t.Due == 0 && !t.Attention && r.about.kind != askChild {
		return
	}
	text := core.TrimMessage("the stored order cannot be read: " + t.Damaged)
	r.emit(core.RaiseAlert{
		OrderID: t.OrderID, Workflow: t.Workflow, Run: t.Run, Command: t.Commands.Number,
		Code: core.CodeDamaged, Message: text, At: r.at.Now, Accepts: core.Accepted{Close: true},
	})
	if parent != nil {
		r.emit(core.ChildEnded{Parent: *parent, State: core.ChildError, Code: core.CodeDamaged, Message: text})
	}
}

// closeDamaged ends a damaged task for the operator. The new document keeps the identity, the verdicts and the
// parent. It keeps no step, because the states of the steps are not certain.
func (r *decision) closeDamaged() Decision {
	t := r.t
	r.accept(core.TrimMessage("the stored order could not be read: " + t.Damaged))
	r.t = &Task{
		OrderID: t.OrderID, Version: t.Version, Workflow: t.Workflow, ContentHash: t.ContentHash, Order: t.Order,
		Priority: t.Priority, ReplyTo: t.ReplyTo, Parent: t.Parent, Run: t.Run, Commands: t.Commands,
		Created: t.Created, Due: t.Due, Erased: t.Erased,
		Reason:  Reason{Code: core.CodeDamaged, Text: core.TrimMessage(t.Damaged)},
		Closing: &Closing{By: r.Sender.By, Reason: core.TrimMessage(r.Sender.Reason)},
	}
	r.enterEnd(core.Closed, "")
	Reindex(r.t, true)
	return Decision{Task: r.t, Changed: true, Effects: r.effects, Verdict: r.verdict}
}

func damageRefusal(t *Task) error {
	return core.Refuse(core.CodeDamaged, "the stored order %q cannot be read (%s), so it accepts only a close "+
		"with its present command number (%d); restore it from a backup, or close it", t.OrderID, t.Damaged,
		t.Commands.Number)
}

// Unfit returns ErrUnfit with the fault if a stored task does not fit its definition, and nil otherwise.
// This check turns a damaged document into an error of its task, instead of a panic.
func Unfit(def *core.Definition, t *Task) error {
	if !knownTaskState(t) {
		return fmt.Errorf("task %q: state %q, phase %q: %w", t.OrderID, t.ProcessState, t.Phase,
			core.ErrUnfit)
	}
	// A task that was closed as damaged has no definition (P60, a damaged order is set aside).
	if t.IsTombstone() || t.ProcessState == core.Closed && t.Definition == "" && len(t.Steps) == 0 {
		return nil
	}
	if def != nil && def.Hash != t.Definition { // a move pins another definition (P49)
		return fmt.Errorf("task %q is pinned to the definition %q and was given %q: %w", t.OrderID,
			t.Definition, def.Hash, core.ErrUnfit)
	}
	if def == nil || len(t.Steps) != len(def.Steps) {
		return fmt.Errorf("task %q has %d steps, its definition (%q) has others: %w", t.OrderID, len(t.Steps),
			t.Definition, core.ErrUnfit)
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		d := &def.Steps[i]
		if s.Name != d.Name || !s.fits(d) {
			return fmt.Errorf("task %q, step %q (%s, attempt %d): the definition has step %q there, or it "+
				"cannot be in that state: %w", t.OrderID, s.Name, s.State, s.Attempt, d.Name,
				core.ErrUnfit)
		}
	}
	return nil
}

// claimedStates lists the states of a step that was claimed in this run.
var claimedStates = map[core.Kind][]core.State{
	core.KindCall: {
		core.Pending, core.Failed, core.Processing, core.Processed, core.UndoWait, core.Compensating, core.Compensated,
	},
	core.KindWait:   {core.Waiting, core.Processed, core.Compensated},
	core.KindAnswer: {core.Pending, core.Failed, core.Waiting, core.Processed, core.Compensated},
	core.KindEach:   ofOthers,
	core.KindAny:    ofOthers,
}

// ofOthers lists the states of a claimed step that ends with its children or members.
var ofOthers = []core.State{
	core.Pending, core.Failed, core.Waiting, core.Settling, core.Processed, core.UndoWait, core.Compensated,
}

// fits reports whether a step of the definition may be in the step's state.
func (s *Step) fits(d *core.StepDefinition) bool {
	kind := d.Kind()
	if !s.Attempted() {
		goesOn := d.OnFailure == core.OnFailureContinue || kind != core.KindCall && kind != core.KindEach
		return s.State == core.Pending || s.State == core.Failed || s.State == core.Skipped ||
			s.State == core.Compensated && s.FailureCode != "" && goesOn
	}
	if s.Attempt < 1 || !slices.Contains(claimedStates[kind], s.State) {
		return false
	}
	switch kind {
	case core.KindCall:
		return (s.State != core.Processing || !s.Claim.Undo) &&
			(s.State != core.Compensating || s.Claim.Undo && d.Undo != nil)
	case core.KindWait:
		return !s.Claim.Undo
	case core.KindAnswer:
		return s.State == core.Pending || s.State == core.Failed || !s.Claim.Undo && s.Answers != nil
	case core.KindEach:
		return s.Children != nil
	}
	return true
}

func knownTaskState(t *Task) bool {
	switch t.ProcessState {
	case core.Processing, core.Compensating, core.Processed, core.Compensated, core.Cancelled, core.Closed:
		return true
	case core.Error:
		return t.Phase == core.Forward || t.Phase == core.Undoing
	}
	return false
}
