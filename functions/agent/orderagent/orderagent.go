// Package orderagent is the ready-made agent that starts orders. A step that names the agent submits an order
// and does not wait for its end; a step with a workflow waits (P40, a step can have child orders).
//
// An entry of the agents file (see package settings) has the field orders:
//
//	agents:
//	  follow-up: {orders: true}
//
// The operation of the step is the workflow of the new order, and the input is its content. The order's ID is
// derived from the idempotency key, so that repeated calls submit one order (P14, submit creates once). The
// undo cancels the order, also one that comes later (P17, a cancel is kept). So the agent has the grade fenced
// as long as a cancelled order counts as undone. An order that has ended Processed, or was resubmitted after its
// undo, refuses the cancel and stays.
//
// The output is {"orderId": …}.
package orderagent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Operations returns the operations of an agent that sends its orders and cancels to the intake queue.
func Operations(intake port.Sender) worker.Operations {
	run := func(ctx context.Context, call worker.Call) (any, error) {
		id := ID(call.Key)
		value, err := commandOf(id, call)
		if err == nil {
			err = intake.Send(ctx, []port.Message{{Value: value}})[0]
		}
		var refused *core.Refusal
		switch {
		case err == nil:
			return map[string]string{"orderId": id}, nil
		case errors.As(err, &refused):
			err = worker.WithCode(err, refused.Code)
		case errors.Is(err, port.ErrTooLarge):
			err = worker.WithCode(fmt.Errorf("order %s is larger than the intake queue takes: %w", id, err), "too-large")
		default:
			return nil, err // the queue cannot be reached
		}
		return nil, worker.NoEffect(worker.Permanent(err))
	}
	return worker.Operations{worker.AnyOperation: {Run: run}}
}

// commandOf returns the submission of a do, or the cancel of an undo.
func commandOf(id string, call worker.Call) (port.Value, error) {
	if call.Operation == core.UndoOp {
		cancel := &message.Control{OrderID: id, Event: core.Command{Name: core.Cancel, ID: "undo", Sender: core.Sender{
			By:     "agent",
			Reason: "step " + call.Step + " of order " + call.OrderID + " is undone",
		}}}
		return cancel, cancel.Check()
	}
	order := call.Input
	if len(order) == 0 {
		order = json.RawMessage("{}")
	}
	submit := &message.SubmitOrder{Schema: message.Schema, OrderID: id, Workflow: call.Name, Order: order}
	return submit, submit.Check()
}

// maxID is the longest ID of an order.
const maxID = 128

// ID returns the ID of the order that a step with this idempotency key starts: the key in the characters of
// an order's ID, and a part of its hash, so that two keys never give one ID.
func ID(key string) string {
	sum := sha256.Sum256([]byte(key))
	suffix := "." + hex.EncodeToString(sum[:8])
	name := strings.NewReplacer("/", ".", "~", ".").Replace(key)
	return name[:min(len(name), maxID-len(suffix))] + suffix
}
