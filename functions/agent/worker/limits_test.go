package worker_test

import (
	"context"
	"errors"
	"fmt"
	"math"
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

// P13: whatever the answer says, its request comes again while it cannot be sent.
func TestAnyAnswerThatCannotBeSentComesAgain(t *testing.T) {
	boom := errors.New("boom")
	for name, tt := range map[string]struct {
		run    worker.Func
		change func(*message.Request)
	}{
		"done":              {always(nil, nil), nil},
		"failed":            {always(nil, worker.Permanent(boom)), nil},
		"retry later":       {always(nil, boom), nil},
		"unknown operation": {always(nil, nil), func(r *message.Request) { r.Name = "chrage" }},
		"no ledger":         {always(nil, nil), func(r *message.Request) { r.Grade = core.Plain }},
	} {
		b := newBench(t, memory.NewClock(noon),
			worker.Config{Operations: charge(tt.run), Replies: failing{err: port.ErrUnavailable}})
		req := request(noon)
		if tt.change != nil {
			tt.change(req)
		}
		v := b.worker.Handle(context.Background(), delivery(req))
		s := b.worker.Stats()
		if v.Delete || v.After != 0 || s.GivenBack != 1 || s.Done+s.Failed+s.RetryLater != 0 {
			t.Errorf("%s: verdict %+v, %+v", name, v, s)
		}
	}
}

// A message that cannot be handled now is returned to the queue, to come again after a wait that grows (see
// Verdict).
func TestWhatIsGivenBack(t *testing.T) {
	b := newBench(t, memory.NewClock(noon), worker.Config{
		Operations: charge(always(nil, nil)),
		Quarantine: failing{err: port.ErrUnavailable},
	})
	for _, body := range []string{`{"schema":2}`, "{"} {
		require.Equal(t, worker.Verdict{},
			b.worker.Handle(context.Background(), port.Delivery{Message: port.Message{Body: []byte(body)}}), body)
	}
	p := newBench(t, memory.NewClock(noon), worker.Config{
		Operations: charge(always(nil, nil)),
		Replies:    panicking{},
	})
	v := p.worker.Handle(context.Background(), delivery(request(noon)))
	if s := p.worker.Stats(); v.Delete || v.After != 0 || s.Panics != 1 || s.GivenBack != 1 ||
		s.InFlight != 0 {
		t.Errorf("a panic outside of the operation: %+v, %+v", v, s)
	}
}

type panicking struct{ port.Queue }

func (panicking) Send(context.Context, []port.Message) []error { panic("no") }

// hanging is a queue that takes a message only when the sender gives up.
type hanging struct{ port.Queue }

func (hanging) Send(ctx context.Context, _ []port.Message) []error {
	<-ctx.Done()
	return []error{ctx.Err()}
}

// slow is a queue that takes a message after twenty seconds.
type slow struct{ port.Queue }

func (slow) Send(ctx context.Context, _ []port.Message) []error {
	return []error{port.Sleep(ctx, 20*time.Second)}
}

// A SendTimeout below 0 bounds nothing, neither by the default nor at once.
func TestSendWithoutBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, port.ClockFunc(time.Now), worker.Config{
			Operations: charge(always(nil, nil)),
			Replies:    slow{}, SendTimeout: -1,
		})
		require.True(t, b.worker.Handle(t.Context(), delivery(request(time.Now()))).Delete)
	})
}

// P25: a reply is sent within its own time, and not past stopBy, also when the handler's has ended.
func TestHowLongAReplyIsSent(t *testing.T) {
	for name, tt := range map[string]struct {
		left time.Duration // time until stopBy
		own  time.Duration // SendTimeout; 0: the default
		want time.Duration
	}{
		"its own time":         {time.Minute, 2 * time.Second, 2 * time.Second},
		"the default":          {time.Minute, 0, 5 * time.Second},
		"what stopBy has left": {1500 * time.Millisecond, 0, 1500 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, port.ClockFunc(time.Now), worker.Config{
				Operations: charge(always(nil, nil)),
				Replies:    hanging{}, SendTimeout: tt.own,
			})
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			req := request(time.Now())
			req.StopBy = req.ClaimedAt.Add(core.DurationOf(tt.left))
			start := time.Now()
			time.AfterFunc(time.Second, cancel)
			v := b.worker.Handle(ctx, delivery(req))
			require.Equal(t, tt.want, time.Since(start), "%v", name)
			require.False(t, v.Delete, "%v %v", name, tt.want)
		})
	}
}

