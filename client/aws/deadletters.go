package aws

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// DeadQueues returns the keys of Outputs.Dead. It makes no network call.
func (t *Transport) DeadQueues(context.Context) ([]string, error) {
	return slices.Collect(maps.Keys(t.Outputs.Dead)), nil
}

// Queue returns a queue of the stack. An operator may send replies and requests only if Props.Operators of package
// infra contains the operator's role.
func (t *Transport) Queue(ctx context.Context, name string) (port.Queue, error) {
	q := &queue{t: t, on: "queue " + name + " (and to be among Operators of the stack)"}
	of, dead := strings.CutPrefix(name, port.Dead(""))
	switch {
	case dead:
		q.on = "the dead letters of " + of
	case name == port.Quarantine || name == client.MissedSweeps:
		q.on = name
	}
	var err error
	q.Queue, err = t.Queues.Queue(name)
	return q, q.failed(ctx, "GetQueueAttributes", err)
}

// queue converts the errors of package sqs to errors of package client. If a permission is missing, the error names
// the permission and the policy that allows it.
type queue struct {
	port.Queue
	t  *Transport
	on string // the queue in the text of an error
}

func (q *queue) failed(ctx context.Context, action string, err error) error {
	return Failed(ctx, Use{"sqs:" + action, q.on, q.t.Outputs.Operator}, err)
}

func (q *queue) Send(ctx context.Context, messages []port.Message) []error {
	if !q.t.Outputs.FairQueues {
		messages = slices.Clone(messages) // those of the caller stay as they are
		for i := range messages {
			messages[i].Group = ""
		}
	}
	errs := q.Queue.Send(ctx, messages)
	for i := range errs {
		errs[i] = q.failed(ctx, "SendMessage", errs[i])
	}
	return errs
}

func (q *queue) Receive(ctx context.Context, most int, wait, visibility time.Duration) ([]port.Delivery, error) {
	got, err := q.Queue.Receive(ctx, most, wait, visibility)
	return got, q.failed(ctx, "ReceiveMessage", err)
}

func (q *queue) Delete(ctx context.Context, receipts []string) []error {
	errs := q.Queue.Delete(ctx, receipts)
	for i := range errs {
		errs[i] = q.failed(ctx, "DeleteMessage", errs[i])
	}
	return errs
}

func (q *queue) Depth(ctx context.Context) (port.Depth, error) {
	depth, err := q.Queue.Depth(ctx)
	return depth, q.failed(ctx, "GetQueueAttributes", err)
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
