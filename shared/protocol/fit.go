package protocol

import (
	"fmt"

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
		if s.Name != d.Name || !behaviours[d.Kind()].validState(s, d) {
			return fmt.Errorf("task %q, step %q (%s, attempt %d): the definition has step %q there, or it "+
				"cannot be in that state: %w", t.OrderID, s.Name, s.State, s.Attempt, d.Name,
				core.ErrUnfit)
		}
	}
	return nil
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
