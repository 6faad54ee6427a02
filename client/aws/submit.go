package aws

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// remembered is the number of queued orders that a client remembers. An older order is unknown to the client
// until its task exists.
const remembered = 200_000

// sent describes an order that this client sent to the intake queue. With this record, the client can
// distinguish a queued order without a task from an unknown order. The client also detects that a different
// order has the same ID.
type sent struct {
	hash string // message.ContentHash of the order
	at   time.Time
}

func (t *Transport) send(ctx context.Context, queue string, messages []port.Message) []error {
	errs := make([]error, len(messages))
	q, err := t.Queues.Queue(queue)
	if err == nil {
		errs = q.Send(ctx, messages)
	}
	for i := range errs {
		if err != nil {
			errs[i] = err
		}
		errs[i] = Failed(ctx, Use{"sqs:SendMessage", "queue " + queue, t.Outputs.Senders(queue)}, errs[i])
	}
	return errs
}

// Submit sends one order to the intake queue. It does not wait.
func (t *Transport) Submit(ctx context.Context, order []byte, _ time.Duration) (client.Receipt, *client.Task, error) {
	answers, err := t.SubmitBatch(ctx, [][]byte{order})
	if err == nil {
		err = answers[0].Err
	}
	if err != nil {
		return client.Receipt{}, nil, err
	}
	return answers[0].Receipt, nil, nil
}

// SubmitBatch sends at most port.MaxBatch orders together. It returns an error if the connection is lost, or if the
// reason of a refusal applies to all messages. A refusal of a single order is in its Result.
func (t *Transport) SubmitBatch(ctx context.Context, orders [][]byte) ([]client.Result, error) {
	answers := make([]client.Result, len(orders))
	var messages []port.Message
	var hashes []string
	var places []int
	for i, text := range orders {
		o, err := message.DecodeSubmit(text)
		answers[i].OrderID, _ = o.Known()
		if len(t.Outputs.High) == 0 {
			answers[i].Notes = message.Notes(o.Priority)
		}
		if err != nil {
			answers[i].Err = unreadable(err)
			continue
		}
		body, err := o.Encode()
		if err != nil {
			answers[i].Err = unreadable(err)
			continue
		}
		m := port.Message{Body: body, High: o.Priority == message.PriorityHigh}
		if t.Outputs.FairQueues {
			m.Group = message.Tenant(o.OrderID)
		}
		messages = append(messages, m)
		hashes = append(hashes, message.ContentHash(o))
		places = append(places, i)
	}
	if len(messages) == 0 {
		return answers, nil
	}
	for n, err := range t.send(ctx, port.Intake, messages) {
		a := &answers[places[n]]
		if err == nil {
			a.Accepted = true
			a.Queued = true
			t.queued.Add(a.OrderID, sent{hashes[n], time.Now()})
			continue
		}
		var e *client.Error
		a.Err = err
		if !errors.As(err, &e) || e.Status == http.StatusForbidden ||
			e.Status == http.StatusBadGateway {
			return nil, err
		}
	}
	return answers, nil
}

const batchesAtOnce = 16

// Batches returns the limits of SubmitBatch.
func (t *Transport) Batches() (orders, atOnce int) { return port.MaxBatch, batchesAtOnce }
