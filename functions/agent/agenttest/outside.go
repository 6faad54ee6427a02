package agenttest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/dev/sqsproto"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// ErrSilent means that the agent did not delete its requests in time. The possible causes:
//   - The agent does not receive requests from the queue.
//   - The agent returns requests to the queue.
//   - The agent does not delete handled requests.
var ErrSilent = errors.New("the agent did not finish with its requests")

// Outside is an agent in a separate process, in any language. The agent takes requests from the queue
// requests-<name> and sends replies to the queue replies. The test's process serves these queues in
// the protocol of SQS. Do not call Find or Earns concurrently.
type Outside struct {
	// Patience is how long the agent may take to delete a trial's requests after their stopBy. Attach sets
	// Patience to 30 s.
	Patience time.Duration

	name   string
	queue  port.Queue
	server *http.Server
	url    string
	served sync.WaitGroup

	mu      sync.Mutex
	replies []*message.Reply
	lost    error // errors of unreadable replies and of messages to quarantine
}

const usualPatience = 30 * time.Second

// Attach serves the queues of an agent on a free port of 127.0.0.1 until Close is called. Start the agent
// with the result of URL as its endpoint.
func Attach(ctx context.Context, name string) (*Outside, error) {
	requests := port.Requests(name)
	queues, err := memory.NewQueues(port.ClockFunc(time.Now), []memory.QueueConfig{{Name: requests}})
	var lc net.ListenConfig
	listener, errListen := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err := errors.Join(err, errListen); err != nil {
		return nil, fmt.Errorf("agenttest: %w", err)
	}
	o := &Outside{name: name, Patience: usualPatience}
	o.queue, _ = queues.Queue(requests) // this cannot fail, because NewQueues has made the queue
	o.url = "http://" + listener.Addr().String()
	o.server = &http.Server{Handler: sqsproto.New(sqsproto.Config{
		Queues: served{queues, requests},
		Sinks:  map[string]sqsproto.Sink{port.Replies: o.takeReplies, port.Quarantine: o.takeQuarantine},
	})}
	o.served.Go(func() { _ = o.server.Serve(listener) })
	return o, nil
}

// served lists the names of three queues. The queue of requests is in memory. The sinks receive
// the messages that the agent sends to replies and quarantine.
type served struct {
	*memory.Queues
	name string
}

func (s served) QueueNames() []string { return []string{s.name, port.Replies, port.Quarantine} }

// URL returns the endpoint of the queues. Set AWS_ENDPOINT_URL_SQS to this endpoint for the agent: the
// AWS SDKs of all languages read the variable. The endpoint accepts any credentials and any Region.
func (o *Outside) URL() string { return o.url }

// Close stops serving the queues.
func (o *Outside) Close() {
	_ = o.server.Close()
	o.served.Wait()
}

// Find runs the trials that are possible with an agent in a separate process, and returns their
// results. It leaves out the trials that lose responses between the agent and its service.
func (o *Outside) Find(ctx context.Context, probe Probe) (Report, error) {
	return find(ctx, o.name, o, probe)
}

// Earns runs the trials of Find and returns their results. It fails the test, with the reasons, if the
// agent earns a lower grade than want.
func (o *Outside) Earns(t testing.TB, probe Probe, want core.Grade) Report {
	t.Helper()
	r, err := o.Find(t.Context(), probe)
	if err != nil {
		t.Fatal(err)
	}
	return judge(t, r, probe, want)
}

func (o *Outside) takeReplies(_ context.Context, bodies [][]byte) []error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, body := range bodies {
		r, err := message.Decode[message.Reply](body)
		if err != nil {
			o.lost = errors.Join(o.lost, fmt.Errorf("a reply of the agent cannot be read: %w", err))
			continue
		}
		o.replies = append(o.replies, r)
	}
	return make([]error, len(bodies))
}

func (o *Outside) takeQuarantine(_ context.Context, bodies [][]byte) []error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lost = errors.Join(o.lost, fmt.Errorf("the agent could not read its request: %.500s", bodies[0]))
	return make([]error, len(bodies))
}

// handle puts the requests into the queue and waits until the agent has deleted them all. An agent
// sends each reply before it deletes the request, so all replies have come by then.
func (o *Outside) handle(b *bench, requests []*message.Request) ([]*message.Reply, error) {
	messages := make([]port.Message, len(requests))
	latest := time.Now()
	for i, r := range requests {
		body, err := r.Encode()
		if err != nil {
			return nil, err
		}
		messages[i] = port.Message{Body: body}
		if r.StopBy.Std().After(latest) {
			latest = r.StopBy.Std()
		}
	}
	o.mu.Lock()
	o.replies = nil
	o.lost = nil
	o.mu.Unlock()
	ctx, cancel := context.WithDeadline(b.ctx, latest.Add(o.Patience))
	defer cancel()
	for len(messages) > 0 {
		n := min(len(messages), port.MaxBatch)
		if err := errors.Join(o.queue.Send(ctx, messages[:n])...); err != nil {
			return nil, cmp.Or(o.ended(ctx, b), err)
		}
		messages = messages[n:]
	}
	tick := time.NewTicker(2 * time.Millisecond)
	for {
		depth, err := o.queue.Depth(ctx)
		if err := cmp.Or(o.ended(ctx, b), err); err != nil {
			return nil, err
		}
		if depth == (port.Depth{}) {
			break
		}
		<-tick.C
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.replies, o.lost
}

func (o *Outside) ended(ctx context.Context, b *bench) error {
	switch {
	case b.ctx.Err() != nil:
		return context.Cause(b.ctx)
	case ctx.Err() != nil:
		return fmt.Errorf(
			"%w within %s after their time: is %s attached to %s, and does it delete what it has handled?",
			ErrSilent, o.Patience, o.name, o.url)
	}
	return nil
}