// Where there is no time left, or the handler is shutting down, nothing is called: it comes again.
func TestNothingIsCalledWithoutTime(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	over, cancel := context.WithDeadline(context.Background(), noon)
	defer cancel()
	for name, ctx := range map[string]context.Context{
		"shutting down":              ended,
		"the handler's time is over": over,
	} {
		calls := 0
		b := newBench(t, memory.NewClock(noon),
			worker.Config{Operations: charge(counting(&calls, nil, nil))})
		v := b.worker.Handle(ctx, delivery(request(noon)))
		if n := len(b.replies()); v != (worker.Verdict{}) || calls+n > 0 {
			t.Errorf("%s: %+v, %d calls, %d replies", name, v, calls, n)
		}
	}
}

// The waits between own retries double up to the longest, and none begins that would not fit.
func TestWaitsBetweenOwnRetries(t *testing.T) {
	busy := errors.New("busy")
	asked := func(d time.Duration) error { return worker.RetryAfter(busy, d) }
	for name, tt := range map[string]struct {
		retry worker.Retry
		err   error
		calls int
		took  time.Duration
	}{
		"doubling": {
			worker.Retry{Tries: 6, Initial: 100 * time.Millisecond, Max: 300 * time.Millisecond, Jitter: new(0.0)},
			busy,
			6,
			1200 * time.Millisecond,
		},
		"one try": {worker.Retry{Tries: 1}, busy, 1, 0},
		"the last does not fit": {worker.Retry{
			Tries: 20, Initial: 4 * time.Second, Max: 4 * time.Second,
			Jitter: new(0.0),
		}, busy, 3, 8 * time.Second},
		"the doubled does not fit": {worker.Retry{
			Tries: 20, Initial: 4 * time.Second, Max: 8 * time.Second,
			Jitter: new(0.0),
		}, busy, 2, 4 * time.Second},
		"asked for and fits": {
			worker.Retry{Tries: 2, Jitter: new(0.0)},
			asked(9900 * time.Millisecond), 2,
			9900 * time.Millisecond,
		},
		"asked for all of the time": {worker.Retry{Tries: 2, Jitter: new(0.0)}, asked(10 * time.Second), 1, 0},
		"too long with its jitter": {
			worker.Retry{Tries: 2, Jitter: new(0.25)},
			asked(6100 * time.Millisecond), 1,
			0,
		},
		"the jitter alone too long": {worker.Retry{
			Tries: 2, Initial: 9 * time.Second, Max: 9 * time.Second,
			Jitter: new(0.25),
		}, busy, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				b := newBench(t, port.ClockFunc(time.Now),
					worker.Config{
						Retry: tt.retry, Breaker: worker.Breaker{Off: true},
						Operations: charge(counting(&calls, nil, tt.err)),
					})
				start := time.Now()
				b.worker.Handle(context.Background(), delivery(request(start)))
				took := time.Since(start)
				require.Equal(t, tt.calls, calls)
				require.Equal(t, tt.took, took, "%+v", tt.calls)
				require.Equal(t, int64(tt.calls-1), b.worker.Stats().Retried)
				require.Empty(t, b.worker.Stats().Breakers, "a breaker that is off is shown")
			})
		})
	}
}

