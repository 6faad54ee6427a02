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

// Queue returns a queue of the server. It does not check whether the queue exists.
func (h *overHTTP) Queue(_ context.Context, name string) (port.Queue, error) {
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
