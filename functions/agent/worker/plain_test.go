package worker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/token"
)

// sickLedger fails where it is set to.
type sickLedger struct {
	port.Ledger
	entry     error // error of each read
	conflicts int   // the first so many moves lose
	moves     int   // number of moves that succeed after that
}

func (l *sickLedger) Entry(ctx context.Context, key string) (port.LedgerEntry, error) {
	if l.entry != nil {
		return port.LedgerEntry{}, l.entry
	}
	return l.Ledger.Entry(ctx, key)
}

func (l *sickLedger) Move(ctx context.Context, e port.LedgerEntry) error {
	if l.conflicts > 0 {
		l.conflicts--
		return port.ErrConflict
	}
	if l.moves--; l.moves < 0 {
		return port.ErrUnavailable
	}
	return l.Ledger.Move(ctx, e)
}

// P39: a ledger holds no token, although a service repeats its input.
func TestALedgerHoldsNoToken(t *testing.T) {
	text, err := token.Fixed(false).Token("00000000", "o-1", core.TokenOf{Step: "approve"})
	require.NoError(t, err)
	ledger := memory.NewLedger()
	b := newBench(t, memory.NewClock(noon), worker.Config{
		Ledger: ledger, Operations: charge(always(map[string]string{"link": text}, nil)),
	})
	req := request(noon)
	req.Grade = core.Plain
	b.worker.Handle(t.Context(), delivery(req))
	require.Equal(t, core.OutcomeDone, b.reply().Outcome)
	entry, err := ledger.Entry(t.Context(), req.Key)
	require.NoError(t, err)
	require.Equal(t, `{"link":"(token)"}`, string(entry.Output))
}

// P32: a plain service is not called when the request has waited for so long that the call could not
// take its time: cut short it would be in doubt. Its ledger says that nothing was sent.
func TestAPlainServiceIsNotCalledInAHurry(t *testing.T) {
	for name, tt := range map[string]struct {
		grade   core.Grade
		waited  time.Duration // time in the queue
		allowed core.Duration // time beyond the timeout
		calls   int
	}{
		"within its allowance":                 {core.Plain, 19 * time.Second, 20 * core.Second, 1},
		"longer than its allowed":              {core.Plain, 21 * time.Second, 20 * core.Second, 0},
		"a fence needs no hurry":               {core.Fenced, 21 * time.Second, 20 * core.Second, 1},
		"nor where it is a point of no return": {core.Fenced, 21 * time.Second, 20 * core.Second, 1},
		"nothing was ever allowed":             {core.Plain, time.Second, 0, 1},
	} {
		calls := 0
		ledger := memory.NewLedger()
		clock := memory.NewClock(noon)
		b := newBench(t, clock, worker.Config{
			Ledger:     ledger,
			Operations: charge(counting(&calls, nil, nil)),
		})
		req := request(noon)
		req.Grade = tt.grade
		req.PointOfNoReturn = strings.Contains(name, "no return")
		req.StopBy = req.ClaimedAt.Add(req.Timeout + tt.allowed)
		req.CompleteBy = req.StopBy
		clock.Advance(tt.waited)
		v := b.worker.Handle(context.Background(), delivery(req))
		e, err := ledger.Entry(context.Background(), req.Key)
		if calls != tt.calls || !v.Delete || err != nil || tt.calls == 0 && e.State != worker.StateNone {
			t.Errorf("%s: %d calls, want %d; %+v, ledger %q, %v", name, calls, tt.calls, v, e.State, err)
		}
		require.Len(t, b.taken(port.Replies), tt.calls, name)
	}
}

// lateLedger does what it is asked, and answers late: the first calls take so long, later ones nothing.
type lateLedger struct {
	port.Ledger
	waits []time.Duration
}

func (l *lateLedger) late(ctx context.Context, err error) error {
	if len(l.waits) == 0 {
		return err
	}
	wait := l.waits[0]
	l.waits = l.waits[1:]
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(wait):
		return err
	}
}

func (l *lateLedger) Entry(ctx context.Context, key string) (port.LedgerEntry, error) {
	e, err := l.Ledger.Entry(ctx, key)
	return e, l.late(ctx, err)
}

func (l *lateLedger) Move(ctx context.Context, e port.LedgerEntry) error {
	return l.late(ctx, l.Ledger.Move(ctx, e))
}

// P31: what was begun in the ledger and not called is not in doubt, however slow the ledger was: the
// next attempt calls.
func TestASlowLedgerLeavesNoDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := &lateLedger{
			memory.NewLedger(),
			[]time.Duration{1900 * time.Millisecond, 1900 * time.Millisecond},
		}
		calls := 0
		b := newBench(t, memory.NewClock(noon), worker.Config{
			Ledger:     ledger,
			Operations: charge(counting(&calls, nil, nil)),
		})
		req := request(noon)
		req.Grade = core.Plain
		req.Timeout = core.Second
		b.worker.Handle(t.Context(), delivery(req))
		r := b.reply()
		require.Zero(t, calls)
		require.Equal(t, core.OutcomeRetryLater, r.Outcome)
		require.Equal(t, "ledger", r.Error.Code)
		req.Attempt = 2
		b.worker.Handle(t.Context(), delivery(req))
		r = b.reply()
		require.Equal(t, 1, calls)
		require.Equal(t, core.OutcomeDone, r.Outcome)
	})
}

