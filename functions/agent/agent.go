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

// Operation is one operation of the service: Run, and where the service can be asked, Check.
type Operation = worker.Operation

// Operations are an agent's operations by the names that workflows use.
type Operations = worker.Operations

// Failure is an error with what is known of it.
type Failure = worker.Failure

// Permanent says that no repetition can succeed. Add NoEffect where the service refused before it
// did anything.
func Permanent(err error) error { return worker.Permanent(err) }

// Transient says that a repetition may succeed, as is taken for granted of unmarked errors.
func Transient(err error) error { return worker.Transient(err) }

// RetryAfter is transient, and the service asks to wait that long.
func RetryAfter(err error, wait time.Duration) error { return worker.RetryAfter(err, wait) }

// Unauthorized says that the service refused the agent's credentials, before it did anything: the step
// waits, uncounted, until they are renewed.
func Unauthorized(err error) error { return worker.Unauthorized(err) }

// NotYet says that the service was asked, did nothing, and is to be asked again: the step polls, uncounted,
// for up to its pollFor, and not before after. Wrap it to say what is missing:
//
//	return nil, fmt.Errorf("the parcel was not collected: %w", agent.NotYet(time.Minute))
func NotYet(after time.Duration) error { return worker.NotYet(after) }

// Progress reports that an operation of a step with a maxDuration is still at work: it may go on for the
// step's timeout from now on. See worker.Progress for how often it is sent.
func Progress(ctx context.Context, percent int, note string) error {
	return worker.Progress(ctx, percent, note)
}

// Deferred returns the error that an agent returns if the operation continues elsewhere. Its reply comes
// later, by Replies and Call.ReplyID, within the given time; 0 means until the call's StopBy. See
// worker.Deferred.
//
//	return nil, agent.Deferred(2 * time.Hour)
func Deferred(within time.Duration) error { return worker.Deferred(within) }

// Replies answers calls that were Deferred.
type Replies = worker.Replies

// ErrTooLate means that the call's StopBy has passed, so its reply no longer counts.
var ErrTooLate = worker.ErrTooLate

// OpenReplies finds the queue that the calls of the agent of that name are answered by, as Serve does; only
// WithQueues and WithClock are used. It is for a process; on AWS its role is one of infra's GrantAgent.
func OpenReplies(ctx context.Context, name string, options ...Option) (*Replies, error) {
	var s settings
	for _, o := range options {
		o(&s)
	}
	return s.openReplies(ctx, name)
}

// NoEffect says that the call is proven to have had no effect: never sent, or refused.
func NoEffect(err error) error { return worker.NoEffect(err) }

// WithCode gives an error a short stable word for programs: "card-declined".
func WithCode(err error, code string) error { return worker.WithCode(err, code) }

// Typed makes an operation of a function with an input of its own type. The input is read strictly:
// an unknown field, or anything after the value, is a permanent failure without effect. Where the
// step has no input, In keeps its zero value.
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
