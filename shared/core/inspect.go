package core

import "encoding/json"

// InputOf answers what the agent of a step is given in the task's present run, as its definition and the
// outputs of the steps before it make it; nil where the step has no input. ErrOrderNeeded, ErrUnfit, or
// what is wrong with the expression.
func InputOf(def *Definition, order []byte, t *Task, step int) (json.RawMessage, error) {
	if err := unfit(def, t); err != nil {
		return nil, err
	}
	r := &deciding{def: def, order: order, t: t}
	input, err := r.input(step, Do)
	if r.err != nil {
		return nil, r.err
	}
	return input, err
}
