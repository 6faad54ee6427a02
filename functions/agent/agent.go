package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
)

// Call is one call of an operation; see its fields.
type Call = worker.Call

// Operation is one operation of the service: Run, and Check if the service can be queried.
type Operation = worker.Operation

// Operations holds an agent's operations by the names that workflows use.
type Operations = worker.Operations

// Failure is an error with its consequences for the step.
type Failure = worker.Failure

// Permanent marks an error after which no repetition can succeed. Add NoEffect if the service refused before
// it did anything.
func Permanent(err error) error { return worker.Permanent(err) }

// Transient marks an error after which a repetition may succeed. Unmarked errors are transient too.
func Transient(err error) error { return worker.Transient(err) }

// RetryAfter marks a transient error of a service that asks the caller to wait.
func RetryAfter(err error, wait time.Duration) error { return worker.RetryAfter(err, wait) }

// Unauthorized marks an error of a service that refused the agent's credentials before it did anything. The
// step waits until they are renewed, and no failure is counted.
func Unauthorized(err error) error { return worker.Unauthorized(err) }

// NotYet returns the error of a service that did nothing and is to be called again. The step calls it again
// for up to its pollFor, each time after the given wait at the earliest. No failure is counted. Wrap it to
// state what is missing:
//
//	return nil, fmt.Errorf("the parcel was not collected: %w", agent.NotYet(time.Minute))
func NotYet(after time.Duration) error { return worker.NotYet(after) }

// Progress reports that an operation of a step with a maxDuration is still running. The step's timeout starts
// again from now. See worker.Progress for how often it is sent.
func Progress(ctx context.Context, percent int, note string) error {
	return worker.Progress(ctx, percent, note)
}

// Deferred returns the error that an agent returns if the operation continues elsewhere. Its reply comes
// later, by Replies and Call.ReplyID, within the given time; 0 means until the call's StopBy. See
// worker.Deferred.
//
//	return nil, agent.Deferred(2 * time.Hour)
func Deferred(within time.Duration) error { return worker.Deferred(within) }

// Replies sends the replies of calls that were Deferred.
type Replies = worker.Replies

// ErrTooLate means that the call's StopBy has passed, so its reply no longer counts.
var ErrTooLate = worker.ErrTooLate

// OpenReplies finds the queue for replies to calls of the named agent, as Serve does. It uses only WithQueues
// and WithClock. It fails in a program that is built for Lambda alone. On AWS the process needs a role with
// the rights of GrantAgent of package infra.
func OpenReplies(ctx context.Context, name string, options ...Option) (*Replies, error) {
	var s settings
	for _, o := range options {
		o(&s)
	}
	return s.openReplies(ctx, name)
}

// NoEffect marks the error of a call that provably had no effect: it was never sent, or was refused.
func NoEffect(err error) error { return worker.NoEffect(err) }

// WithCode adds a short stable word for programs to an error, such as "card-declined".
func WithCode(err error, code string) error { return worker.WithCode(err, code) }

// Typed returns an operation from a function with its own input type. It reads the input strictly: an unknown
// field, or anything after the value, is a permanent failure without effect. If the step has no input, In
// keeps its zero value.
func Typed[In, Out any](run func(ctx context.Context, in In, call Call) (Out, error)) Operation {
	return Operation{Run: func(ctx context.Context, call Call) (any, error) {
		var in In
		if err := strictly(call.Input, &in); err != nil {
			return nil,
				WithCode(Permanent(NoEffect(fmt.Errorf("the input of %s cannot be read: %w", call.Name,
					err))), "input")
		}
		out, err := run(ctx, in, call)
		if err != nil {
			return nil, err
		}
		return out, nil
	}}
}

func strictly(input json.RawMessage, to any) error {
	if len(bytes.TrimSpace(input)) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(input))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("something follows the value")
	}
	return nil
}
