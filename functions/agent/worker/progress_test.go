package worker_test

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// long is a request whose handling may take an hour, and reports at least once a minute.
func long(now time.Time) *message.Request {
	req := request(now)
	req.Timeout = core.Minute
	req.MaxDuration = core.Hour
	req.StopBy = req.ClaimedAt.Add(core.Hour + 10*core.Second)
	return req
}

// P43: an operation that reports goes on for longer than the step's timeout, and its reports are few.
func TestProgressGivesTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, port.ClockFunc(time.Now),
			worker.Config{Operations: charge(func(ctx context.Context, _ worker.Call) (any, error) {
				for n := range 300 {
					if err := worker.Progress(ctx, n/3, strings.Repeat("é", 150)); err != nil {
						return nil, err
					}
					time.Sleep(time.Second)
				}
				return "film", ctx.Err()
			})})
		b.worker.Handle(context.Background(), delivery(long(time.Now())))
		all := b.replies()
		require.Len(t, all, 300/20+1)
		if r := all[1]; r.Outcome != message.Progress || r.Schema != message.Schema || r.Percent != 6 ||
			r.Attempt != 1 || len(r.Note) > core.MaxNote {
			t.Errorf("%+v", r)
		}
		r := all[len(all)-1]
		require.Equal(t, core.OutcomeDone, r.Outcome)
		require.Equal(t, `"film"`, string(r.Output))
	})
}

// P43: an operation that stops reporting ends with the step's timeout, one that reports for ever at its
// maxDuration.
func TestNoProgressEndsTheCall(t *testing.T) {
	for name, c := range map[string]struct{ reports, took time.Duration }{
		"none": {0, time.Minute}, "one": {time.Second, time.Minute},
		"for ten minutes": {10 * time.Minute, 11 * time.Minute}, "for ever": {2 * time.Hour, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				b := newBench(t, port.ClockFunc(time.Now),
					worker.Config{Operations: charge(func(ctx context.Context, _ worker.Call) (any, error) {
						for time.Since(began) < c.reports && ctx.Err() == nil {
							_ = worker.Progress(ctx, 1, "")
							time.Sleep(time.Second)
						}
						<-ctx.Done()
						return nil, ctx.Err()
					})})
				b.worker.Handle(context.Background(), delivery(long(began)))
				all := b.replies()
				for more := all; len(more) > 0; more = b.replies() {
					all = more
				}
				r := all[len(all)-1]
				require.Equal(t, core.OutcomeRetryLater, r.Outcome)
				require.Equal(t, "timeout", r.Error.Code)
				took := time.Since(began)
				require.GreaterOrEqual(t, took, c.took-20*time.Second, "%+v", c.took)
				require.LessOrEqual(t, took, c.took+time.Second, "%+v", c.took)
			})
		})
	}
}

// P43: of a step without a maxDuration, and of an undo, progress is not sent, and gives no time.
func TestProgressOfAShortStep(t *testing.T) {
	for name, change := range map[string]func(*message.Request){
		"short": func(r *message.Request) { r.MaxDuration = 0 },
		"undo":  func(r *message.Request) { r.Operation = core.UndoOp },
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			b := newBench(t, port.ClockFunc(time.Now),
				worker.Config{Operations: charge(func(ctx context.Context, _ worker.Call) (any, error) {
					for ctx.Err() == nil {
						_ = worker.Progress(ctx, 1, "")
						time.Sleep(time.Second)
					}
					return nil, ctx.Err()
				})})
			req := long(began)
			change(req)
			b.worker.Handle(context.Background(), delivery(req))
			require.Equal(t, core.OutcomeRetryLater, b.reply().Outcome, name)
			require.LessOrEqual(t, time.Since(began), time.Minute+time.Second, name)
		})
	}
}

// P43: a report that cannot be sent is reported, and ends nothing.
func TestAReportThatIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failures int
		down := &downQueue{err: errors.New("no route")}
		b := newBench(t, port.ClockFunc(time.Now), worker.Config{
			Replies: down,
			Operations: charge(func(ctx context.Context, _ worker.Call) (any, error) {
				for range 3 {
					if worker.Progress(ctx, 1, "") != nil {
						failures++
					}
					time.Sleep(10 * time.Second)
				}
				return nil, ctx.Err()
			}),
		})
		b.worker.Handle(context.Background(), delivery(long(time.Now())))
		require.Equal(t, 3, failures)
	})
}

// downQueue sends nothing.
type downQueue struct {
	port.Queue
	err error
}

func (q *downQueue) Send(context.Context, []port.Message) []error { return []error{q.err} }
func (q *downQueue) Name() string                                 { return port.Replies }

