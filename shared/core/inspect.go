package core

import (
	"encoding/json"
	"slices"
)

// InputOf returns what the agent of a step is given in the task's present run: its definition's input, made
// with the outputs of the steps before it; nil if the step has no input. A wait or question is shown as its
// claim has stored it, because that counts also after a move (P49). The error is ErrOrderNeeded, ErrUnfit, or
// what is wrong with the expression.
func InputOf(def *Definition, order []byte, t *Task, step int) (json.RawMessage, error) {
	if err := unfit(def, t); err != nil {
		return nil, err
	}
	r := &deciding{def: def, order: order, t: t, at: At{Tokens: HiddenTokens{}}}
	input, err := r.input(step, Do)
	if r.err != nil {
		return nil, r.err
	}
	s, d := &t.Steps[step], &def.Steps[step]
	switch {
	case err != nil:
	case d.Answer != nil && s.Answers != nil && s.Answers.Need > 0:
		return s.asAsked(input, d.Timeout), nil
	case d.Wait != nil && input != nil && s.Wait.Until != 0:
		return t.asWaited(s, input, d.Wait.Spread), nil
	}
	return input, err
}

// asWaited returns the time until which a wait lasts, or has lasted at most. It is the one that its
// expression gives now, unless the task was moved since the claim (P49).
func (t *Task) asWaited(s *Step, until json.RawMessage, spread Duration) json.RawMessage {
	if now, err := readUntil(until, s.Claim.At); err == nil &&
		t.spread(s, s.Attempt-1, now, spread) == s.Wait.Until {
		return until
	}
	stored, err := json.Marshal(s.Wait.Until)
	if err != nil { // a time can be written
		return until
	}
	return stored
}

// asAsked returns a question with what its claim has stored: of a task that was moved since, the definition
// may say something else (P49).
func (s *Step) asAsked(question json.RawMessage, timeout Duration) json.RawMessage {
	now, timeout, err := readQuestion(question, timeout)
	a, asked := s.Answers, s.Wait.Until.Sub(s.Claim.At)
	if err != nil || now.Need == a.Need && now.NotSelf == a.NotSelf && slices.Equal(now.Who, a.Who) &&
		timeout == asked {
		return question
	}
	var q Question
	if len(question) > 0 && json.Unmarshal(question, &q) != nil {
		return question
	}
	q.Need, q.Timeout = &a.Need, asked.String()
	q.Who, q.NotSelf = a.Who, nil
	if a.NotSelf != "" {
		q.NotSelf = &a.NotSelf
	}
	if b, err := json.Marshal(q); err == nil {
		return b
	}
	return question
}

// UndoneNext returns the step that the undo of a task has reached (P20), or nil if the task is not being
// undone or has nothing left to undo.
func UndoneNext(t *Task) *Step {
	if t.ProcessState != Compensating {
		return nil
	}
	if i := t.NextToUndo(); i >= 0 {
		return &t.Steps[i]
	}
	return nil
}
