package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/sqs"
)

// DeadQueues returns the source queues of the server's dead letters, and the quarantine.
func (h *overHTTP) DeadQueues(ctx context.Context) ([]string, error) {
	names, err := sqs.New(h.sdk, sqs.Config{}).List(ctx, "")
	if err != nil {
		return nil, h.QueueError(ctx, "ListQueues", "dead letters", err)
	}
	var dead []string
	for _, name := range names {
		if of, is := strings.CutPrefix(name, port.Dead("")); is || name == port.Quarantine {
			dead = append(dead, of)
		}
	}
	return dead, nil
}

// DeadQueue returns the queue for the dead letters of the named queue.
func (h *overHTTP) DeadQueue(name string) (port.Queue, error) {
	if name != port.Quarantine {
		name = port.Dead(name)
	}
	q, err := h.queue(name)
	return atOnce{q}, err
}

// queue returns the server's queue with the given name. It does not check whether the queue exists.
func (h *overHTTP) queue(name string) (port.Queue, error) {
	return sqs.New(h.sdk, sqs.Config{URLs: map[string]string{name: h.base + "/000000000000/" + name}}).Queue(
		name)
}

// atOnce is a queue whose Receive does not wait for messages. A server returns all visible messages without a
// wait, unlike SQS.
type atOnce struct{ port.Queue }

// Receive returns visible messages without a wait.
func (q atOnce) Receive(ctx context.Context, most int, _, visibility time.Duration) ([]port.Delivery, error) {
	return q.Queue.Receive(ctx, most, 0, visibility)
}

// Redrivable returns an error for a Wake or a Settle, which only the server itself may send. It also returns
// an error for an unreadable order, and for an order whose workflow the server has not loaded.
func (h *overHTTP) Redrivable(ctx context.Context, queue string, body []byte) error {
	switch queue {
	case port.Control:
		if c, err := message.Decode[message.Control](body); err == nil && c.ID() == "" {
			return fmt.Errorf("a %s is sent by the server itself, and again where it is due: discard it",
				c.Kind())
		}
	case port.Intake:
		o, command, err := message.IntakeOf(port.Delivery{Message: port.Message{Body: body}})
		if err != nil || command != nil {
			return err
		}
		all, err := h.Workflows(ctx)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(w Workflow) bool { return w.Name == o.Workflow && w.Hash != "" }) {
			return fmt.Errorf("there is no workflow %s", o.Workflow)
		}
	}
	return nil
}

// Resend sends the message to the queue through the server's SQS endpoint.
func (h *overHTTP) Resend(ctx context.Context, queue string, m port.Message) error {
	q, err := h.queue(queue)
	if err == nil {
		err = q.Send(ctx, []port.Message{m})[0]
	}
	return h.QueueError(ctx, "SendMessage", queue, err)
}

// QueueError converts an error of package sqs to an error of this package.
func (h *overHTTP) QueueError(ctx context.Context, action, queue string, err error) error {
	var api smithy.APIError
	var answer *awshttp.ResponseError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, port.ErrNotFound):
		return Errorf(http.StatusNotFound, "unknown-queue", "the server has no queue %s", queue)
	case errors.As(err, &api):
		status := http.StatusBadRequest // an error of a single entry in a batch has no HTTP status
		if errors.As(err, &answer) {
			status = answer.HTTPStatusCode()
		}
		return Errorf(status, api.ErrorCode(), "%s of %s: %s", action, queue, api.ErrorMessage())
	case errors.Is(err, port.ErrTooLarge):
		return Errorf(http.StatusRequestEntityTooLarge, message.CodeTooLarge, "%v", err)
	}
	return fmt.Errorf("%w: %w", ErrConnection, err)
}
