package protocol

import (
	"fmt"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

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
