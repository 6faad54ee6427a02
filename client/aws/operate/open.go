package operate

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/stepkeeper/stepkeeper/client"
	stack "github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Open is like Open of package client/aws, and returns an operator's client.
func Open(ctx context.Context, name string, o stack.Options, opts ...client.Option) (*client.Client, error) {
	c, err := stack.Configure(ctx, o)
	if err != nil {
		return nil, err
	}
	return OpenWith(ctx, c, name, opts...)
}

// OpenWith is like OpenWith of package client/aws, and returns an operator's client.
func OpenWith(ctx context.Context, c aws.Config, name string, opts ...client.Option) (*client.Client, error) {
	outputs, err := stack.Describe(ctx, c, name)
	if err != nil {
		return nil, err
	}
	store, rights := stack.Store(c, outputs), iam.NewFromConfig(c)
	return Over(Parts{
		Parts: stack.Parts{Outputs: outputs, Tasks: store, Definitions: store, Schedules: store.Schedules(),
			Queues: stack.Addresses(c, outputs)},
		Sweeps: store, Lambda: lambda.NewFromConfig(c), Metrics: cloudwatch.NewFromConfig(c),
		Tables: dynamo.NewClient(c), Caller: sts.NewFromConfig(c),
		Rights: rights.SimulatePrincipalPolicy, Role: rights.GetRole,
		Topic: sns.NewFromConfig(c).GetTopicAttributes}, opts...), nil
}

// Lambda reads event source mappings and the account's Lambda quotas. *lambda.Client implements this
// interface.
type Lambda interface {
	GetEventSourceMapping(ctx context.Context, in *lambda.GetEventSourceMappingInput,
		o ...func(*lambda.Options)) (*lambda.GetEventSourceMappingOutput, error)
	GetAccountSettings(ctx context.Context, in *lambda.GetAccountSettingsInput,
		o ...func(*lambda.Options)) (*lambda.GetAccountSettingsOutput, error)
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
	stack.Parts
	Sweeps  Sweeps  // nil omits the checks of sweeps and of overdue orders
	Lambda  Lambda  // nil omits the checks of mappings, quotas and clocks
	Metrics Metrics // nil omits metrics
	Tables  Tables  // nil means AWS's default quotas
	Caller  Caller  // nil omits the check of the permission to send
	Rights  Rights  // nil omits the check of the permission to send
	Role    Role    // nil means that the client assumes roles without a path
	Topic   Topic   // nil omits the checks of subscribers
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
	return client.Over(&transport{Transport: stack.NewTransport(p.Parts), Parts: p}, opts...)
}

type transport struct {
	*stack.Transport
	Parts Parts

	mu   sync.Mutex
	seen map[string]seen

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
