package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Worker handles the requests of one agent. It is safe for concurrent use.
type Worker struct {
	Config
	guards   sync.Map // *guard of each operation, by name
	counters counters
}

// New checks the configuration and fills in the defaults. The error lists every problem.
func New(c Config) (*Worker, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	return &Worker{Config: c}, nil
}

// Verdict states what happens to a delivery.
type Verdict struct {
	Delete bool
	After  time.Duration // wait until an undeleted message comes again; 0 means port.Delivery.Backoff
}

var ack = Verdict{Delete: true}

// Batch handles the deliveries concurrently. It returns those that must come again. A delivery does not
// affect the other deliveries, but its reply waits up to Config.Linger for theirs.
func (w *Worker) Batch(ctx context.Context, deliveries []port.Delivery) (again []port.Extension) {
	verdicts := make([]Verdict, len(deliveries))
	b := &batch{
		Sender: w.Replies, linger: w.Linger, came: make(chan waiting), ended: make(chan struct{}),
		closed: make(chan struct{}),
	}
	replies := port.Sender(b)
	if w.Linger == 0 {
		replies = w.Replies
	}
	for i := range deliveries {
		go func() {
			defer func() { b.ended <- struct{}{} }()
			verdicts[i] = w.handle(ctx, deliveries[i], replies)
		}()
	}
	b.collect(len(deliveries))
	for i, v := range verdicts {
		if !v.Delete {
			again = append(again, port.Extension{Receipt: deliveries[i].Receipt, For: v.After})
		}
	}
	return again
}

// Handle handles one delivery and sends its reply. It never panics. The caller applies the verdict. Handle
// starts no goroutine. It waits only for the queues, the ledger, the operation and the pauses between tries.
func (w *Worker) Handle(ctx context.Context, d port.Delivery) Verdict {
	return w.handle(ctx, d, w.Replies)
}

func (w *Worker) handle(ctx context.Context, d port.Delivery, replies port.Sender) (v Verdict) {
	w.counters.inFlight.Add(1)
	defer w.counters.inFlight.Add(-1)
	defer func() {
		if p := recover(); p != nil {
			w.counters.panics.Add(1)
			w.Log.Error("handling a request panicked; it is returned to the queue", "agent", w.Agent,
				"messageId", d.ID,
				"panic", core.RedactText(fmt.Sprint(p)), "stack", string(debug.Stack()))
			v = w.nack(0)
		}
	}()
	received := w.Clock.Now()
	req, err := message.Of[message.Request](d)
	switch {
	case errors.Is(err, message.ErrNewer):
		w.Log.Warn("a request of a newer schema is returned to the queue; deploy the newer agent", "agent",
			w.Agent, "messageId", d.ID)
		return w.nack(0)
	case err != nil:
		return w.quarantine(ctx, d, err)
	}
	h := handling{w: w, replies: replies, req: req, received: received, times: d.Received}
	return h.run(ctx)
}

func (w *Worker) nack(after time.Duration) Verdict {
	w.counters.back.Add(1)
	return Verdict{After: after}
}

func (w *Worker) quarantine(ctx context.Context, d port.Delivery, why error) Verdict {
	q := message.Quarantine(port.Requests(w.Agent), d, why.Error(), core.TimeOf(w.Clock.Now()))
	if err := w.send(ctx, w.Quarantine, q, w.SendTimeout); err != nil {
		w.Log.Error("an unreadable request could not be sent to quarantine; it is returned to the queue",
			"agent", w.Agent, "messageId", d.ID, "error", err)
		return w.nack(0)
	}
	w.counters.quarantined.Add(1)
	w.Log.Warn("an unreadable request went to quarantine", "agent", w.Agent, "messageId", d.ID, "sha256",
		q.SHA256, "reason", q.Reason)
	return ack
}

func (w *Worker) send(ctx context.Context, q port.Sender, v port.Value, within time.Duration) error {
	ctx, cancel := outlasting(ctx, within)
	defer cancel()
	return q.Send(ctx, []port.Message{{Value: v}})[0]
}

// outlasting returns a context that ends after the duration within, and does not end with ctx. If within is
// negative, the context never ends.
func outlasting(ctx context.Context, within time.Duration) (context.Context, context.CancelFunc) {
	ctx = context.WithoutCancel(ctx)
	if within < 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, within)
}

// about returns the fields of a log line about a request. The fields are IDs, never bodies. The Scheduler's
// log lines use the same keys.
func about(agent string, req *message.Request) slog.Attr {
	return slog.Group("", "agent", agent, "order", req.OrderID, "run", req.Run, "step", req.Step,
		"attempt", req.Attempt, "operation", string(req.Operation), "name", req.Name)
}
