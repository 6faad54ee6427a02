package worker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// bench is a worker between queues in memory.
type bench struct {
	t      *testing.T
	clock  port.Timer
	queues *memory.Queues
	worker *worker.Worker
	log    *bytes.Buffer
}

func newBench(t *testing.T, clock port.Timer, c worker.Config) *bench {
	t.Helper()
	queues, err := memory.NewQueues(clock,
		[]memory.QueueConfig{{Name: "requests-payment"}, {Name: port.Replies}, {Name: port.Quarantine}})
	require.NoError(t, err)
	b := &bench{t: t, clock: clock, queues: queues, log: &bytes.Buffer{}}
	c.Agent = "payment"
	c.Clock = clock
	if c.Replies == nil {
		c.Replies = b.queue(port.Replies)
	}
	if c.Quarantine == nil {
		c.Quarantine = b.queue(port.Quarantine)
	}
	if c.Retry.Tries == 0 {
		c.Retry.Tries = 1
	}
	c.Log = slog.New(slog.NewTextHandler(b.log, nil))
	b.worker, err = worker.New(c)
	require.NoError(t, err)
	return b
}

func (b *bench) queue(name string) port.Queue {
	q, err := b.queues.Queue(name)
	require.NoError(b.t, err)
	return q
}

// taken receives all messages of a queue.
func (b *bench) taken(name string) []port.Delivery {
	b.t.Helper()
	ds, err := b.queue(name).Receive(context.Background(), 100, 0, time.Minute)
	require.NoError(b.t, err)
	return ds
}

func (b *bench) replies() []*message.Reply {
	b.t.Helper()
	var all []*message.Reply
	for _, d := range b.taken(port.Replies) {
		body, err := d.Bytes()
		require.NoError(b.t, err)
		r, err := message.Decode[message.Reply](body)
		require.NoError(b.t, err)
		all = append(all, r)
	}
	return all
}

// reply returns the only reply.
func (b *bench) reply() *message.Reply {
	b.t.Helper()
	all := b.replies()
	require.Len(b.t, all, 1)
	return all[0]
}

// request is claimed at the clock's time, has 10 s and one minute until stopBy.
func request(now time.Time) *message.Request {
	at := core.TimeOf(now)
	return &message.Request{Schema: 1, SendRequest: core.SendRequest{
		Agent: "payment", OrderID: "o-1", Run: 1, Step: "pay", Attempt: 1, Operation: core.Do, Name: "charge",
		Grade: core.Idempotent,
		Key:   "o-1/1/pay", Timeout: 10 * core.Second, ClaimedAt: at, CompleteBy: at.Add(core.Minute),
		StopBy: at.Add(core.Minute),
		Input:  json.RawMessage(`{"amount":1}`),
	}}
}

func delivery(v *message.Request) port.Delivery {
	return port.Delivery{Message: port.Message{Value: v}, ID: "m-1", Receipt: "r-1", Received: 1}
}

func charge(f worker.Func) worker.Operations { return worker.Operations{"charge": {Run: f}} }

func always(out any, err error) worker.Func {
	return func(context.Context, worker.Call) (any, error) { return out, err }
}

// counting is always, and counts its calls.
func counting(calls *int, out any, err error) worker.Func {
	return func(context.Context, worker.Call) (any, error) {
		*calls++
		return out, err
	}
}

