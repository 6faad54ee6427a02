package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Call is one call of an operation. The function must not change it, because Input may be shared.
type Call struct {
	OrderID   string
	Run       int
	Step      string
	Attempt   int            // attempt of the step (P2, attempts of a run share a key)
	Try       int            // 1, 2 … within this attempt: the agent's own retries
	Operation core.Operation // do or undo
	Name      string         // name of the operation, such as "charge"
	Grade     core.Grade
	Key       string          // idempotency key; an undo names the key of the do that it reverses
	Input     json.RawMessage // may be empty
	Deadline  time.Time       // time when the context ends
	StopBy    time.Time       // no side effect may begin or land after it (P6, two times in each request)
	Resolved  *core.Resolved  // fact stated by the operator; usually nil
	Trace     string          // W3C traceparent
	// PointOfNoReturn means that an error with NoEffect lets the order be undone, if this was the only call
	// (P22a, a proven refusal permits undo).
	PointOfNoReturn bool
}

// Func carries out an operation. The output is any value that encodes to JSON, at most MaxOutput bytes. A
// json.RawMessage is used unchanged. The context ends with the step's timeout, and never after stopBy less
// the clock skew. See Permanent, Transient, RetryAfter and NoEffect for errors. Any other error is transient.
type Func func(ctx context.Context, call Call) (output any, err error)

// CheckFunc asks the service whether the operation of call.Key has happened, and for its output if
// so. It has no effect. An error means that this is unknown.
type CheckFunc func(ctx context.Context, call Call) (happened bool, output any, err error)

// Operation is one operation of a remote service.
type Operation struct {
	Run Func
	// Check asks the service whether a call had its effect; nil if the service cannot report that. It runs
	// before each repeated call: in a second attempt, and in a retry of the agent after an error that leaves
	// the effect in doubt. For a plain service it settles calls in doubt, and counts only if it returns
	// "happened", because a call that has not arrived yet may still arrive.
	Check CheckFunc
}

// AnyOperation is the key in Operations of the operation for all names without an entry.
const AnyOperation = "*"

// Operations holds an agent's operations by name.
type Operations map[string]Operation

// Validate returns the problems of the operations, or nil.
func (o Operations) Validate() error {
	if len(o) == 0 {
		return errors.New("it has no operations")
	}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if o[name].Run == nil {
			problems = append(problems, fmt.Errorf("operation %q has no function", name))
		}
	}
	return errors.Join(problems...)
}

func (o Operations) find(name string) (Operation, bool) {
	if op, ok := o[name]; ok && name != AnyOperation {
		return op, op.Run != nil
	}
	op, ok := o[AnyOperation]
	return op, ok && op.Run != nil
}
