package protocol

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// trimToFit cuts what is there only for people where the document does not fit: texts of steps, the oldest
// first, down to their codes, then attempts, the oldest first, down to their counts, then why an order is
// undone whose undo has stopped. A task of an earlier version, which kept no reserve, may need the reasons of
// its verdicts too. What the final status and alert were computed from stays as it is (P12).
func (r *deciding) trimToFit() {
	room := r.at.SizeLimit
	if room.Fits(r.t) {
		return
	}
	var texts []int
	for i := range r.t.Steps {
		if r.t.Steps[i].Error != nil {
			texts = append(texts, i)
		}
	}
	slices.SortStableFunc(texts,
		func(a, b int) int { return int(r.t.Steps[a].Error.At.Sub(r.t.Steps[b].Error.At)) })
	// few measurements, few texts lost
	for from, step := 0, max(1, len(texts)/8); from < len(texts); from += step {
		for _, i := range texts[from:min(from+step, len(texts))] {
			e := *r.t.Steps[i].Error
			e.Code, e.Message = core.ShortCode(e.Code), ""
			r.t.Steps[i].Error = &e
		}
		if room.Fits(r.t) {
			return
		}
	}
	// few measurements here too
	for keep := len(r.t.Attempts.Last) / 2; len(r.t.Attempts.Last) > 0; keep /= 2 {
		r.dropAttempts(keep)
		if room.Fits(r.t) {
			return
		}
	}
	r.t.Undo.Reason.Code, r.t.Undo.Reason.Text = core.ShortCode(r.t.Undo.Reason.Code), ""
	if room.Fits(r.t) {
		return
	}
	r.t.Commands.Verdicts = slices.Clone(r.t.Commands.Verdicts)
	for i := range r.t.Commands.Verdicts {
		if v := &r.t.Commands.Verdicts[i]; v.Long() {
			v.Drop()
		}
	}
}

// outputFits reports whether a step's output can be kept.
func (r *deciding) outputFits(i int, output json.RawMessage) bool {
	if len(output) == 0 || r.at.SizeLimit.SurelyFits(r.def, r.t, output) {
		return true
	}
	c := r.t.Clone()
	c.Steps[i].Output = output
	return r.at.SizeLimit.KeepsReserve(r.def, c)
}

// outputTooLarge is a do that is done and whose output cannot be kept (P28). A task that goes forward
// needs the output, so the step has failed for good; in any other the undo works without (P24).
func (r *deciding) outputTooLarge(i int, e core.Reply) (string, error) {
	s := &r.t.Steps[i]
	contradicted := s.NoEffect != 0
	s.NoEffect = 0 // P22a: it has had an effect, whatever was proven before
	text := fmt.Sprintf(
		"the agent's output of %d bytes does not fit into the task's document of at most %d, which holds "+
			"those of the other steps and a reserve; let the agent store the data elsewhere and answer a "+
			"reference",
		len(e.Output), r.at.SizeLimit.Limit)
	if r.t.ProcessState != core.Processing {
		r.recordFailure(i, core.CodeOutputTooLarge, text, e.Attempt)
		r.finish(i, nil)
		r.advance()
		return "", nil
	}
	if e.Attempt < s.Attempt {
		if contradicted {
			return "", nil
		}
		return "its output does not fit into the task's document, and a later attempt was asked for", nil
	}
	if s.State == core.Processing { // else its attempt was counted when it was handed back
		s.Failures.Do++
		r.recordAttempt(i, core.OutcomeFailed, core.CodeOutputTooLarge)
	}
	r.recordFailure(i, core.CodeOutputTooLarge, text, e.Attempt)
	r.failStep(i)
	return "", nil
}