// P3, P32: the reply echoes the request and says how long it waited.
func TestTheReplyEchoes(t *testing.T) {
	clock := memory.NewClock(noon)
	var got worker.Call
	b := newBench(t, clock,
		worker.Config{Operations: charge(func(_ context.Context, c worker.Call) (any, error) {
			got = c
			return map[string]int{"id": 7}, nil
		})})
	req := request(noon)
	req.Attempt = 4
	req.Resolved = &core.Resolved{Fact: core.Happened, Command: 2}
	req.Trace = "trace"
	clock.Advance(1500 * time.Millisecond)
	require.True(t, b.worker.Handle(context.Background(), delivery(req)).Delete)
	want := message.Reply{
		Schema: 1, OrderID: "o-1", Run: 1, Step: "pay", Agent: "payment", Attempt: 4,
		Operation: core.Do,
		Outcome:   core.OutcomeDone, Output: json.RawMessage(`{"id":7}`), Waited: 1500,
	}
	require.Equal(t, fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", *b.reply()))
	if got.Key != "o-1/1/pay" || got.Try != 1 || got.Resolved == nil || got.Trace != "trace" ||
		!got.StopBy.Equal(noon.Add(time.Minute)) ||
		!got.Deadline.Equal(noon.Add(11500*time.Millisecond)) || string(got.Input) != `{"amount":1}` {
		t.Errorf("called with %+v", got)
	}
}

func TestWaitedIsNeverNegative(t *testing.T) {
	b := newBench(t, memory.NewClock(noon.Add(-time.Hour)),
		worker.Config{Operations: charge(always(nil, nil))})
	b.worker.Handle(context.Background(), delivery(request(noon)))
	require.Zero(t, b.reply().Waited)
}

func TestOutcomes(t *testing.T) {
	boom := errors.New("boom")
	tests := map[string]struct {
		run     worker.Func
		outcome core.Outcome
		code    string
		text    string
		after   core.Duration
	}{
		"unclassified": {always(nil, boom), core.OutcomeRetryLater, "failed", "boom", 0},
		"permanent":    {always(nil, worker.Permanent(boom)), core.OutcomeFailed, "failed", "boom", 0},
		"permanent, wrapped": {
			always(nil, fmt.Errorf("pay: %w", worker.WithCode(worker.Permanent(boom), "no-funds"))),
			core.OutcomeFailed, "no-funds", "pay: boom", 0,
		},
		"transient again": {
			always(nil, worker.Transient(worker.Permanent(boom))), core.OutcomeRetryLater, "failed", "boom",
			0,
		},
		"retry after": {
			always(nil, worker.RetryAfter(boom, time.Hour)), core.OutcomeRetryLater, "failed", "boom",
			3600_000,
		},
		"no effect": {
			always(nil, worker.NoEffect(worker.Permanent(boom))), core.OutcomeFailed, "failed", "boom", 0,
		},
		"a panic": {
			func(context.Context, worker.Call) (any, error) { panic("secret") }, core.OutcomeRetryLater,
			"panic", "log", 0,
		},
		"a failure without an error": {
			always(nil, &worker.Failure{Permanent: true, Code: "no-funds"}), core.OutcomeFailed, "no-funds", "no-funds", 0,
		},
		"an error without a text": {
			always(nil, (*worker.Failure)(nil)), core.OutcomeRetryLater, "panic", "log", 0,
		},
		"too large": {
			always(strings.Repeat("x", worker.MaxOutput), nil), core.OutcomeFailed, "output-too-large",
			"49152", 0,
		},
		"large enough": {
			always(strings.Repeat("x", worker.MaxOutput-2), nil), core.OutcomeDone, "", "", 0,
		},
		"no JSON": {
			always(json.RawMessage("{"), nil), core.OutcomeFailed, "output", "not JSON", 0,
		},
		"not in UTF-8": {
			always(json.RawMessage("\"a\xffb\""), nil), core.OutcomeFailed, "output",
			"output: byte 2 is not UTF-8", 0,
		},
		"a text that is not UTF-8": {
			always(map[string][]string{"a": {"\xff"}}, nil), core.OutcomeFailed,
			"output", "output.a.0: byte", 0,
		},
		"half of a pair": {
			always(json.RawMessage(`{"n":"\ud83d"}`), nil), core.OutcomeFailed, "output",
			"the operation was done, but its output cannot be kept: output.n: half of a surrogate pair", 0,
		},
		"a key twice": {
			always(json.RawMessage(`{"n":{"a":1,"a":2}}`), nil), core.OutcomeFailed, "output",
			"output.n.a: the key stands twice", 0,
		},
		"an error that is not UTF-8": {
			always(nil, errors.New("a\xffb")), core.OutcomeRetryLater, "failed",
			"a\ufffdb", 0,
		},
		"nested too deep": {
			always(json.RawMessage(strings.Repeat("[", 65)+strings.Repeat("]", 65)), nil), core.OutcomeFailed,
			"output", "deeper than 64 levels", 0,
		},
		"nested deep enough": {always(json.RawMessage(strings.Repeat("[", 64)+strings.Repeat("]", 64)),
			nil), core.OutcomeDone, "", "", 0},
		"cannot be JSON": {
			always(make(chan int), nil), core.OutcomeFailed, "output",
			"output: a value of the type chan int cannot be written as JSON", 0,
		},
		"a very long text": {
			always(nil, errors.New(strings.Repeat("é", 5000))), core.OutcomeRetryLater,
			"failed", "…", 0,
		},
		"a very long code": {
			always(nil, worker.WithCode(boom, strings.Repeat("c", 500))),
			core.OutcomeRetryLater, strings.Repeat("c", 64), "boom", 0,
		},
		"64 bytes of code": {
			always(nil, worker.WithCode(boom, strings.Repeat("c", 64))),
			core.OutcomeRetryLater, strings.Repeat("c", 64), "boom", 0,
		},
		"an empty code": {
			always(nil, worker.WithCode(boom, "")), core.OutcomeRetryLater, "failed", "boom", 0,
		},
		"a deadline and a code": {
			always(nil, worker.WithCode(context.DeadlineExceeded, "slow")), core.OutcomeRetryLater, "slow", "", 0,
		},
		"a code with a line break": {
			always(nil, worker.WithCode(boom, "a\nb")), core.OutcomeRetryLater, "a b", "boom", 0,
		},
		"a wait below zero": {
			always(nil, worker.RetryAfter(boom, -time.Second)), core.OutcomeRetryLater, "failed", "boom", 0,
		},
		"its own deadline": {
			always(nil, fmt.Errorf("calling: %w", context.DeadlineExceeded)),
			core.OutcomeRetryLater, "timeout", "calling", 0,
		},
		"nothing, nil of error": {always(nil, worker.Permanent(nil)), core.OutcomeDone, "", "", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, memory.NewClock(noon), worker.Config{Operations: charge(tt.run)})
			require.True(t, b.worker.Handle(context.Background(), delivery(request(noon))).Delete)
			r := b.reply()
			require.Equal(t, tt.outcome, r.Outcome)
			require.Equal(t, tt.after, r.RetryAfter)
			require.Equal(t, tt.code == "", r.Error == nil)
			if r.Error != nil && (r.Error.Code != tt.code || !strings.Contains(r.Error.Message, tt.text) ||
				len(r.Error.Message) > core.MaxMessage || strings.Contains(r.Error.Message, "secret")) {
				t.Errorf("error %+v", r.Error)
			}
		})
	}
}

