package protocol

import (
	"encoding/json"
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

func (r *deciding) outputFits(i int, output json.RawMessage) bool {
	if len(output) == 0 || r.at.SizeLimit.SurelyFits(r.def, r.t, output) {
		return true
	}
	c := r.t.Clone()
	c.Steps[i].Output = output
	return r.at.SizeLimit.KeepsReserve(r.def, c)
}

// outputTooLarge handles a do whose output cannot be stored. If the task goes forward, the step fails,
// because later steps need the output (P28, what is too large fails once). If a later attempt was sent, the
// step does not fail. If the task does not go forward, the step becomes Processed without the output (P24, an
// undo needs no output).
func (r *deciding) outputTooLarge(i int, e core.Reply) (string, error) {
	s := &r.t.Steps[i]
	contradicted := s.NoEffect != 0
	s.NoEffect = 0 // this call had an effect (P22a, a proven refusal permits undo)
	text := fmt.Sprintf("the agent's output of %d bytes does not fit into the order's document of at most "+
		"%d, which holds those of the other steps and a reserve; let the agent store the data elsewhere "+
		"and return a reference", len(e.Output), r.at.SizeLimit.Limit)
	if r.t.ProcessState != core.Processing {
		r.recordFailure(i, core.CodeOutputTooLarge, text, e.Attempt)
		r.finish(i, nil)
		return "", nil
	}
	if e.Attempt < s.Attempt {
		if contradicted {
			return "", nil
		}
		return "its output does not fit into the order's document, and a later attempt was asked for", nil
	}
	if s.State == core.Processing { // otherwise the attempt was recorded when the step was handed back
		s.Failures.Do++
		r.recordAttempt(i, core.OutcomeFailed, core.CodeOutputTooLarge)
	}
	r.recordFailure(i, core.CodeOutputTooLarge, text, e.Attempt)
	giveUp(&r.t.Steps[i])
	return "", nil
}
