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

// Call is one call of an operation. The operation must not change the bytes of Input, because other calls may
// share these bytes.
type Call struct {
	OrderID   string
	Run       int
	Step      string
	Attempt   int            // attempt of the step (P2, attempts of a run share a key)
	Try       int            // number of the call within this attempt, from 1
	Operation core.Operation // do or undo
	Name      string         // name of the operation, such as "charge"
	Grade     core.Grade
	Key       string          // idempotency key; an undo has the key of its do
	Input     json.RawMessage // may be empty
	Deadline  time.Time       // time when the context ends
	StopBy    time.Time       // no side effect may begin or land after StopBy (P6, two times in each request)
	Resolved  *core.Resolved  // operator's fact about an earlier call; usually nil
	Trace     string          // W3C traceparent
	// PointOfNoReturn means that the step is a point of no return. If the only call of the step returns an
	// error with NoEffect, the order can still be undone (P22a, a proven refusal permits undo).
	PointOfNoReturn bool
}

// Func executes an operation. The output is any value that encodes to JSON, at most MaxOutput bytes. A
// json.RawMessage is not encoded again. The context ends after the step's timeout (see Progress for longer
// work), and at the latest at stopBy less the clock skew. See Permanent, Transient, RetryAfter and NoEffect
// for errors. Any other error is transient.
type Func func(ctx context.Context, call Call) (output any, err error)

// CheckFunc asks the service whether the operation of call.Key has happened. output is the operation's output
// if it has happened. A CheckFunc must not have an effect. An error means that the answer is unknown.
type CheckFunc func(ctx context.Context, call Call) (happened bool, output any, err error)

// Operation is one operation of a remote service.
type Operation struct {
	Run Func
	// Check asks the service whether an earlier call had its effect. Check is nil if the service cannot
	// answer this question. The worker calls Check before each repeated call: in a later attempt, and in a
	// retry after an error that leaves the effect in doubt. For a plain service, only the result "happened"
	// counts, because a call that has not arrived yet may still arrive.
	Check CheckFunc
}

// AnyOperation is a key of Operations. Its operation handles all names that have no other entry.
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
