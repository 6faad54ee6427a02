package core

import "encoding/json"

// InputOf answers what the agent of a step is given in the task's present run, as its definition and the
// outputs of the steps before it make it; nil where the step has no input. ErrOrderNeeded, ErrUnfit, or
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
	return input, err
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
