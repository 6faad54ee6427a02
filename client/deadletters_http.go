package client

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// DeadQueues returns the source queues of the server's dead letters, and the quarantine.
func (h *overHTTP) DeadQueues(ctx context.Context) (dead []string, err error) {
	got, err := queueCall[struct{ QueueUrls []string }](ctx, &serverQueue{h: h}, "ListQueues", map[string]any{})
	for _, address := range got.QueueUrls {
		name := address[strings.LastIndexByte(address, '/')+1:]
		if of, is := strings.CutPrefix(name, port.Dead("")); is || name == port.Quarantine {
			dead = append(dead, of)
		}
	}
	return dead, err
}

// DeadQueue returns the queue for the dead letters of the named queue. It does not check whether the queue
// exists.
func (h *overHTTP) DeadQueue(name string) (port.Queue, error) {
	if name != port.Quarantine {
		name = port.Dead(name)
	}
	return &serverQueue{h, name}, nil
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

// Resend sends the message to the queue of the server.
func (h *overHTTP) Resend(ctx context.Context, queue string, m port.Message) error {
	return (&serverQueue{h, queue}).Send(ctx, []port.Message{m})[0]
}

// QueueError returns err: the errors of a server's queues are those of this package.
func (h *overHTTP) QueueError(_ context.Context, _, _ string, err error) error { return err }
