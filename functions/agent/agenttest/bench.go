package agenttest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/memory"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// bench is one trial: a worker with the operations, and a key of its own.
type bench struct {
	t      testing.TB
	probe  Probe
	grade  core.Grade // that the requests carry
	key    string
	order  string
	worker *worker.Worker
	wrong  string // what was found first

	mu      sync.Mutex
	calls   int
	replies []*message.Reply
	hide    bool // the service's answers are lost on their way to the agent
	lose    bool // the agent's replies are not taken
	stall   bool // the agent is so slow that its time is over before it calls
	alone   bool // one call at a time: the probe can be asked around it
}

const agentName = "agent-under-test"

func newBench(t testing.TB, ops worker.Operations, probe Probe, grade core.Grade) (*bench, error) {
	order := "agenttest-" + strings.ToLower(rand.Text())
	b := &bench{t: t, probe: probe, grade: grade, order: order, key: core.Key(order, 0, "step"), alone: true}
	var err error
	b.worker, err = worker.New(worker.Config{
		Agent: agentName, Operations: b.around(ops), Replies: outbox{b: b}, Quarantine: outbox{b: b},
		Ledger: memory.NewLedger(), Clock: port.ClockFunc(time.Now), Retry: worker.Retry{Tries: 1}, Breaker: worker.Breaker{Off: true},
	})
	return b, err
}

// around puts the trial's faults between the worker and the operations.
func (b *bench) around(ops worker.Operations) worker.Operations {
	all := worker.Operations{}
	for name, op := range ops {
		all[name] = worker.Operation{Check: op.Check, Run: func(ctx context.Context, c worker.Call) (any, error) {
			return b.call(ctx, op.Run, c)
		}}
	}
	return all
}

var errLost = errors.New("agenttest: the service's answer was lost")

func (b *bench) call(ctx context.Context, run worker.Func, c worker.Call) (any, error) {
	b.mu.Lock()
	b.calls++
	hide, stall, alone := b.hide, b.stall, b.alone
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

// fail keeps the first thing that is wrong.
func (b *bench) fail(format string, args ...any) {
	if b.wrong == "" {
		b.wrong = fmt.Sprintf(format, args...)
	}
}

func (b *bench) request(op core.Operation, attempt int) *message.Request {
	now := core.TimeOf(time.Now())
	r := &message.Request{Schema: message.Schema, SendRequest: core.SendRequest{
		Agent: agentName, OrderID: b.order, Step: "step", Attempt: attempt, Operation: op, Name: b.probe.Do, Grade: b.grade, Key: b.key,
		Timeout: core.DurationOf(b.probe.Timeout), ClaimedAt: now, Input: b.probe.Input,
	}}
	if op == core.UndoOp {
		r.Name, r.Input = b.probe.Undo, b.probe.UndoInput
	}
	r.StopBy = now.Add(2 * r.Timeout)
	r.CompleteBy = r.StopBy
	return r
}

// send lets the worker handle requests, all at the same time, and answers the replies.
func (b *bench) send(requests ...*message.Request) []*message.Reply {
	deliveries := make([]port.Delivery, len(requests))
	for i, r := range requests {
		body, err := r.Encode()
		if err != nil {
			b.t.Fatalf("agenttest: %v", err)
		}
		deliveries[i] = port.Delivery{Message: port.Message{Body: body}, ID: fmt.Sprint("m", i), Receipt: fmt.Sprint("r", i), Received: 1}
	}
	b.mu.Lock()
	b.replies, b.alone = nil, len(requests) == 1
	b.mu.Unlock()
	b.worker.Batch(b.t.Context(), deliveries)
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.replies
}

// do and undo send one request; the answer is its reply, nil for silence.
func (b *bench) do(attempt int) *message.Reply { return first(b.send(b.request(core.Do, attempt))) }

func (b *bench) undo(attempt int) *message.Reply {
	return first(b.send(b.request(core.UndoOp, attempt)))
}

func first(replies []*message.Reply) *message.Reply {
	if len(replies) == 0 {
		return nil
	}
	return replies[0]
}

// many sends copies of a request at the same time.
func (b *bench) many(op core.Operation, attempt int) []*message.Reply {
	r := b.request(op, attempt)
	copies := make([]*message.Request, b.probe.Together)
	for i := range copies {
		copies[i] = r
	}
	return b.send(copies...)
}

// done expects a reply that says done.
func (b *bench) done(r *message.Reply, what string) {
	switch {
	case r == nil:
		b.fail("%s was not answered", what)
	case r.Outcome != core.OutcomeDone:
		b.fail("%s was answered %s: %s: %s", what, r.Outcome, r.Error.Code, r.Error.Message)
	}
}

// effects expects how many effects stand now.
func (b *bench) effects(want int, when string) {
	if got := b.probe.Effects(b.key); got != want {
		b.fail("%s there are %d effects, not %d", when, got, want)
	}
}

// outbox takes the worker's replies, or does not.
type outbox struct {
	port.Queue
	b *bench
}

func (outbox) Name() string { return port.Replies }

// Send takes one reply.
func (o outbox) Send(_ context.Context, messages []port.Message) []error {
	o.b.mu.Lock()
	defer o.b.mu.Unlock()
	if o.b.lose {
		return []error{port.ErrUnavailable}
	}
	r, ok := messages[0].Value.(*message.Reply)
	if !ok {
		return []error{fmt.Errorf("agenttest: a message of the type %T", messages[0].Value)}
	}
	o.b.replies = append(o.b.replies, r)
	return []error{nil}
}