func TestWhatCannotBeDone(t *testing.T) {
	b := newBench(t, memory.NewClock(noon), worker.Config{Operations: charge(always(nil, nil))})
	unknown := request(noon)
	plain := request(noon)
	unknown.Name = "chrage"
	plain.Grade = core.Plain
	for code, req := range map[string]*message.Request{"unknown-operation": unknown, "no-ledger": plain} {
		b.worker.Handle(context.Background(), delivery(req))
		r := b.reply()
		require.Equal(t, core.OutcomeRetryLater, r.Outcome, code)
		require.Equal(t, code, r.Error.Code)
	}
}

// P25: no side effect begins, and nothing is sent, from stopBy less the skew on.
func TestSilenceAfterStopBy(t *testing.T) {
	for name, tt := range map[string]struct {
		arrives, takes time.Duration // after the claim; the call's
		skew           core.Duration
		calls          int32
		replies        int // a request that comes too late gets a reply that says so
	}{
		"in time":                       {59 * time.Second, 0, 0, 1, 1},
		"at stopBy":                     {60 * time.Second, 0, 0, 0, 1},
		"long after":                    {72 * time.Hour, 0, 0, 0, 1},
		"within the skew":               {58 * time.Second, 0, 3 * core.Second, 0, 1},
		"just before the skew":          {56 * time.Second, 0, 3 * core.Second, 1, 1},
		"done after stopBy":             {59 * time.Second, 2 * time.Second, 0, 1, 0},
		"done within the skew":          {55 * time.Second, 3 * time.Second, 3 * core.Second, 1, 0},
		"an undo is held to it as well": {60 * time.Second, 0, 0, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			clock := memory.NewClock(noon)
			var calls atomic.Int32
			b := newBench(t, clock,
				worker.Config{Operations: charge(func(context.Context, worker.Call) (any, error) {
					calls.Add(1)
					clock.Advance(tt.takes)
					return nil, nil
				})})
			req := request(noon)
			req.ClockSkew = tt.skew
			if strings.HasPrefix(name, "an undo") {
				req.Operation = core.UndoOp
			}
			clock.Advance(tt.arrives)
			v := b.worker.Handle(context.Background(), delivery(req))
			replies := b.replies()
			require.True(t, v.Delete, "verdict %+v, %d replies, %d calls", v, len(replies), calls.Load())
			require.Len(t, replies, tt.replies)
			require.Equal(t, tt.calls, calls.Load())
			late := tt.calls == 0 // a late request is not called, and its reply counts no failure
			for _, r := range replies {
				require.Equal(t, late,
					r.Outcome == core.OutcomeRetryLater && r.Error.Code == core.CodeQueue && !r.NoEffect, "%v",
					r.Outcome)
			}
			dropped := int64(0)
			if late || tt.replies == 0 {
				dropped = 1
			}
			require.Equal(t, dropped, b.worker.Stats().DroppedLate)
		})
	}
}

