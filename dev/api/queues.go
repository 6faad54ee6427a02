package api

import (
	"context"
	"errors"

	"github.com/stepkeeper/stepkeeper/dev/sqsproto"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// intake handles messages to the intake queue: orders, and the commands that message.IntakeOf accepts. It
// returns one error for each message. The error is nil after the commit (P27, the embedded runtime survives
// its queues).
//
// The sender of an unreadable or refused message gets no error, as from a queue on AWS. intake therefore
// passes these messages to Backend.Reject. For a message with a newer schema it returns an error, because no newer
// program reads the queue.
func (e *edge) intake(ctx context.Context, bodies [][]byte) []error {
	errs := make([]error, len(bodies))
	var orders []message.SubmitOrder
	var at []int
	commands := make([]*message.Control, len(bodies))
	for i, body := range bodies {
		o, c, err := message.IntakeOf(port.Delivery{Message: port.Message{Body: body}})
		if errors.Is(err, message.ErrNewer) {
			errs[i] = sqsproto.Invalid(err)
			continue
		}
		if c != nil {
			commands[i] = c
			continue
		}
		if err != nil {
			errs[i] = e.backend.Reject(ctx, Rejected{Queue: port.Intake, Body: body, Err: err})
			continue
		}
		orders = append(orders, o)
		at = append(at, i)
	}
	if len(orders) > 0 {
		for k, result := range e.backend.Submit(ctx, orders) {
			i := at[k]
			errs[i] = result.Err
			if isRefusal(result.Err) {
				errs[i] = e.backend.Reject(ctx, Rejected{Queue: port.Intake, Body: bodies[i], Err: result.Err})
			}
		}
	}
	for i, c := range commands { // commands run last, because they may name one of these orders
		if c != nil {
			errs[i] = e.handled(ctx, Rejected{Queue: port.Intake, Body: bodies[i]}, c)
		}
	}
	return errs
}

// control handles commands to the control queue. It refuses a Wake and a Settle, because only the runtime
// sends these messages.
func (e *edge) control(ctx context.Context, bodies [][]byte) []error {
	errs := make([]error, len(bodies))
	for i, body := range bodies {
		c, err := message.Decode[message.Control](body)
		if errors.Is(err, message.ErrNewer) {
			errs[i] = sqsproto.Invalid(err)
			continue
		}
		if err == nil && (c.ID() == "") {
			err = &core.Refusal{Code: CodeForbidden, Text: "a " + string(c.Kind()) +
				" is sent by the runtime itself; send cancel, undo, resubmit, resolve, close or move"}
		}
		if err != nil {
			errs[i] = e.backend.Reject(ctx, Rejected{Queue: port.Control, Body: body, Err: err})
			continue
		}
		errs[i] = e.handled(ctx, Rejected{Queue: port.Control, Body: body}, c)
	}
	return errs
}

// handled executes a command from a message. The sender gets no verdict here, but the task stores the verdict
// (P5, commands have a number and an ID).
func (e *edge) handled(ctx context.Context, from Rejected, c *message.Control) error {
	_, err := e.backend.Command(ctx, *c)
	switch {
	case isRefusal(err), errors.Is(err, port.ErrNotFound):
		from.Err = err
		return e.backend.Reject(ctx, from)
	case errors.Is(err, core.ErrStale):
		return sqsproto.Invalid(err)
	}
	return err
}

func isRefusal(err error) bool {
	return errors.As(err, new(*core.Refusal))
}
