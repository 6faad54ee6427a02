package agenttest

import (
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

	queues *agentQueues
	server *http.Server
	url    string
	served sync.WaitGroup
}

const usualPatience = 30 * time.Second

// Attach serves the queues of an agent on a free port of 127.0.0.1 until Close is called. Start the agent
// with the result of URL as its endpoint.
func Attach(ctx context.Context, name string) (*Outside, error) {
	queues, err := newQueues(name)
	var lc net.ListenConfig
	listener, errListen := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err := errors.Join(err, errListen); err != nil {
		return nil, fmt.Errorf("agenttest: %w", err)
	}
	o := &Outside{Patience: usualPatience, queues: queues, url: "http://" + listener.Addr().String()}
	o.server = &http.Server{Handler: sqsproto.New(sqsproto.Config{Queues: queues.all})}
	o.served.Go(func() { _ = o.server.Serve(listener) })
	return o, nil
}

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
	o.queues.patience = o.Patience
	o.queues.place = o.url
	return find(ctx, o.queues, nil, probe)
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

// agentQueues holds the queues of one agent, in memory.
type agentQueues struct {
	name                          string
	place                         string // where the agent finds the queues
	patience                      time.Duration
	all                           *memory.Queues
	requests, replies, quarantine port.Queue
}

func newQueues(name string) (*agentQueues, error) {
	q := &agentQueues{name: name, place: "these queues", patience: usualPatience}
	configs := []memory.QueueConfig{{Name: port.Requests(name)}, {Name: port.Replies}, {Name: port.Quarantine}}
	var errs [4]error
	q.all, errs[0] = memory.NewQueues(port.ClockFunc(time.Now), configs)
	if errs[0] == nil {
		q.requests, errs[1] = q.all.Queue(port.Requests(name))
		q.replies, errs[2] = q.all.Queue(port.Replies)
		q.quarantine, errs[3] = q.all.Queue(port.Quarantine)
	}
	return q, errors.Join(errs[:]...)
}

// handle puts the requests into the queue and waits until the agent has deleted them all. An agent
// sends each reply before it deletes the request, so all replies have come by then.
func (q *agentQueues) handle(ctx context.Context, requests []*message.Request) ([]*message.Reply, error) {
	latest := time.Now()
	for _, r := range requests {
		if r.StopBy.Std().After(latest) {
			latest = r.StopBy.Std()
		}
	}
	silent := fmt.Errorf(
		"%w within %s after their time: is %s attached to %s, and does it delete what it has handled?",
		ErrSilent, q.patience, q.name, q.place)
	ctx, cancel := context.WithDeadlineCause(ctx, latest.Add(q.patience), silent)
	defer cancel()
	_, _ = q.taken(ctx) // replies that came too late for an earlier trial
	for _, r := range requests {
		body, err := r.Encode()
		if err == nil {
			err = q.requests.Send(ctx, []port.Message{{Body: body}})[0]
		}
		if err != nil {
			return nil, errors.Join(context.Cause(ctx), err)
		}
	}
	for {
		depth, err := q.requests.Depth(ctx)
		if err == nil && depth == (port.Depth{}) {
			return q.taken(ctx)
		}
		if port.Sleep(ctx, 2*time.Millisecond) != nil || err != nil {
			return nil, errors.Join(context.Cause(ctx), err)
		}
	}
}

// taken empties the queues of replies and quarantine.
func (q *agentQueues) taken(ctx context.Context) (replies []*message.Reply, err error) {
	for _, queue := range []port.Queue{q.replies, q.quarantine} {
		for {
			deliveries, errReceive := queue.Receive(ctx, port.MaxBatch, 0, time.Hour)
			err = errors.Join(err, errReceive)
			if len(deliveries) == 0 {
				break
			}
			for _, d := range deliveries {
				r, errReply := message.Of[message.Reply](d)
				switch {
				case queue == q.quarantine:
					body, _ := d.Bytes()
					err = errors.Join(err, fmt.Errorf("the agent could not read its request: %.500s", body))
				case errReply != nil:
					err = errors.Join(err, fmt.Errorf("a reply of the agent cannot be read: %w", errReply))
				default:
					replies = append(replies, r)
				}
				err = errors.Join(append(queue.Delete(ctx, []string{d.Receipt}), err)...)
			}
		}
	}
	return replies, err
}