// What opens a breaker: failures of the service that a repetition may heal, and those alone.
func TestWhatOpensABreaker(t *testing.T) {
	boom := errors.New("boom")
	ended, cancel := context.WithCancel(context.Background())
	for name, tt := range map[string]struct {
		ctx   context.Context
		run   worker.Func
		plain port.Ledger
		state string
	}{
		"transient failures": {context.Background(), always(nil, boom), nil, "open"},
		"never sent":         {context.Background(), always(nil, worker.NoEffect(boom)), nil, "open"},
		"not yet":            {context.Background(), always(nil, worker.NotYet(0)), nil, "closed"},
		"refusals":           {context.Background(), always(nil, worker.Permanent(boom)), nil, "closed"},
		"successes":          {context.Background(), always(nil, nil), nil, "closed"},
		"a sick ledger": {
			context.Background(), always(nil, nil),
			&sickLedger{entry: port.ErrUnavailable}, "closed",
		},
		"cut short by ending": {ended, func(ctx context.Context, _ worker.Call) (any, error) {
			cancel()
			return nil, ctx.Err()
		}, nil, "closed"},
	} {
		b := newBench(t, memory.NewClock(noon), worker.Config{
			Breaker: worker.Breaker{Failures: 1, Window: 1},
			Ledger:  tt.plain, Operations: charge(tt.run),
		})
		req := request(noon)
		if tt.plain != nil {
			req.Grade = core.Plain
		}
		b.worker.Handle(tt.ctx, delivery(req))
		require.Equal(t, tt.state, b.worker.Stats().Breakers["charge"], "%v", name)
	}
}

// A request that meets an open breaker waits in its queue, where that serves it: it was not called,
// was not received too often, and has the time.
func TestWhatAnOpenBreakerHoldsBack(t *testing.T) {
	for name, tt := range map[string]struct {
		received int
		left     time.Duration // time until stopBy
		back     bool
	}{
		"the first time":        {1, time.Minute, true},
		"the third":             {3, time.Minute, true},
		"the fourth":            {4, time.Minute, false},
		"time for half a call":  {1, 16 * time.Second, true}, // enough for 7.5 s of waiting and 5 s of a call
		"too little time":       {1, 9 * time.Second, false},
		"the wait and no call":  {1, 9900 * time.Millisecond, false},
		"not even for the wait": {1, 4 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				b := newBench(t, port.ClockFunc(time.Now),
					worker.Config{
						Breaker:    worker.Breaker{Failures: 1, Window: 1, Delay: 5 * time.Second},
						Operations: charge(counting(&calls, nil, errors.New("down"))),
					})
				b.worker.Handle(context.Background(), delivery(request(time.Now())))
				_ = b.reply()
				d := delivery(request(time.Now()))
				req := request(time.Now())
				req.StopBy = req.ClaimedAt.Add(core.DurationOf(tt.left))
				d.Value = req
				d.Received = tt.received
				v := b.worker.Handle(context.Background(), d)
				if replies := b.replies(); calls != 1 || v.Delete == tt.back ||
					(len(replies) == 0) != tt.back {
					t.Fatalf("%+v, %d calls, %d replies", v, calls, len(replies))
				} else if !tt.back && (replies[0].Error.Code != "breaker-open" ||
					replies[0].RetryAfter != 5000) {
					t.Errorf("%+v %+v", replies[0], replies[0].Error)
				}
				if tt.back && (v.After < 5*time.Second || v.After > 7500*time.Millisecond) {
					t.Errorf("it waits %s", v.After)
				}
			})
		})
	}
}

// The waits differ from request to request, so that not all of them come back to the one probe.
func TestWaitsAtAnOpenBreakerAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, port.ClockFunc(time.Now), worker.Config{
			Breaker:    worker.Breaker{Failures: 1, Window: 1, Delay: 10 * time.Second},
			Operations: charge(always(nil, errors.New("down"))),
		})
		b.worker.Handle(context.Background(), delivery(request(time.Now())))
		waits := map[time.Duration]bool{}
		for n := range 100 {
			req := request(time.Now())
			req.Key = fmt.Sprintf("o-%d/0/pay", n)
			waits[b.worker.Handle(context.Background(),
				delivery(req)).After.Truncate(100*time.Millisecond)] = true
		}
		require.GreaterOrEqual(t, len(waits), 30)
	})
}

