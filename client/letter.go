package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// letter converts a delivery to a DeadLetter. A quarantined message contains the rejected message, and letter
// describes the rejected message.
func (c *Client) letter(ctx context.Context, queue string, d *port.Delivery) DeadLetter {
	body, err := d.Bytes()
	l := DeadLetter{
		ID: d.ID, Queue: queue, Sent: d.SentAt.UTC(), Received: d.Received, Body: body,
		SHA256: digest(body),
	}
	whole := true
	if err == nil && queue == port.Quarantine {
		var q *message.Quarantined
		q, err = message.Decode[message.Quarantined](body)
		if err == nil {
			l.Queue = q.Queue
			l.Reason = q.Reason
			l.Body = q.Body
			l.SHA256 = q.SHA256
			whole = digest(q.Body) == q.SHA256
		}
	}
	l.identify()
	switch {
	case err != nil:
		l.Refused = "it cannot be read: " + err.Error()
	case !whole && len(l.Body) < message.MaxQuarantined:
		l.Refused = "it held a token of an answer, which is not kept: have its sender send it again"
	case !whole:
		l.Refused = fmt.Sprintf("only its first %d bytes were kept: have its sender send it again",
			len(l.Body))
	default:
		if err := c.redrivable(ctx, queue == port.Quarantine, &l); err != nil {
			l.Refused = err.Error()
		}
	}
	return l
}

func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// redrivable returns the reason why Redrive must refuse a message, or nil. If the message was quarantined,
// redrivable checks whether this program can read the body. It does not check the body of a dead letter,
// which may have a newer format.
func (c *Client) redrivable(ctx context.Context, quarantined bool, l *DeadLetter) error {
	switch l.Queue {
	case MissedSweeps:
		return errTicks
	case port.Tasks:
		return errors.New("only the Scheduler may send to this queue: discard the message; the " +
			"Supervisor replaces a lost one")
	}
	if quarantined {
		if err := readable(l.Queue, l.Body); err != nil {
			return fmt.Errorf("its queue would not accept it: %w", err)
		}
		if err := c.ofKnownOrder(ctx, l); err != nil {
			return err
		}
	}
	return c.via.Redrivable(ctx, l.Queue, l.Body)
}

func readable(queue string, body []byte) (err error) {
	switch {
	case queue == port.Intake || queue == port.High(port.Intake):
		_, _, err = message.IntakeOf(port.Delivery{Message: port.Message{Body: body}})
	case queue == port.Replies:
		_, err = message.Decode[message.Reply](body)
	case queue == port.Control:
		var c *message.Control
		c, err = message.Decode[message.Control](body)
		if err == nil && c.ForTasks() {
			err = fmt.Errorf("the queue %s takes no %s", queue, c.Kind())
		}
	case strings.HasPrefix(queue, port.Requests("")):
		_, err = message.Decode[message.Request](body)
	default:
		return fmt.Errorf("it came from the queue %.80q, which this deployment does not have", queue)
	}
	return err
}

// ofKnownOrder returns an error for a reply or a command whose order is unknown, because the Scheduler would
// refuse the message again. A Cancel is permitted, because a Cancel may come before its order.
func (c *Client) ofKnownOrder(ctx context.Context, l *DeadLetter) error {
	needsOrder := l.Queue == port.Replies || l.Queue == port.Control || l.Kind == string(message.Answer)
	if !needsOrder || l.Kind == string(message.Cancel) {
		return nil
	}
	_, err := c.Submitted(ctx, l.OrderID)
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("there is no order %s", l.OrderID)
	}
	return err
}
