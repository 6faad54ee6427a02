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

// deadQueue returns the name of the queue for a key of Outputs.Dead.
func deadQueue(name string) string {
	if name == port.Quarantine || name == client.MissedSweeps {
		return name
	}
	return port.Dead(name)
}

// DeadQueues returns the keys of Outputs.Dead. It makes no network call.
func (t *Transport) DeadQueues(context.Context) ([]string, error) {
	return slices.Collect(maps.Keys(t.Outputs.Dead)), nil
}

// DeadQueue returns the queue for the dead letters of the named queue.
func (t *Transport) DeadQueue(name string) (port.Queue, error) {
	return t.Queues.Queue(deadQueue(name))
}

// Redrivable returns an error if the message is an order of a workflow that is not deployed. It returns nil
// if this program cannot read the message, because a newer program may be able to read the message.
func (t *Transport) Redrivable(_ context.Context, queue string, body []byte) error {
	if queue != port.Intake && queue != port.High(port.Intake) {
		return nil
	}
	if o, err := message.DecodeSubmit(body); err == nil && t.Outputs.Hash(o.Workflow) == "" {
		return fmt.Errorf("the workflow %s is not deployed in this stack", o.Workflow)
	}
	return nil
}

// Resend sends the message to the queue. An operator may send replies and requests only if Props.Operators of
// package infra contains the operator's role.
func (t *Transport) Resend(ctx context.Context, queue string, m port.Message) error {
	if !t.Outputs.FairQueues {
		m.Group = ""
	}
	q, err := t.Queues.Queue(queue)
	if err == nil {
		err = q.Send(ctx, []port.Message{m})[0]
	}
	return Failed(ctx, Use{
		"sqs:SendMessage", "queue " + queue + " (and to be among Operators of the stack)",
		t.Outputs.Operator,
	}, err)
}

// QueueError converts an error of package sqs to an error of package client. If a permission is missing, the
// error names the permission and the policy that allows it.
func (t *Transport) QueueError(ctx context.Context, action, queue string, err error) error {
	if queue != port.Quarantine && queue != client.MissedSweeps {
		queue = "the dead letters of " + queue
	}
	return Failed(ctx, Use{"sqs:" + action, queue, t.Outputs.Operator}, err)
}
