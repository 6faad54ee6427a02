package agenttest

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// bench runs one trial of an agent, with a key that no other trial uses.
type bench struct {
	ctx    context.Context
	probe  Probe
	queues *agentQueues
	grade  core.Grade
	key    string
	order  string
	wrong  string // first fault that the trial found; "" means no fault
	broken error  // reason why the trial could not run; nil means no such reason

	before  []string          // steps before the present one
	outputs []json.RawMessage // outputs of the requests that were answered done

	mu        sync.Mutex
	calls     int
	hide      bool // operations return errLost instead of the service's response
	lose      bool // the agent's replies get lost
	stall     bool // operations wait for the end of their context before they call the service
	unwatched bool // the bench does not count effects before and after a call
	alone     bool // calls do not overlap, so the bench can count effects before and after each call
}

func newBench(ctx context.Context, queues *agentQueues, probe Probe, grade core.Grade) *bench {
	order := "agenttest-" + strings.ToLower(rand.Text())
	return &bench{
		ctx: ctx, probe: probe, queues: queues, grade: grade, order: order,
		key: core.Key(order, 0, "step"),
	}
}

// start runs the operations of an agent in this process. As in production, a Worker handles the requests. Each trial
// has its own worker, and so its own ledger.
func (b *bench) start(operations worker.Operations) (stop func(), err error) {
	w, err := worker.New(worker.Config{
		Agent: b.queues.name, Operations: b.around(operations), Replies: b.queues.replies,
		Quarantine: b.queues.quarantine, Ledger: memory.NewLedger(), Clock: port.ClockFunc(time.Now),
		Retry: worker.Retry{Tries: 1}, Breaker: worker.Breaker{Off: true},
	})
	if err != nil {
		return nil, err
	}
	pump := worker.Pump{Queue: b.queues.requests, Worker: w, Concurrency: b.probe.Together, Batch: port.MaxBatch}
	ctx, cancel := context.WithCancel(b.ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = pump.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}, nil
}

func (b *bench) around(ops worker.Operations) worker.Operations {
	all := worker.Operations{}
	for name, op := range ops {
		all[name] = worker.Operation{
			Check: op.Check,
			Run: func(ctx context.Context, c worker.Call) (any, error) {
				return b.call(ctx, op.Run, c)
			},
		}
	}
	return all
}

var errLost = errors.New("agenttest: the service's answer was lost")

func (b *bench) call(ctx context.Context, run worker.Func, c worker.Call) (any, error) {
	b.mu.Lock()
	b.calls++
	hide := b.hide
	stall := b.stall
	alone := b.alone && !b.unwatched
	b.mu.Unlock()
	if stall {
		<-ctx.Done()
	}
	before := 0
	if alone {
		before = b.probe.Effects(b.key)
	}
	out, err := run(ctx, c)
	if f := (*worker.Failure)(nil); alone && errors.As(err, &f) && f.NoEffect {
		if after := b.probe.Effects(b.key); after != before {
			b.fail("%s says NoEffect (%v), and the effects went from %d to %d", c.Name, err, before, after)
		}
	}
	if hide {
		return nil, errLost
	}
	return out, err
}

func (b *bench) fail(format string, args ...any) {
	b.wrong = cmp.Or(b.wrong, fmt.Sprintf(format, args...))
}

func (b *bench) request(op core.Operation, attempt int) *message.Request {
	now := core.TimeOf(time.Now())
	r := &message.Request{Schema: message.Schema, SendRequest: core.SendRequest{
		Agent: b.queues.name, OrderID: b.order, Step: "step", Attempt: attempt, Operation: op, Name: b.probe.Do,
		Grade: b.grade, Key: b.key,
		Timeout: core.DurationOf(b.probe.Timeout), ClaimedAt: now, Input: b.probe.Input,
	}}
	if op == core.UndoOp {
		r.Name = b.probe.Undo
		r.Input = b.probe.UndoInput
	}
	r.StopBy = now.Add(2 * r.Timeout)
	r.CompleteBy = r.StopBy
	return r
}

func (b *bench) send(requests ...*message.Request) []*message.Reply {
	if b.broken != nil {
		return nil
	}
	b.mu.Lock()
	b.alone = len(requests) == 1
	b.mu.Unlock()
	replies, err := b.queues.handle(b.ctx, requests)
	b.broken = err
	for _, r := range replies {
		if !slices.ContainsFunc(requests, func(q *message.Request) bool { return answers(r, q) }) {
			b.fail("a reply does not have the task, run, step, attempt, operation and agent of its request")
		}
	}
	if b.lose {
		return nil
	}
	return replies
}

// answers reports whether a reply has the identity of a request (P3, a reply names request and sender).
func answers(r *message.Reply, q *message.Request) bool {
	return r.OrderID == q.OrderID && r.Run == q.Run && r.Step == q.Step && r.Attempt == q.Attempt &&
		r.Operation == q.Operation && cmp.Or(r.Agent, q.Agent) == q.Agent
}

// done checks that a request was answered done.
func (b *bench) done(replies []*message.Reply, what string) {
	switch {
	case len(replies) == 0:
		b.fail("%s was not answered", what)
	case replies[0].Outcome == core.OutcomeDone:
		b.outputs = append(b.outputs, replies[0].Output)
	case replies[0].Error == nil:
		b.fail("%s was answered %s without an error", what, replies[0].Outcome)
	default:
		b.fail("%s was answered %s: %s: %s", what, replies[0].Outcome, replies[0].Error.Code, replies[0].Error.Message)
	}
}
