package sqs

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Config configures Queues.
type Config struct {
	// URLs holds the queues' addresses by logical name, as deployed. The optional key port.High(NAME) holds
	// the address of a second queue, for the high-priority messages of the queue NAME. If the key exists,
	// Depth returns the sum of both queues (P46, priority changes the order of requests only).
	URLs map[string]string
	// LookUp makes Queues ask SQS for the address of a name that URLs does not contain. The name in SQS is
	// Prefix + name. If LookUp is false, Queues returns port.ErrNotFound for such a name.
	LookUp bool
	Prefix string
	// ReplyTo lists the logical names that an order may use as its reply-to.
	ReplyTo []string
}

// Queues finds queues by their logical names. It is safe for concurrent use.
type Queues struct {
	aws    aws.Config
	client *sqs.Client
	config Config

	mu    sync.Mutex
	known map[string]*Queue
}

// New returns Queues. The parameter c should come from awsclient.Load. The SDK's client repeats an attempt
// that gets no response within wire.AttemptTimeout, so SQS may receive a message twice.
func New(c aws.Config, config Config) *Queues {
	return &Queues{aws: c, client: clientOf(c), config: config, known: map[string]*Queue{}}
}

func clientOf(c aws.Config) *sqs.Client {
	return sqs.NewFromConfig(c, func(o *sqs.Options) {
		o.APIOptions = append(o.APIOptions, wire.LimitAttempts(wire.AttemptTimeout))
	})
}

// placed returns a client for the Region of the queue with this URL, such as that of a reply-to. The SDK sends a
// request to the Region of its client, and SQS finds the queue there by the account and the name in the URL.
func (q *Queues) placed(url string) *sqs.Client {
	host := queueHost.FindStringSubmatch(url)
	if host == nil || host[1] == q.aws.Region {
		return q.client
	}
	c := q.aws
	c.Region = host[1]
	return clientOf(c)
}

var (
	namePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)
	queueHost   = regexp.MustCompile(`^https://sqs\.([a-z0-9-]+)\.`)
)

// Queue returns a *Queue. The first call for a name may ask SQS for the address. If SQS is unavailable, the
// error wraps port.ErrUnavailable.
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
	found := &Queue{client: q.placed(url), name: name, url: url, high: q.config.URLs[port.High(name)]}
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

// ReplyTo returns the queue with the given name. It returns port.ErrNotFound for a name that is not in
// Config.ReplyTo.
func (q *Queues) ReplyTo(name string) (port.Sender, error) {
	if !slices.Contains(q.config.ReplyTo, name) {
		return nil, fmt.Errorf("reply-to %.100q is not in the list that was deployed: %w", name,
			port.ErrNotFound)
	}
	return q.Queue(name)
}