// A request that comes again after its stopBy may have been called before, so the agent does not say that it came
// too late.
func TestALateCopyIsDropped(t *testing.T) {
	clock := memory.NewClock(noon)
	b := newBench(t, clock, worker.Config{Operations: charge(func(context.Context, worker.Call) (any, error) {
		return nil, nil
	})})
	d := delivery(request(noon))
	d.Received = 2
	clock.Advance(time.Minute)
	require.True(t, b.worker.Handle(context.Background(), d).Delete)
	require.Empty(t, b.replies())
}

// The time of one handling is the least of timeout, stopBy less skew, and the handler's own end.
func TestTimeOfOneHandling(t *testing.T) {
	for name, tt := range map[string]struct {
		timeout, skew core.Duration
		handler       time.Duration
		want          time.Duration
	}{
		"the step's timeout":   {10 * core.Second, 0, time.Hour, 10 * time.Second},
		"until stopBy":         {core.Hour, 5 * core.Second, 2 * time.Hour, 55 * time.Second},
		"the handler's itself": {10 * core.Second, 0, 4 * time.Second, 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				b := newBench(t, port.ClockFunc(time.Now),
					worker.Config{Operations: charge(func(ctx context.Context, c worker.Call) (any, error) {
						if !c.Deadline.Equal(start.Add(tt.want)) {
							t.Errorf("deadline %s after the start", c.Deadline.Sub(start))
						}
						<-ctx.Done()
						return nil, ctx.Err()
					})})
				req := request(start)
				req.Timeout = tt.timeout
				req.ClockSkew = tt.skew
				ctx, cancel := context.WithTimeout(context.Background(), tt.handler)
				defer cancel()
				b.worker.Handle(ctx, delivery(req))
				require.Equal(t, tt.want, time.Since(start))
				if name == "until stopBy" {
					require.Empty(t, b.replies())
				} else if r := b.reply(); r.Outcome != core.OutcomeRetryLater || r.Error.Code != "timeout" {
					t.Errorf("reply %+v", r)
				}
			})
		})
	}
}

