package protocol

import (
	"fmt"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// moveCommand pins the task to another definition of its workflow (P49).
func (r *deciding) moveCommand(_ int, ev core.Event) (string, error) {
	e := ev.(core.Move)
	if reason := r.checkCommand(e.Command); reason != "" {
		return r.reject(e.ID, "move", reason)
	}
	if reason := r.move(e.To); reason != "" {
		return r.reject(e.ID, "move", reason)
	}
	r.accept(e.ID, "move", "")
	r.askOn()
	r.advance() // no effect unless the task goes forward
	return "", nil
}

// askOn sets the time of the next reminder for each open question of a moved task. It may be sooner or later
// than before, or none. A stopped task gets these times from the Resubmit.
func (r *deciding) askOn() {
	if r.t.ProcessState != core.Processing {
		return
	}
	for i := range r.t.Steps {
		if r.def.Steps[i].Answer != nil && r.t.Steps[i].State == core.Waiting {
			r.goOnAsking(i)
		}
	}
}

// move pins the definition and puts the steps into its order. If it cannot, it returns the reason and changes
// nothing.
func (r *deciding) move(to core.Target) (refused string) {
	if reason := r.moveRefusal(to); reason != "" {
		return reason
	}
	return r.pin(to.Definition)
}

// pin pins the task to another definition. If that is not possible, it returns the reason and changes
// nothing.
func (r *deciding) pin(to *core.Definition) (refused string) {
	t := r.t.MovedTo(r.def, to)
	if !r.at.SizeLimit.KeepsReserve(to, t) {
		return fmt.Sprintf(
			"what the order holds, and the reserve for the steps of the new definition, do not fit into a "+
				"document of %d bytes; take steps out of the definition", r.at.SizeLimit.Limit)
	}
	before, def := r.t, r.def
	r.t, r.def = t, to
	if err := r.pinKey(); err != nil {
		r.t, r.def = before, def
		return err.Error()
	}
	return ""
}

// moveRefusal returns why the task cannot be moved, or "" if it can.
func (r *deciding) moveRefusal(to core.Target) string {
	t := r.t
	switch {
	case t.Parent != nil && t.ProcessState == core.Compensated: // P41: its parent decides about its next run
		return t.Parent.Refusal()
	case t.ProcessState != core.Error && t.ProcessState != core.Compensated &&
		t.ProcessState != core.Processing:
		return "only a task in Error, a Compensated one, or one that goes forward with nothing in flight " +
			"can be moved; this one is " + string(t.ProcessState)
	case to.Definition == nil:
		return to.Absent
	case to.Definition.Name != t.Workflow:
		return fmt.Sprintf("that definition is of the workflow %s; the order's is %s", to.Definition.Name,
			t.Workflow)
	case t.InFlight():
		return "a step is in flight; repeat the command when it has ended"
	case t.End.ResendAt != 0:
		return "its end has not been reported yet; repeat the command in a moment"
	}
	var refused []string
	for _, d := range core.Differences(r.def, to.Definition, t) {
		if d.Refused {
			refused = append(refused, "step "+d.Step+": "+d.What)
		}
	}
	if len(refused) > 0 {
		return core.TrimMessage("the order cannot go on with the new definition: " + strings.Join(refused,
			"; "))
	}
	return ""
}
