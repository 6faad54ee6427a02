package protocol

import (
	"encoding/json"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// InputOf returns what the agent of a step is given in the task's present run: its definition's input, made
// with the outputs of the steps before it; nil if the step has no input. A wait or question is shown as its
// claim has stored it, because that counts also after a move (P49). The error is ErrOrderNeeded, ErrUnfit, or
// what is wrong with the expression.
func InputOf(def *core.Definition, order []byte, t *core.Task, step int) (json.RawMessage, error) {
	if err := unfit(def, t); err != nil {
		return nil, err
	}
	r := &deciding{def: def, order: order, t: t, at: At{Tokens: core.HiddenTokens{}}}
	input, err := r.input(step, core.Do)
	if r.err != nil {
		return nil, r.err
	}
	s, d := &t.Steps[step], &def.Steps[step]
	switch {
	case err != nil:
	case d.Answer != nil && s.Answers != nil && s.Answers.Need > 0:
		return s.AsAsked(input, d.Timeout), nil
	case d.Wait != nil && input != nil && s.Wait.Until != 0:
		return asWaited(t, s, input, d.Wait.Spread), nil
	}
	return input, err
}

// asWaited returns the time until which a wait lasts, or has lasted at most. It is the one that its
// expression gives now, unless the task was moved since the claim (P49).
func asWaited(t *core.Task, s *core.Step, until json.RawMessage, spread core.Duration) json.RawMessage {
	if now, err := readUntil(until, s.Claim.At); err == nil &&
		endOfWait(t, s, s.Attempt-1, now, spread) == s.Wait.Until {
		return until
	}
	stored, err := json.Marshal(s.Wait.Until)
	if err != nil { // a time can be written
		return until
	}
	return stored
}
