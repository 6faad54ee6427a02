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

// Call is one call of an operation.
type Call = worker.Call

// Operation is one operation of the service. Run executes the operation. Check, which is optional, asks the
// service whether an earlier call had its effect.
type Operation = worker.Operation

// Operations holds an agent's operations by the names that workflows use.
type Operations = worker.Operations

// Failure is an error with details that decide what happens to the step.
type Failure = worker.Failure

// Permanent marks an error after which no repetition of the call can succeed. If the call provably had no
// effect, mark the error with NoEffect too.
func Permanent(err error) error { return worker.Permanent(err) }

// Transient marks an error after which a repetition of the call may succeed. Unmarked errors are transient.
func Transient(err error) error { return worker.Transient(err) }

// RetryAfter marks a transient error of a service that asks the caller to wait for the given time.
func RetryAfter(err error, wait time.Duration) error { return worker.RetryAfter(err, wait) }

// Unauthorized marks the error of a service that refused the agent's credentials and did nothing. The step
// waits until the credentials are renewed. The attempt does not count as a failure.
func Unauthorized(err error) error { return worker.Unauthorized(err) }

// NotYet returns the error for a service that did nothing and must be called again later. The step repeats
// the call for at most its pollFor, and waits at least the given time before each call. These calls do not
// count as failures. Wrap the error to state what is missing:
//
//	return nil, fmt.Errorf("the parcel was not collected: %w", agent.NotYet(time.Minute))
func NotYet(after time.Duration) error { return worker.NotYet(after) }

// Progress reports that an operation is still running. The operation's step must have a maxDuration.
// The step's timeout starts again from now. worker.Progress describes how often it sends a report.
func Progress(ctx context.Context, percent int, note string) error {
	return worker.Progress(ctx, percent, note)
}

// Deferred returns the error of an operation whose work continues elsewhere. A program then sends the reply
// with Replies and the ID from Call.ReplyID, within the given time. worker.Deferred describes the details.
//
//	return nil, agent.Deferred(2 * time.Hour)
func Deferred(within time.Duration) error { return worker.Deferred(within) }

// Replies sends the replies to calls whose operations returned Deferred.
type Replies = worker.Replies

// ErrTooLate means that the call's StopBy has passed, so a reply to the call no longer counts.
var ErrTooLate = worker.ErrTooLate

// OpenReplies returns the Replies of the named agent. It finds the queue of replies in the same way as Serve.
// Only the options WithQueues and WithClock have an effect. In a program that was built with the tag
// lambda.norpc, OpenReplies returns an error. On AWS the process needs a role with the permissions that
// Stepkeeper.GrantAgent of package infra grants.
func OpenReplies(ctx context.Context, name string, options ...Option) (*Replies, error) {
	var s settings
	for _, o := range options {
		o(&s)
	}
	return s.openReplies(ctx, name)
}

// NoEffect marks the error of a call that provably had no effect: the call was not sent or was refused.
func NoEffect(err error) error { return worker.NoEffect(err) }

// WithCode adds a code to an error. A code is a short, stable word for programs, such as "card-declined".
func WithCode(err error, code string) error { return worker.WithCode(err, code) }

// Typed returns an operation that decodes its JSON input into an In and calls run. An unknown field,
// or anything after the JSON value, is a permanent failure without effect. If the step has no input,
// run gets the zero value of In.
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
