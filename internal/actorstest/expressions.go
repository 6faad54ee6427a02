package actorstest

import (
	"encoding/json"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Expressions implements the expressions of a workflow. The input of a step contains all values that the step
// can read, so that a test can check them in the request.
type Expressions struct{}

// Input returns the step's index, the order and the outputs.
func (Expressions) Input(step int, env core.Environment) (json.RawMessage, error) {
	return json.Marshal(map[string]any{"step": step, "order": env.Order, "outputs": env.Outputs})
}

// InputReads returns nil, so that the input of a question can be evaluated at any time.
func (Expressions) InputReads(int) []string { return nil }

// UndoInput returns the same value as Input.
func (e Expressions) UndoInput(step int, env core.Environment) (json.RawMessage, error) {
	return e.Input(step, env)
}

// When returns true.
func (Expressions) When(int, core.Environment) (bool, error) { return true, nil }

// CheckOrder accepts every order.
func (Expressions) CheckOrder(json.RawMessage) error { return nil }

// CheckAnswer accepts every value.
func (Expressions) CheckAnswer(int, json.RawMessage) error { return nil }

// CheckPassed accepts every value.
func (Expressions) CheckPassed(int, int, json.RawMessage) error { return nil }

// Items calls each for every element of the order's field Items.
func (Expressions) Items(_ int, env core.Environment, each func(int, json.RawMessage)) (int, error) {
	var order struct{ Items []json.RawMessage }
	if err := json.Unmarshal(env.Order, &order); err != nil {
		return 0, err
	}
	for i, item := range order.Items {
		each(i, item)
	}
	return len(order.Items), nil
}

// ChildOrder returns an order that contains the item of the child.
func (Expressions) ChildOrder(_ int, env core.Environment) (json.RawMessage, error) {
	return json.RawMessage(`{"item":` + string(env.Item) + `}`), nil
}

// Enough returns 1.
func (Expressions) Enough(int, core.Environment) (int, error) { return 1, nil }

// Until reports whether the output of the iteration is true.
func (Expressions) Until(_ int, env core.Environment) (bool, error) {
	return string(env.Item) == "true", nil
}

// Deadline returns a time span of a day.
func (Expressions) Deadline(int, core.Environment) (json.RawMessage, error) {
	return json.RawMessage(`"1d"`), nil
}

// Reminder returns the number of the reminder.
func (Expressions) Reminder(_ int, env core.Environment) (json.RawMessage, error) {
	return json.Marshal(env.Index)
}

// Refused reports whether the event's value is "no".
func (Expressions) Refused(_ int, env core.Environment) (bool, error) {
	return string(env.Value) == `"no"`, nil
}

// Output returns all outputs.
func (Expressions) Output(env core.Environment) (json.RawMessage, error) {
	return json.Marshal(env.Outputs)
}
