package protocol

import (
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// correct replaces the input of a step with that of a Resubmit (P51). If it cannot, it returns the reason and
// changes nothing.
func (r *deciding) correct(e core.Resubmit, mode mode) (refused string) {
	if e.Step == "" {
		return ""
	}
	i := r.t.Index(e.Step)
	if reason := r.correctRefusal(i, e, mode); reason != "" {
		return reason
	}
	t := r.t.Clone()
	t.Steps[i].Corrected = &core.Corrected{Input: e.Input, Command: t.Commands.Number + 1, By: e.By,
		Reason: core.TrimMessage(e.Reason), At: r.at.Now}
	if !r.at.SizeLimit.KeepsReserve(r.def, t) {
		return fmt.Sprintf(
			"the new input of step %s (%d bytes) does not fit into the task's document of at most %d "+
				"bytes beside what it holds and a reserve; give a shorter one",
			e.Step, len(e.Input), r.at.SizeLimit.Limit)
	}
	r.t = t
	return ""
}

func (r *deciding) correctRefusal(i int, e core.Resubmit, mode mode) string {
	switch {
	case i < 0:
		return "the task has no such step"
	case mode == errUndo:
		return "the order is being undone, so that nothing is asked for forward any more; fix: resubmit " +
			"it without an input, and give the input when it is undone"
	case r.def.Steps[i].Kind() != core.KindCall:
		return "step " + e.Step + " calls no agent; only a call can get another input"
	case len(e.Input) > core.MaxInput:
		return fmt.Sprintf(
			"the new input has %d bytes, the limit is %d; store large data elsewhere and give a reference",
			len(e.Input), core.MaxInput)
	case core.HoldsToken(e.Input):
		return "the new input holds a token of an answer, or stands where one was hidden; tokens are not " +
			"stored, so only the definition can send one; fix: leave it out"
	case mode == compensated: // its next run has keys of its own
		return ""
	}
	s := &r.t.Steps[i]
	switch {
	case s.State != core.Failed && s.State != core.Pending:
		return "step " + e.Step + " is " + string(s.State) +
			"; only one that is still to be asked can get another input"
	case s.Attempted() && !s.WithoutEffect():
		return "step " + e.Step +
			" was asked, and is not proven to have had no effect: its service must not get another input " +
			"under the same key; " +
			"fix: find out at the service, and if it did not happen resolve the step as not-happened " +
			"first; or undo the order, and resubmit it with the input"
	case r.def.Steps[i].Grade != core.Plain && s.Resolved != nil && s.Resolved.Fact == core.Undone &&
		s.Resolved.At > s.Claim.At:
		return "step " + e.Step +
			" happened and was undone, so that its service may answer its key from memory, whatever the " +
			"input; fix: undo the order, and resubmit it with the input"
	}
	return ""
}