// A request that cannot be read goes to quarantine, a newer one back, and the rest of the batch are
// handled as ever.
func TestABatchWithBadMessages(t *testing.T) {
	b := newBench(t, memory.NewClock(noon), worker.Config{Operations: worker.Operations{
		"charge": {Run: always(nil, nil)},
		"panic":  {Run: func(context.Context, worker.Call) (any, error) { panic("no") }},
	}})
	body := func(s string) port.Delivery {
		return port.Delivery{
			Message: port.Message{Body: []byte(s)},
			ID:      s,
		}
	}
	text, err := request(noon).Encode()
	require.NoError(t, err)
	broken := request(noon)
	broken.Name = "panic"
	newer := body(`{"schema":2,"task":7}`)
	newer.Receipt = "newer"
	again := b.worker.Batch(context.Background(), []port.Delivery{
		body("{"), delivery(request(noon)), newer, delivery(broken),
		body(`{"schema":1}`), body(string(text)),
		{Message: port.Message{Value: unencodable{}}},
	})
	require.Equal(t, []port.Extension{{Receipt: "newer"}}, again)
	outcomes := map[core.Outcome]int{}
	for _, r := range b.replies() {
		outcomes[r.Outcome]++
	}
	require.Equal(t, 2, outcomes[core.OutcomeDone])
	require.Equal(t, 1, outcomes[core.OutcomeRetryLater])
	quarantined := b.taken(port.Quarantine)
	require.Len(t, quarantined, 3)
	require.Equal(t, int64(3), b.worker.Stats().Quarantined)
	for _, d := range quarantined {
		data, err := d.Bytes()
		require.NoError(t, err)
		q, err := message.Decode[message.Quarantined](data)
		require.NoError(t, err)
		require.Equal(t, "requests-payment", q.Queue)
		require.NotEmpty(t, q.Reason)
		require.NotEmpty(t, q.SHA256)
	}
	require.NotContains(t, b.log.String(), "amount", "a body was logged")
}

type unencodable struct{}

func (unencodable) Encode() ([]byte, error) { return nil, errors.New("not to be encoded") }

// failing is a queue that takes nothing.
type failing struct {
	port.Queue
	err error
}

func (f failing) Send(_ context.Context, ms []port.Message) []error {
	errs := make([]error, len(ms))
	for i := range errs {
		errs[i] = f.err
	}
	return errs
}

func TestConfigurationsThatAreRefused(t *testing.T) {
	_, err := worker.New(worker.Config{
		Retry: worker.Retry{Tries: 50}, Breaker: worker.Breaker{Failures: -1},
		Operations: worker.Operations{"charge": {}},
	})
	for _, want := range []string{
		"no name", "no queue of replies", "no quarantine", "no clock", "50 tries",
		"-1 failures", `"charge" has no function`,
	} {
		require.ErrorContains(t, err, want)
	}
}

// Copies of one request, at the same time: of a plain service one call, of others any number with one key.
func TestDuplicatesOfAPlainRequest(t *testing.T) {
	var calls atomic.Int32
	entered := make(chan struct{}, 1)
	release := make(chan struct{})
	b := newBench(t, memory.NewClock(noon), worker.Config{
		Ledger: memory.NewLedger(),
		Operations: charge(func(context.Context, worker.Call) (any, error) {
			calls.Add(1)
			entered <- struct{}{}
			<-release
			return "once", nil
		}),
	})
	req := request(noon)
	req.Grade = core.Plain
	var first sync.WaitGroup
	first.Go(func() { b.worker.Handle(context.Background(), delivery(req)) })
	<-entered
	for range 5 {
		require.True(t, b.worker.Handle(context.Background(), delivery(req)).Delete)
	}
	require.Empty(t, b.replies())
	close(release)
	first.Wait()
	r := b.reply()
	require.EqualValues(t, 1, calls.Load())
	require.Equal(t, core.OutcomeDone, r.Outcome)
	require.EqualValues(t, 5, b.worker.Stats().InDoubt)
	b.worker.Handle(context.Background(), delivery(req))
	r = b.reply()
	require.EqualValues(t, 1, calls.Load())
	require.Equal(t, `"once"`, string(r.Output))
}
