package expression

import "fmt"

// Limits of the language. They bound the time and the memory of one evaluation whatever the
// expression and whatever the order (a step of the meter takes some ten nanoseconds).
const (
	MaxSource = 4096      // bytes of one expression
	MaxNodes  = 500       // nodes of one expression's syntax tree
	MaxHoles  = 256       // expressions in one template
	MaxSteps  = 1_000_000 // metered steps of one evaluation; a byte of text that is touched is a step too
	MaxResult = 64 << 10  // bytes of the JSON that one evaluation gives
	MaxDepth  = 200       // nesting of the JSON that an expression reads; what it gives has at most rawjson.MaxLevels
)

// meter counts the work of one evaluation.
type meter struct{ steps int }

// charge adds n steps, or fails where the budget is used up.
func (m *meter) charge(n int) error {
	if n < 0 || n > MaxSteps || m.steps > MaxSteps-n {
		m.steps = MaxSteps
		return fail(fmt.Sprintf("it does more than %d steps of work", MaxSteps),
			"compute less here, or let the agent do it")
	}
	m.steps += n
	return nil
}
