package core

import (
	"encoding/json"
	"slices"
)

// InputOf answers what the agent of a step is given in the task's present run, as its definition and the
// outputs of the steps before it make it; nil where the step has no input. Of a question that was asked it shows who may answer, how many
// are needed and for how long as they were stored then, since those count. ErrOrderNeeded, ErrUnfit, or
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
	if s := &t.Steps[step]; err == nil && def.Steps[step].Answer != nil && s.Answers != nil && s.Answers.Need > 0 {
		return s.asAsked(input, def.Steps[step].Timeout), nil
	}
	return input, err
}

// asAsked returns a question with what its claim has stored: of a task that was moved since, the definition may say something else (P49).
func (s *Step) asAsked(question json.RawMessage, timeout Duration) json.RawMessage {
	now, timeout, err := readQuestion(question, timeout)
	a, asked := s.Answers, s.WakeAt.Sub(s.ClaimedAt)
	if s.State != Waiting { // how long it was open is not stored
		asked = timeout
	}
	if err != nil || now.Need == a.Need && now.NotSelf == a.NotSelf && slices.Equal(now.Who, a.Who) && timeout == asked {
		return question
	}
	var q Question
	if len(question) > 0 && json.Unmarshal(question, &q) != nil {
		return question
	}
	q.Need, q.Who, q.NotSelf, q.Timeout = &a.Need, a.Who, nil, asked.String()
	if a.NotSelf != "" {
		q.NotSelf = &a.NotSelf
	}
	if b, err := json.Marshal(q); err == nil {
		return b
	}
	return question
}

// UndoneNext is the step that the undo of a task is at (P20): nil where the task is not being undone, or
// nothing is left to undo.
func UndoneNext(t *Task) *Step {
	if t.ProcessState != Compensating {
		return nil
	}
	r := &deciding{t: t}
	if i := r.nextToUndo(); i >= 0 {
		return &t.Steps[i]
	}
	return nil
}
