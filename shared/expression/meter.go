package expression

import (
	"fmt"
	"math/bits"
)

// Limits of the language. They limit the time and the memory of an evaluation, for every expression and
// order. Each operation is charged for the data that it uses. One charged step takes at most about a hundred
// nanoseconds.
const (
	// MaxSource is the length of the longest expression, in bytes.
	MaxSource = 4096
	MaxNodes  = 500 // nodes in the syntax tree of one expression
	MaxHoles  = 256 // expressions in one template
	// MaxSteps is the largest number of metered steps in one evaluation, see charge. Beyond it the workflow step
	// fails.
	MaxSteps = 1_000_000
	// MaxResult is the size of the largest result of an evaluation, as JSON in bytes. Beyond it the workflow step
	// fails.
	MaxResult = 64 << 10
	// MaxDepth limits the nesting of the JSON that an expression reads. The limit of its result is
	// rawjson.MaxLevels.
	MaxDepth = 200
)

type meter struct{ steps int }

// charge adds n steps. It returns an error if the sum exceeds MaxSteps. Each of these costs one step:
//
//   - a node of the expression, or an element of a list
//   - a byte of a text that is made or searched
//   - four bytes of a decoded document
func (m *meter) charge(n int) error {
	if n < 0 || n > MaxSteps || m.steps > MaxSteps-n {
		m.steps = MaxSteps
		return fail(fmt.Sprintf("it does more than %d steps of work", MaxSteps),
			"compute less here, or let the agent do it")
	}
	m.steps += n
	return nil
}

// costOfKeys returns the number of steps for sorting the keys of an object and comparing their texts.
func costOfKeys(object map[string]any) int {
	n := 0
	for k := range object {
		n += 1 + len(k)/8
	}
	return n * (1 + bits.Len(uint(n)))
}