// stuckLedger does not answer its reads, or its writes.
type stuckLedger struct {
	port.Ledger
	reads bool
}

func (l stuckLedger) Entry(ctx context.Context, key string) (port.LedgerEntry, error) {
	if l.reads {
		<-ctx.Done()
		return port.LedgerEntry{}, ctx.Err()
	}
	return l.Ledger.Entry(ctx, key)
}

func (l stuckLedger) Move(ctx context.Context, _ port.LedgerEntry) error {
	<-ctx.Done()
	return ctx.Err()
}

// A ledger that does not answer is left in time: a read with the handling's time, a write after its own.
func TestALedgerThatDoesNotAnswer(t *testing.T) {
	for reads, want := range map[bool]time.Duration{true: 3 * time.Second, false: 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			b := newBench(t, port.ClockFunc(time.Now), worker.Config{
				Ledger:     stuckLedger{memory.NewLedger(), reads},
				Operations: charge(counting(&calls, nil, nil)),
			})
			start := time.Now()
			req := request(start)
			req.Grade = core.Plain
			req.Timeout = core.Second
			b.worker.Handle(t.Context(), delivery(req))
			r := b.reply()
			require.LessOrEqual(t, calls, 0, "%+v", want)
			require.Equal(t, core.OutcomeRetryLater, r.Outcome, "%+v", want)
			require.Equal(t, "ledger", r.Error.Code, "%+v", want)
			require.Equal(t, want, time.Since(start))
		})
	}
}

// Rule 3: with a handler's context that ends during the call, all writes to the ledger and the reply end SendTimeout
// after it, and a stuck ledger leaves time for the reply.
func TestAllAfterTheHandlersTimeIsBounded(t *testing.T) {
	const end, send = 10 * time.Second, 1500 * time.Millisecond
	for name, tt := range map[string]struct {
		stuck bool // the ledger and the queue of replies do not answer after the end
		fails bool
		want  time.Duration
	}{
		"all answer":                  {false, false, end},
		"none answers":                {true, false, end + send},
		"none answers, after failing": {true, true, end + send},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			late := func() bool { return tt.stuck && time.Since(start) >= end }
			c := worker.Config{
				SendTimeout: send, Ledger: stuckAfter{memory.NewLedger(), late},
				Operations: charge(func(ctx context.Context, _ worker.Call) (any, error) {
					<-ctx.Done()
					if tt.fails {
						return nil, worker.NoEffect(errors.New("refused"))
					}
					return nil, nil
				}),
			}
			if tt.stuck {
				c.Replies = hanging{}
			}
			b := newBench(t, port.ClockFunc(time.Now), c)
			req := request(start)
			req.Grade = core.Plain
			req.PointOfNoReturn = true
			req.Timeout = core.DurationOf(end)
			ctx, cancel := context.WithDeadline(t.Context(), start.Add(end))
			defer cancel()
			v := b.worker.Handle(ctx, delivery(req))
			require.Equal(t, tt.want, time.Since(start), name)
			require.Equal(t, !tt.stuck, v.Delete, name)
		})
	}
}

// stuckAfter is a ledger that does not answer writes from a time on.
type stuckAfter struct {
	port.Ledger
	late func() bool
}

func (l stuckAfter) Move(ctx context.Context, e port.LedgerEntry) error {
	if l.late() {
		<-ctx.Done()
		return ctx.Err()
	}
	return l.Ledger.Move(ctx, e)
}

// An agent whose clock is not the machine's makes its calls with their full time: the end of a context is one
// of the machine's clock.
func TestAPlainCallByAClockAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ahead := port.ClockFunc(func() time.Time { return time.Now().Add(time.Hour) })
		var left time.Duration
		b := newBench(t, ahead, worker.Config{
			Ledger: memory.NewLedger(),
			Operations: charge(func(ctx context.Context, _ worker.Call) (any, error) {
				end, _ := ctx.Deadline()
				left = time.Until(end)
				return nil, ctx.Err()
			}),
		})
		req := request(ahead.Now())
		req.Grade = core.Plain
		req.Timeout = core.Second
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a deadline as in Lambda
		defer cancel()
		b.worker.Handle(ctx, delivery(req))
		require.Equal(t, core.OutcomeDone, b.reply().Outcome)
		require.Equal(t, time.Second, left)
	})
}

// The time that the ledger takes is not taken from the service: cut short, its call would be in doubt.
func TestASlowLedgerTakesNoTimeFromTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := &lateLedger{
			memory.NewLedger(),
			[]time.Duration{400 * time.Millisecond, 1100 * time.Millisecond},
		}
		b := newBench(t, port.ClockFunc(time.Now), worker.Config{
			Ledger: ledger,
			Operations: charge(func(ctx context.Context, c worker.Call) (any, error) {
				if left := time.Until(c.Deadline); left != time.Second {
					t.Errorf("the call is reported that it has %s, want 1s", left)
				}
				select {
				case <-ctx.Done():
					return nil, ctx.Err()
				case <-time.After(950 * time.Millisecond):
					return nil, nil
				}
			}),
		})
		req := request(time.Now())
		req.Grade = core.Plain
		req.Timeout = core.Second
		b.worker.Handle(t.Context(), delivery(req))
		require.Equal(t, core.OutcomeDone, b.reply().Outcome)
	})
}
