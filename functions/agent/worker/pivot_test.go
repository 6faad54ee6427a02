package worker_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// A plain point of no return whose time in the queue leaves none for the call is not called, and its
// ledger never forgets that this attempt is over.
func TestAPointOfNoReturnThatCameTooLateToCall(t *testing.T) {
	ledger := memory.NewLedger()
	b := newBench(t, memory.NewClock(noon),
		worker.Config{Ledger: ledger, Operations: charge(func(context.Context, worker.Call) (any, error) {
			t.Error("it is called")
			return nil, nil
		})})
	req := request(noon.Add(-55 * time.Second))
	req.Grade = core.Plain
	req.PointOfNoReturn = true
	b.worker.Handle(context.Background(), delivery(req))
	e, err := ledger.Entry(context.Background(), req.Key)
	require.NoError(t, err)
	require.Equal(t, worker.StateLater, e.State)
	require.Equal(t, 1, e.Attempt)
}

// A copy that calls while the first call is open takes its proof away: the copy's call may land later.
func TestACopyOfAPointOfNoReturnTakesTheProof(t *testing.T) {
	refused := worker.NoEffect(worker.Permanent(errors.New("no")))
	var b *bench
	calls := 0
	run := func(ctx context.Context, c worker.Call) (any, error) {
		if calls++; calls == 1 {
			req := request(noon)
			req.Grade = core.Idempotent
			req.PointOfNoReturn = true
			b.worker.Handle(ctx, delivery(req))
			require.False(t, b.reply().NoEffect)
		}
		return nil, refused
	}
	b = newBench(t, memory.NewClock(noon), worker.Config{Ledger: memory.NewLedger(), Operations: charge(run)})
	req := request(noon)
	req.Grade = core.Idempotent
	req.PointOfNoReturn = true
	b.worker.Handle(context.Background(), delivery(req))
	r := b.reply()
	require.Equal(t, 2, calls)
	require.Equal(t, core.OutcomeFailed, r.Outcome)
	require.False(t, r.NoEffect, "%d calls, %s, noEffect %v", calls, r.Outcome, r.NoEffect)
}

// A shutdown between two own tries answers what is proven, instead of returning the request to the queue, for
// a copy that could prove nothing any more.
func TestShuttingDownAPointOfNoReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		run := func(context.Context, worker.Call) (any, error) {
			cancel()
			return nil, worker.NoEffect(errors.New("busy"))
		}
		b := newBench(t, port.ClockFunc(time.Now), worker.Config{
			Retry:  worker.Retry{Tries: 3},
			Ledger: memory.NewLedger(), Operations: charge(run),
		})
		req := request(time.Now())
		req.Grade = core.Idempotent
		req.PointOfNoReturn = true
		require.True(t, b.worker.Handle(ctx, delivery(req)).Delete)
		r := b.reply()
		require.Equal(t, core.OutcomeRetryLater, r.Outcome)
		require.True(t, r.NoEffect, "%s, noEffect %v", r.Outcome, r.NoEffect)
	})
}

// A point of no return with a crash at every step: what was answered noEffect has had no effect, and no
// call for that attempt or an older one begins any more.
func TestCrashesOfPointsOfNoReturn(t *testing.T) {
	lost := errors.New("reset")
	refused := worker.NoEffect(worker.Permanent(lost))
	scenarios := map[string]struct {
		answers []error
		effect  []bool
	}{
		"refused":              {[]error{refused}, []bool{false}},
		"refused for now":      {[]error{worker.NoEffect(lost)}, []bool{false}},
		"refused twice":        {[]error{refused, refused}, []bool{false, false}},
		"lost, then refused":   {[]error{lost, refused}, []bool{true, false}},
		"nothing, then refuse": {[]error{lost, refused}, []bool{false, false}},
	}
	proofs := 0
	crashes := 0
	stride := 1 // between the second deaths that are tried
	if testing.Short() {
		stride = 4
	}
	for name, sc := range scenarios {
		for _, grade := range []core.Grade{core.Idempotent, core.Plain} {
			for first := -1; first < 24; first++ {
				for second := -1; second < 12; second += stride {
					s := &service{answers: sc.answers, effect: sc.effect}
					p, c := pivotLife(t, fmt.Sprintf("%s, %s, deaths %d and %d", name, grade, first, second),
						grade, s, first, second)
					proofs = proofs + p
					crashes = crashes + c
				}
			}
		}
	}
	require.GreaterOrEqual(t, proofs, 500)
	require.GreaterOrEqual(t, crashes, 500)
}

func pivotLife(t *testing.T, name string, grade core.Grade, s *service, first,
	second int,
) (proofs, crashes int) {
	t.Helper()
	lives := []int{first, second, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}
	life := &mortal{left: lives[0]}
	lives = lives[1:]
	clock := memory.NewClock(noon)
	b := newBench(t, clock, worker.Config{Operations: charge(always(nil, nil))})
	proven := 0
	w, err := worker.New(worker.Config{
		Agent: "payment", Clock: clock, Ledger: mortalLedger{memory.NewLedger(), life},
		Retry: worker.Retry{Tries: 1}, Breaker: worker.Breaker{Off: true},
		Replies: mortalQueue{b.queue(port.Replies), life}, Quarantine: b.queue(port.Quarantine),
		Operations: charge(func(_ context.Context, c worker.Call) (any, error) {
			require.Greater(t, c.Attempt, proven)
			if s.dos > 0 && grade != core.Plain {
				return nil, nil // it knows the key
			}
			return s.run(life, false)
		}),
	})
	require.NoError(t, err)
	for attempt := 1; attempt <= 3; attempt++ {
		for range 3 {
			for _, copied := range []int{attempt, max(1, attempt-1)} { // an older copy comes late
				req := request(noon)
				req.Grade = grade
				req.Attempt = copied
				req.PointOfNoReturn = true
				w.Handle(context.Background(), delivery(req))
				if life.dead {
					crashes++
					*life = mortal{left: lives[0]}
					lives = lives[1:]
				}
				for _, r := range b.replies() {
					if !r.NoEffect {
						continue
					}
					proofs++
					proven = max(proven, r.Attempt)
					require.LessOrEqual(t, s.dos, 0, "%v", r.Attempt)
				}
			}
		}
	}
	return proofs, crashes
}
