package operate

import (
	"cmp"
	"context"
	"sync"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Open is like Open of package client/aws, and returns an operator's client.
func Open(ctx context.Context, name string, o aws.Options, opts ...client.Option) (*client.Client, error) {
	c, err := aws.Configure(ctx, o)
	if err != nil {
		return nil, err
	}
	return OpenWith(ctx, c, name, opts...)
}

// OpenWith is like OpenWith of package client/aws, and returns an operator's client.
func OpenWith(ctx context.Context, c sdk.Config, name string, opts ...client.Option) (*client.Client, error) {
	outputs, err := aws.Describe(ctx, c, name)
	if err != nil {
		return nil, err
	}
	parts, store := aws.PartsOf(c, outputs)
	return Over(Parts{Parts: parts, Sweeps: store, Config: &c}, opts...), nil
}

// Sweeps reads overdue tasks and the leases of sweeps. *dynamo.Store implements this interface.
type Sweeps interface {
	Due(ctx context.Context, bucket port.Bucket, shard int, before time.Time, after *port.Due,
		limit int) ([]port.Due, error)
	// LeaseUntil returns the end of a lease, or the zero time if the lease was never taken.
	LeaseUntil(ctx context.Context, name string) (time.Time, error)
}

// Parts holds the dependencies of an operator's client.
type Parts struct {
	aws.Parts
	Sweeps Sweeps // nil omits the checks of sweeps and of overdue orders
	// Config reaches Lambda, CloudWatch, IAM, STS, SNS and DynamoDB. nil omits metrics, and the checks of
	// mappings, quotas, clocks, subscribers and of the permission to send.
	Config *sdk.Config
	// Unattended is the time that a request may wait before the client checks whether the request's queue has
	// a consumer. The client caches the result of a check for this time. It caches the error of a failed
	// check for six times as long. The zero value means 10 s.
	Unattended time.Duration
	// LookTimeout is the time limit of one check of all queues. The zero value means 3 s.
	LookTimeout time.Duration
}

// Over returns a client with the given dependencies.
func Over(p Parts, opts ...client.Option) *client.Client {
	p.Unattended = cmp.Or(p.Unattended, unattendedAfter)
	p.LookTimeout = cmp.Or(p.LookTimeout, lookTimeout)
	t := &transport{Transport: aws.NewTransport(p.Parts), Parts: p}
	if p.Config != nil {
		t.aws = newServices(*p.Config)
	}
	return client.Over(t, opts...)
}

type transport struct {
	*aws.Transport
	Parts Parts
	aws   *services // nil if Parts has no Config

	seen sync.Map // results of type seen, by queue

	statisticsMu sync.Mutex
	statistics   statistics
}

// Task returns a task. If wait is 0, Task also calls await, which adds queues without a consumer.
func (t *transport) Task(ctx context.Context, id string, wait time.Duration) (*client.Task, error) {
	shown, err := t.Transport.Task(ctx, id, wait)
	if err == nil && wait <= 0 {
		t.await(ctx, shown, time.Now())
	}
	return shown, err
}