// P25: a check can take so long that the call must not begin any more.
func TestTheCheckTookAllTheTime(t *testing.T) {
	clock := memory.NewClock(noon)
	calls := 0
	b := newBench(t, clock, worker.Config{Operations: worker.Operations{"charge": {
		Run: counting(&calls, nil, nil),
		Check: func(context.Context, worker.Call) (bool, any, error) {
			clock.Advance(2 * time.Minute)
			return false, nil, nil
		},
	}}})
	req := request(noon)
	req.Attempt = 2
	v := b.worker.Handle(context.Background(), delivery(req))
	n := len(b.replies())
	require.True(t, v.Delete, "%+v, %d calls, %d replies", v, calls, n)
	require.LessOrEqual(t, calls+n, 0)
}

// What a check says reaches the reply: the wait that it asked for, and that it was the check.
func TestAFailedCheckIsSaid(t *testing.T) {
	b := newBench(t, memory.NewClock(noon), worker.Config{Operations: worker.Operations{"charge": {
		Run: always(nil, nil),
		Check: func(context.Context, worker.Call) (bool, any, error) {
			return false, nil, worker.WithCode(worker.RetryAfter(errors.New("busy"), 7*time.Second),
				"http-429")
		},
	}}})
	req := request(noon)
	req.Attempt = 2
	b.worker.Handle(context.Background(), delivery(req))
	r := b.reply()
	require.Equal(t, "check-http-429", r.Error.Code)
	require.EqualValues(t, 7000, r.RetryAfter)
	require.Contains(t, r.Error.Message, "busy")
	require.Zero(t, b.worker.Stats().Checked)
}

// P31: what a call has shown is written, however often the write loses first, as far as that is
// bounded; where it cannot be written the answer is true all the same.
func TestTheOutcomeIsWrittenAgain(t *testing.T) {
	for conflicts, want := range map[int]string{
		0: worker.StateDone, 3: worker.StateDone, 7: worker.StateDone,
		8: worker.StateStarted,
	} {
		ledger := &sickLedger{Ledger: memory.NewLedger(), moves: 100}
		b := newBench(t, memory.NewClock(noon), worker.Config{
			Ledger: ledger,
			Operations: charge(func(context.Context, worker.Call) (any, error) {
				ledger.conflicts = conflicts
				return "out", nil
			}),
		})
		req := request(noon)
		req.Grade = core.Plain
		b.worker.Handle(context.Background(), delivery(req))
		e, err := ledger.Ledger.Entry(context.Background(), req.Key)
		r := b.reply()
		require.NoError(t, err, "%v", conflicts)
		require.Equal(t, core.OutcomeDone, r.Outcome)
		require.Equal(t, `"out"`, string(r.Output))
		require.Equal(t, want, e.State)
		require.Equal(t, want == worker.StateDone, string(e.Output) == `"out"`)
		require.Equal(t, want == worker.StateStarted, strings.Contains(b.log.String(), "could not be written"), "%v",
			conflicts)
	}
}

