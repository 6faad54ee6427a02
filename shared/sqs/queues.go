package sqs

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Config of Queues.
type Config struct {
	// URLs of queues by logical name: what a deployment hands over. Where port.High of a name is among them,
	// messages of high priority that are sent to that name go there, and its depth is that of both (P46).
	URLs map[string]string
	// LookUp asks SQS for the address of a name that is not among URLs, as Prefix + name. Without
	// it such a name is not found.
	LookUp bool
	Prefix string
	// ReplyTo lists the logical names that an order may name.
	ReplyTo []string
}

// Queues finds queues by their logical names. Safe for concurrent use.
type Queues struct {
	client *sqs.Client
	config Config

	mu    sync.Mutex
	known map[string]*Queue
}

// New makes Queues. The SDK's configuration should be awsclient.Load's. An attempt that gets no answer within
// wire.AttemptTimeout is repeated, so that a message may be sent twice.
func New(c aws.Config, config Config) *Queues {
	client := sqs.NewFromConfig(c, func(o *sqs.Options) {
		o.APIOptions = append(o.APIOptions, wire.LimitAttempts(wire.AttemptTimeout))
	})
	return &Queues{client: client, config: config, known: map[string]*Queue{}}
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

// Queue returns a *Queue. The first time it may ask SQS for the address: ErrUnavailable if that fails for
// now.
func (q *Queues) Queue(name string) (port.Queue, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if found := q.known[name]; found != nil {
		return found, nil
	}
	url, err := q.address(name)
	if err != nil {
		return nil, err
	}
	found := &Queue{client: q.client, name: name, url: url, high: q.config.URLs[port.High(name)]}
	q.known[name] = found
	return found, nil
}

func (q *Queues) address(name string) (string, error) {
	if url := q.config.URLs[name]; url != "" {
		return url, nil
	}
	full := q.config.Prefix + name
	if name == "" || !q.config.LookUp || !namePattern.MatchString(full) {
		return "", fmt.Errorf("queue %.100q: %w", name, port.ErrNotFound)
	}
	out, err := q.client.GetQueueUrl(context.Background(), &sqs.GetQueueUrlInput{QueueName: &full})
	if err != nil {
		return "", fmt.Errorf("queue %q: looking up its address: %w", name, meaning(err))
	}
	return aws.ToString(out.QueueUrl), nil
}

// List returns the names of all queues that begin with a prefix: at most 1,000, the most that SQS returns at
// once.
func (q *Queues) List(ctx context.Context, prefix string) ([]string, error) {
	out, err := q.client.ListQueues(ctx,
		&sqs.ListQueuesInput{QueueNamePrefix: aws.String(q.config.Prefix + prefix)})
	if err != nil {
		return nil, fmt.Errorf("listing the queues: %w", meaning(err))
	}
	names := make([]string, len(out.QueueUrls))
	for i, url := range out.QueueUrls {
		names[i] = strings.TrimPrefix(url[strings.LastIndexByte(url, '/')+1:], q.config.Prefix)
	}
	return names, nil
}

// ReplyTo returns a queue of the list.
func (q *Queues) ReplyTo(name string) (port.Queue, error) {
	if !slices.Contains(q.config.ReplyTo, name) {
		return nil, fmt.Errorf("reply-to %.100q is not in the list that was deployed: %w", name,
			port.ErrNotFound)
	}
	return q.Queue(name)
}
