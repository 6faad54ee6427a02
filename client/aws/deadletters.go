package aws

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// deadQueue returns the name that Queues knows for a key of Outputs.Dead.
func deadQueue(name string) string {
	if name == port.Quarantine || name == client.MissedSweeps {
		return name
	}
	return port.Dead(name)
}

// DeadQueues returns the names of the queues with dead letters, from the outputs.
func (t *Transport) DeadQueues(context.Context) ([]string, error) {
	return slices.Collect(maps.Keys(t.Outputs.Dead)), nil
}

// DeadQueue returns the queue that holds the dead letters of the named queue.
func (t *Transport) DeadQueue(name string) (port.Queue, error) {
	return t.Queues.Queue(deadQueue(name))
}

// Redrivable returns an error if the message is an order of a workflow that is not deployed. It permits
// messages that this program cannot read, because a newer one may read them.
func (t *Transport) Redrivable(_ context.Context, queue string, body []byte) error {
	if queue != port.Intake && queue != port.High(port.Intake) {
		return nil
	}
	if o, err := message.DecodeSubmit(body); err == nil && t.Outputs.Hash(o.Workflow) == "" {
		return fmt.Errorf("the workflow %s is not deployed in this stack", o.Workflow)
	}
	return nil
}

// Resend sends the message. Only roles in the stack's Operators may send to the queues of replies and
// requests.
func (t *Transport) Resend(ctx context.Context, queue string, m port.Message) error {
	if !t.Outputs.FairQueues {
		m.Group = ""
	}
	q, err := t.Queues.Queue(queue)
	if err == nil {
		err = q.Send(ctx, []port.Message{m})[0]
	}
	return Failed(ctx, Use{"sqs:SendMessage", "queue " + queue + " (and to be among Operators of the stack)",
		t.Outputs.Operator}, err)
}

// QueueError translates an error. It names a missing permission and the policy that contains it.
func (t *Transport) QueueError(ctx context.Context, action, queue string, err error) error {
	if queue != port.Quarantine && queue != client.MissedSweeps {
		queue = "the dead letters of " + queue
	}
	return Failed(ctx, Use{"sqs:" + action, queue, t.Outputs.Operator}, err)
}