// Defaults, and the edges of what a configuration may say.
func TestEdgesOfTheConfiguration(t *testing.T) {
	complete := func(r worker.Retry, b worker.Breaker) (*worker.Worker, error) {
		return worker.New(worker.Config{
			Agent: "a", Operations: charge(always(nil, nil)), Replies: discard{}, Quarantine: discard{},
			Clock: memory.NewClock(noon), Retry: r, Breaker: b,
		})
	}
	w, err := complete(worker.Retry{}, worker.Breaker{})
	require.NoError(t, err)
	require.Equal(t, worker.Retry{Tries: 3, Initial: 200 * time.Millisecond, Max: 5 * time.Second, Jitter: new(0.25)},
		w.Retry)
	require.Equal(t, worker.Breaker{Failures: 5, Window: 10, Delay: 5 * time.Second, Probes: 1}, w.Breaker)
	require.Equal(t, 5*time.Second, w.SendTimeout)
	w, err = complete(worker.Retry{Initial: time.Minute}, worker.Breaker{Failures: 30})
	require.NoError(t, err)
	require.Equal(t, time.Minute, w.Retry.Max)
	require.Equal(t, 30, w.Breaker.Window)
	second := time.Second
	for name, tt := range map[string]struct {
		retry   worker.Retry
		breaker worker.Breaker
		ok      bool
	}{
		"1 try":             {worker.Retry{Tries: 1}, worker.Breaker{}, true},
		"20 tries":          {worker.Retry{Tries: 20}, worker.Breaker{}, true},
		"21 tries":          {worker.Retry{Tries: 21}, worker.Breaker{}, false},
		"-1 tries":          {worker.Retry{Tries: -1}, worker.Breaker{}, false},
		"equal waits":       {worker.Retry{Initial: second, Max: second}, worker.Breaker{}, true},
		"longest shorter":   {worker.Retry{Initial: second, Max: second - 1}, worker.Breaker{}, false},
		"negative wait":     {worker.Retry{Initial: -1}, worker.Breaker{}, false},
		"jitter 0.9":        {worker.Retry{Jitter: new(0.9)}, worker.Breaker{}, true},
		"jitter 0.91":       {worker.Retry{Jitter: new(0.91)}, worker.Breaker{}, false},
		"jitter -1":         {worker.Retry{Jitter: new(-1.0)}, worker.Breaker{}, false},
		"jitter NaN":        {worker.Retry{Jitter: new(math.NaN())}, worker.Breaker{}, false},
		"no jitter":         {worker.Retry{Jitter: new(0.0)}, worker.Breaker{}, true},
		"as many failures":  {worker.Retry{}, worker.Breaker{Failures: 4, Window: 4}, true},
		"more failures":     {worker.Retry{}, worker.Breaker{Failures: 5, Window: 4}, false},
		"negative failures": {worker.Retry{}, worker.Breaker{Failures: -1}, false},
		"negative delay":    {worker.Retry{}, worker.Breaker{Delay: -1}, false},
		"negative probes":   {worker.Retry{}, worker.Breaker{Probes: -1}, false},
		"10,000 calls":      {worker.Retry{}, worker.Breaker{Window: 10_000, Probes: 10_000}, true},
		// each is kept in memory
		"10,001 calls":            {worker.Retry{}, worker.Breaker{Window: 10_001}, false},
		"10,001 probes":           {worker.Retry{}, worker.Breaker{Probes: 10_001}, false},
		"open for an hour":        {worker.Retry{}, worker.Breaker{Delay: time.Hour}, true},
		"open for longer":         {worker.Retry{}, worker.Breaker{Delay: time.Hour + 1}, false},
		"one failure, one of one": {worker.Retry{}, worker.Breaker{Failures: 1, Window: 1, Probes: 1}, true},
	} {
		w, err := complete(tt.retry, tt.breaker)
		require.Equal(t, tt.ok, err == nil, name)
		require.Equal(t, tt.ok, worker.Validate(tt.retry, tt.breaker) == nil, name)
		if name == "no jitter" {
			require.Zero(t, *w.Retry.Jitter)
		}
	}
}

// Operations by name: "*" answers for the names that have none of their own, and is none itself.
func TestWhichOperationIsFound(t *testing.T) {
	b := newBench(t, memory.NewClock(noon), worker.Config{
		Operations: worker.Operations{
			"charge":            {Run: always("own", nil)},
			worker.AnyOperation: {Run: always("any", nil)},
		},
	})
	for name, want := range map[string]string{"charge": `"own"`, "refund": `"any"`, "charge2": `"any"`} {
		req := request(noon)
		req.Name = name
		b.worker.Handle(context.Background(), delivery(req))
		require.Equal(t, want, string(b.reply().Output), name)
	}
}