// P43: a deferred call is not answered; its step gets time, and Replies answers it by its ID.
func TestADeferredCallIsAnsweredLater(t *testing.T) {
	clock := memory.NewClock(noon)
	var id string
	b := newBench(t, clock,
		worker.Config{Operations: charge(func(_ context.Context, c worker.Call) (any, error) {
			id = c.ReplyID()
			return nil, worker.Deferred(20 * time.Minute)
		})})
	require.True(t, b.worker.Handle(context.Background(), delivery(long(noon))).Delete, "the request stays")
	r := b.reply()
	require.Equal(t, message.Progress, r.Outcome)
	require.Equal(t, core.TimeOf(noon.Add(20*time.Minute)), r.Until)
	require.Equal(t, int64(1), b.worker.Stats().Deferred)
	replies := &worker.Replies{Agent: "payment", Queue: b.queue(port.Replies), Clock: clock}
	ctx := context.Background()
	clock.Advance(10 * time.Minute)
	err := errors.Join(replies.Progress(ctx, id, 50, "half", time.Minute),
		replies.Done(ctx, id, map[string]int{"id": 7}),
		replies.Failed(ctx, id, worker.Permanent(worker.WithCode(errors.New("no such film"), "gone"))),
		replies.Failed(ctx, id, worker.RetryAfter(worker.NotYet(0), time.Minute)),
		replies.Progress(ctx, id, 60, "the step's own time", 0),
		replies.Failed(ctx, id, worker.WithCode(errors.New("no film left"), "sold-out")))
	require.NoError(t, err)
	all := b.replies()
	for i, want := range []message.Reply{
		{
			Schema: message.Schema, Outcome: message.Progress, Percent: 50, Note: "half",
			Until: core.TimeOf(clock.Now().Add(time.Minute)),
		},
		{Schema: 1, Outcome: core.OutcomeDone},
		{Schema: 1, Outcome: core.OutcomeFailed},
		{Schema: 1, Outcome: core.OutcomeRetryLater, RetryAfter: core.Minute},
		{Schema: message.Schema, Outcome: message.Progress, Percent: 60, Note: "the step's own time"},
		{Schema: 1, Outcome: core.OutcomeRetryLater},
	} {
		r := all[i]
		require.Equal(t, "o-1", r.OrderID)
		require.Equal(t, 1, r.Run)
		require.Equal(t, "pay", r.Step)
		require.Equal(t, 1, r.Attempt)
		require.Equal(t, "payment", r.Agent)
		require.Equal(t, core.Do, r.Operation)
		require.Equal(t, want.Schema, r.Schema)
		require.Equal(t, want.Outcome, r.Outcome)
		require.Equal(t, want.Percent, r.Percent)
		require.Equal(t, want.Note, r.Note)
		require.Equal(t, want.Until, r.Until)
		require.Equal(t, want.RetryAfter, r.RetryAfter)
	}
	require.Equal(t, `{"id":7}`, string(all[1].Output))
	require.Equal(t, "gone", all[2].Error.Code)
	require.Equal(t, "failed", all[3].Error.Code)
	require.Equal(t, "sold-out", all[5].Error.Code)
	clock.Advance(51 * time.Minute)
	require.ErrorIs(t, replies.Done(ctx, id, nil), worker.ErrTooLate)
	encoded := base64.RawURLEncoding.EncodeToString
	for _, bad := range []string{
		"", "x", "e30", "!!", id[:20], encoded([]byte(`{"step":"a","attempt":1}`)),
		encoded([]byte(`{"task":"o","attempt":1}`)), encoded([]byte(`{"task":"o","step":"a"}`)),
	} {
		require.ErrorContains(t, replies.Done(ctx, bad, nil), "no reply ID", bad)
	}
	require.Error(t, replies.Done(ctx, id, make(chan int)), "an output that is no JSON is sent")
}

// P43: where the step cannot wait for it, a deferred reply is a failure that says what to do.
func TestACallThatCannotBeDeferred(t *testing.T) {
	b := newBench(t, memory.NewClock(noon),
		worker.Config{Operations: charge(always(nil, worker.Deferred(0)))})
	b.worker.Handle(context.Background(), delivery(request(noon)))
	r := b.reply()
	require.Equal(t, core.OutcomeFailed, r.Outcome)
	require.Equal(t, "deferred", r.Error.Code)
	require.Contains(t, r.Error.Message, "maxDuration")
}

// P43: without a time of its own a deferred call has until stopBy; where that cannot be sent, the request
// comes again.
func TestADeferredCallWithoutATime(t *testing.T) {
	b := newBench(t, memory.NewClock(noon),
		worker.Config{Operations: charge(always(nil, worker.Deferred(0)))})
	req := long(noon)
	req.ClockSkew = core.Second
	b.worker.Handle(context.Background(), delivery(req))
	require.Equal(t, req.StopBy-1000, b.reply().Until)
	b = newBench(t, memory.NewClock(noon), worker.Config{
		Replies:    &downQueue{err: errors.New("no route")},
		Operations: charge(always(nil, worker.Deferred(0))),
	})
	require.False(t, b.worker.Handle(context.Background(), delivery(req)).Delete, "the request is let go")
}
