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
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/stepkeeper/stepkeeper/client"
	stack "github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Open is aws.Open for an operator.
func Open(ctx context.Context, name string, o stack.Options, opts ...client.Option) (*client.Client, error) {
	c, err := stack.Configure(ctx, o)
	if err != nil {
		return nil, err
	}
	return OpenWith(ctx, c, name, opts...)
}

// OpenWith is aws.OpenWith for an operator.
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
		Rights: rights.SimulatePrincipalPolicy, Role: rights.GetRole}, opts...), nil
}

// Lambda reads the state of an event source mapping, and the account's limits. *lambda.Client implements it.
type Lambda interface {
	GetEventSourceMapping(ctx context.Context, in *lambda.GetEventSourceMappingInput,
		o ...func(*lambda.Options)) (*lambda.GetEventSourceMappingOutput, error)
	GetAccountSettings(ctx context.Context, in *lambda.GetAccountSettingsInput,
		o ...func(*lambda.Options)) (*lambda.GetAccountSettingsOutput, error)
}

// Sweeps reads the results of the Supervisor.
type Sweeps interface {
	Due(ctx context.Context, bucket port.Bucket, shard int, before time.Time, after *port.Due,
		limit int) ([]port.Due, error)
	// LeaseUntil returns zero if nothing has ever taken the lease.
	LeaseUntil(ctx context.Context, name string) (time.Time, error)
}

// Parts holds the dependencies of an operator's client.
type Parts struct {
	stack.Parts
	Sweeps  Sweeps  // reads the results of sweeps; nil if they are not read
	Lambda  Lambda  // reads mappings and limits; nil if they are not read
	Metrics Metrics // reads CloudWatch; nil if it is not read
	Tables  Tables  // reads quotas; nil means AWS's default quotas
	Caller  Caller  // reads the caller's identity; nil if it is not read
	Rights  Rights  // reads the caller's permissions; nil if they are not read
	Role    Role    // reads the path of the caller's role; nil if it is not read
	// Unattended is the time that a request may wait before its queue is checked for a consumer. It is also
	// the time for which the result is cached. A failure is cached six times as long. The zero value means 10
	// s.
	Unattended time.Duration
	// LookTimeout bounds the time of a check of all queues. The zero value means 3 s.
	LookTimeout time.Duration
}

// Over returns a client with these parts.
func Over(p Parts, opts ...client.Option) *client.Client {
	p.Unattended = cmp.Or(p.Unattended, unattendedAfter)
	p.LookTimeout = cmp.Or(p.LookTimeout, lookTimeout)
	return client.Over(&transport{Transport: stack.NewTransport(p.Parts), Parts: p}, opts...)
}

// transport adds the operator's calls to the transport of an application.
type transport struct {
	*stack.Transport
	Parts Parts

	mu   sync.Mutex
	seen map[string]seen // last result for each queue

	statisticsMu sync.Mutex
	statistics   statistics
}

// Task returns a task. Without a wait it adds the queues without a consumer that the task waits for.
func (t *transport) Task(ctx context.Context, id string, wait time.Duration) (*client.Task, error) {
	shown, err := t.Transport.Task(ctx, id, wait)
	if err == nil && wait <= 0 {
		t.await(ctx, shown, time.Now())
	}
	return shown, err
}
