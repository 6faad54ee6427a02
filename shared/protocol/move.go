package protocol

import (
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// moveCommand pins the task to another definition of its workflow (P49, move pins another definition).
func (r *decision) moveCommand(ev core.Event) (refused string) {
	if reason := r.move(*ev.(core.Command).To); reason != "" {
		return reason
	}
	r.accept("")
	return ""
}

// move pins the target's definition, and puts the steps into the order of the definition. If the move is
// refused, move returns the reason and changes nothing.
func (r *decision) move(to core.Target) (refused string) {
	if reason := r.t.MoveRefusal(r.def, to); reason != "" {
		return reason
	}
	return r.pin(to.Definition)
}

// pin pins the task to another definition. If the definition is refused, pin returns the reason and changes
// nothing.
func (r *decision) pin(to *core.Definition) (refused string) {
	t := r.t.MovedTo(r.def, to)
	if !r.at.SizeLimit.Fits(to, t) {
		return fmt.Sprintf("what the order holds, and the reserve for the steps of the new definition, do "+
			"not fit into a document of %d bytes; take steps out of the definition", r.at.SizeLimit)
	}
	before := r.t
	def := r.def
	r.t = t
	r.def = to
	if err := r.pinKey(); err != nil {
		r.t = before
		r.def = def
		return err.Error()
	}
	for i := range t.Steps {
		r.step(i).scheduleReminder()
	}
	return ""
}
