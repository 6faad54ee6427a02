package protocol

import (
	"encoding/json"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// InputOf returns the input of a step in the task's present run, or nil if the step has no input. This is the
// input that an operator gave, or else the definition's input with the outputs of the preceding steps. For a
// wait or a question it returns the values that the claim stored, because these values stay valid after a
// move (P49, move pins another definition). The error is ErrOrderNeeded, ErrUnfit, or an error of the
// expression.
func InputOf(def *core.Definition, order []byte, t *Task, step int) (json.RawMessage, error) {
	if err := Unfit(def, t); err != nil {
		return nil, err
	}
	r := &decision{def: def, order: order, t: t, at: At{Tokens: core.HiddenTokens{}}}
	input, err := r.step(step).input(core.Do)
	if r.err != nil {
		return nil, r.err
	}
	s := &t.Steps[step]
	d := &def.Steps[step]
	switch {
	case err != nil:
	case d.Answer != nil && s.Answers != nil && s.Answers.Need > 0:
		return s.AsAsked(input, d.Timeout), nil
	case d.Wait != nil && input != nil && s.Wait.Until != 0:
		return asWaited(t, s, input, d.Wait.Spread), nil
	}
	return input, err
}

// asWaited returns the input of a wait. If the definition's value has changed since the claim, it returns
// the stored end of the wait instead (P49).
func asWaited(t *Task, s *Step, until json.RawMessage, spread core.Duration) json.RawMessage {
	if now, err := readEnd("the end of the wait", until, s.Claim.At); err == nil &&
		endOfWait(t, s, s.Attempt-1, now, spread) == s.Wait.Until {
		return until
	}
	stored, err := json.Marshal(s.Wait.Until)
	if err != nil { // Marshal cannot fail for a time
		return until
	}
	return stored
}
