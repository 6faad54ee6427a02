package protocol

import (
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// correct gives a step the input of a Resubmit (P51, a call can get another input). If the input is refused,
// correct returns the reason and changes nothing.
func (r *decision) correct(e core.Command) (refused string) {
	if e.Step == "" {
		return ""
	}
	i := r.t.Index(e.Step)
	if reason := r.t.CorrectRefusal(r.def, i, e); reason != "" {
		return reason
	}
	t := r.t.Clone()
	t.Steps[i].Corrected = &Corrected{
		Input: e.Input, Command: t.Commands.Number + 1, By: r.Sender.By,
		Reason: core.TrimMessage(r.Sender.Reason), At: r.at.Now,
	}
	if !r.at.SizeLimit.Fits(r.def, t) {
		return fmt.Sprintf("the new input of step %s (%d bytes) does not fit into the order's document of "+
			"at most %d bytes beside what it holds and a reserve; give a shorter one", e.Step,
			len(e.Input), r.at.SizeLimit)
	}
	r.t = t
	return ""
}
