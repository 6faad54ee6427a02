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

// pivotStep is one request of a point of no return, and what is to come of it.
type pivotStep struct {
	attempt  int
	fact     core.Fact
	name     string // name of the operation; "" means the agent's only one
	answer   error  // error of the call, if there is one
	calls    int
	outcome  core.Outcome // "" for silence
	noEffect bool
}

// P22a as scripts: what a refusal proves, and to which calls it leads.
func TestPointsOfNoReturnByTheLedger(t *testing.T) {
	lost := errors.New("reset")
	busy := worker.NoEffect(errors.New("busy"))
	denied := worker.WithCode(worker.NoEffect(worker.Permanent(errors.New("the account is closed"))),
		"closed")
	done := core.OutcomeDone
	failed := core.OutcomeFailed
	later := core.OutcomeRetryLater
	known := core.Idempotent
	plain := core.Plain
	for name, tt := range map[string]struct {
		grade  core.Grade
		script []pivotStep
	}{
		"done": {
			known, []pivotStep{{attempt: 1, calls: 1, outcome: done}, {attempt: 1, calls: 1, outcome: done}},
		},
		"refused, and a copy": {
			known,
			[]pivotStep{
				{attempt: 1, answer: denied, calls: 1, outcome: failed, noEffect: true},
				{attempt: 1, outcome: failed, noEffect: true},
			},
		},
		"refused for now, and a copy": {
			known,
			[]pivotStep{
				{attempt: 1, answer: busy, calls: 1, outcome: later, noEffect: true},
				{attempt: 1, outcome: later, noEffect: true},
			},
		},
		"refused for now, then done": {
			known,
			[]pivotStep{
				{attempt: 1, answer: busy, calls: 1, outcome: later, noEffect: true},
				{attempt: 2, calls: 1, outcome: done},
				{attempt: 1},
			},
		},
		"refused twice": {
			known,
			[]pivotStep{
				{attempt: 1, answer: busy, calls: 1, outcome: later, noEffect: true},
				{attempt: 2, answer: denied, calls: 1, outcome: failed, noEffect: true},
				{attempt: 1, outcome: failed, noEffect: true},
			},
		},
		"in doubt, then refused": {
			known,
			[]pivotStep{
				{attempt: 1, answer: lost, calls: 1, outcome: later},
				{attempt: 2, answer: denied, calls: 1, outcome: failed},
				{attempt: 3, answer: denied, calls: 1, outcome: failed},
			},
		},
		"failed without a word": {
			known, []pivotStep{{attempt: 1, answer: worker.Permanent(lost), calls: 1, outcome: failed}},
		},
		"in doubt, resolved, then refused": {
			known,
			[]pivotStep{
				{attempt: 1, answer: lost, calls: 1, outcome: later},
				{
					attempt: 2, fact: core.NotHappened, answer: denied, calls: 1, outcome: failed,
					noEffect: true,
				},
			},
		},
		"not called at all": {
			known,
			[]pivotStep{
				{attempt: 1, name: "withdraw", outcome: later, noEffect: true},
				{attempt: 1, outcome: later, noEffect: true},
				{attempt: 2, calls: 1, outcome: done},
			},
		},
		"not called after one in doubt": {
			known,
			[]pivotStep{
				{attempt: 1, answer: lost, calls: 1, outcome: later},
				{attempt: 2, name: "withdraw", outcome: later},
			},
		},
		"a copy that cannot call": {
			known,
			[]pivotStep{
				{attempt: 1, answer: lost, calls: 1, outcome: later},
				{attempt: 1, name: "withdraw", outcome: later},
			},
		},
		"not called, with a fact": {
			known,
			[]pivotStep{
				{attempt: 1, answer: lost, calls: 1, outcome: later},
				{attempt: 2, fact: core.NotHappened, name: "withdraw", outcome: later, noEffect: true},
			},
		},
		"plain: refused": {
			plain,
			[]pivotStep{
				{attempt: 1, answer: denied, calls: 1, outcome: failed, noEffect: true},
				{attempt: 1, outcome: failed, noEffect: true},
			},
		},
		"plain: refused for now, then done": {
			plain,
			[]pivotStep{
				{attempt: 1, answer: busy, calls: 1, outcome: later, noEffect: true},
				{attempt: 1, outcome: later, noEffect: true},
				{attempt: 2, calls: 1, outcome: done},
				{attempt: 2, outcome: done},
			},
		},
		"plain: in doubt": {
			plain,
			[]pivotStep{
				{attempt: 1, answer: lost, calls: 1, outcome: later},
				{attempt: 2},
				{
					attempt: 3, fact: core.NotHappened, answer: denied, calls: 1, outcome: failed,
					noEffect: true,
				},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			now := pivotStep{}
			run := func(context.Context, worker.Call) (any, error) { calls++; return nil, now.answer }
			b := newBench(t, memory.NewClock(noon),
				worker.Config{Ledger: memory.NewLedger(), Operations: charge(run)})
			for i, step := range tt.script {
				now = step
				calls = 0
				req := request(noon)
				req.Grade = tt.grade
				req.Attempt = step.attempt
				req.PointOfNoReturn = true
				if step.name != "" {
					req.Name = step.name
				}
				if step.fact != "" {
					req.Resolved = &core.Resolved{Fact: step.fact, Command: 1}
				}
				require.True(t, b.worker.Handle(context.Background(), delivery(req)).Delete, "%v", i)
				require.Equal(t, step.calls, calls, "%v", i)
				if step.outcome == "" {
					require.Empty(t, b.replies(), "%v", i)
					continue
				}
				r := b.reply()
				require.Equal(t, step.outcome, r.Outcome, "%v", i)
				require.Equal(t, step.noEffect, r.NoEffect, "%v", i)
			}
		})
	}
}

// The own retries of one handling are one proof together, if none of them left the effect in doubt.
func TestOwnRetriesOfAPointOfNoReturn(t *testing.T) {
	lost := errors.New("reset")
	busy := worker.NoEffect(errors.New("busy"))
	for name, tt := range map[string]struct {
		answers  []error
		noEffect bool
	}{
		"all refused":             {[]error{busy, busy, busy}, true},
		"refused for good at end": {[]error{busy, busy, worker.Permanent(busy)}, true},
		"the first in doubt":      {[]error{lost, busy, busy}, false},
		"the last in doubt":       {[]error{busy, busy, lost}, false},
	} {
		for _, grade := range []core.Grade{core.Fenced, core.Idempotent} {
			t.Run(name+", "+string(grade), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					calls := 0
					run := func(context.Context, worker.Call) (any, error) {
						calls++
						return nil, tt.answers[calls-1]
					}
					b := newBench(t, port.ClockFunc(time.Now), worker.Config{
						Retry:  worker.Retry{Tries: 3},
						Ledger: memory.NewLedger(), Operations: charge(run),
					})
					req := request(time.Now())
					req.Grade = grade
					req.PointOfNoReturn = true
					b.worker.Handle(context.Background(), delivery(req))
					r := b.reply()
					require.Equal(t, 3, calls)
					require.NotEqual(t, core.OutcomeDone, r.Outcome)
					require.Equal(t, tt.noEffect, r.NoEffect)
				})
			})
		}
	}
}

// A plain point of no return is not called again in doubt, by its own retries either: they ask.
func TestOwnRetriesOfAPlainPointOfNoReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		checks := 0
		b := newBench(t, port.ClockFunc(time.Now), worker.Config{
			Retry:  worker.Retry{Tries: 3},
			Ledger: memory.NewLedger(), Operations: worker.Operations{"charge": {
				Run: counting(&calls, nil, errors.New("reset")),
				Check: func(context.Context, worker.Call) (bool, any, error) {
					checks++
					return false, nil, nil
				},
			}},
		})
		req := request(time.Now())
		req.Grade = core.Plain
		req.PointOfNoReturn = true
		b.worker.Handle(context.Background(), delivery(req))
		r := b.reply()
		require.Equal(t, 1, calls)
		require.NotZero(t, checks)
		require.False(t, r.NoEffect, "%d calls, %d checks, noEffect %v", calls, checks, r.NoEffect)
	})
}

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

// What is not stored is not said, and without a ledger nothing is proven.
func TestAProofThatIsNotStoredIsNotSaid(t *testing.T) {
	refused := worker.NoEffect(worker.Permanent(errors.New("no")))
	for name, tt := range map[string]struct {
		ledger   port.Ledger
		noEffect bool
	}{
		"no ledger":           {nil, false},
		"writes fail at last": {&sickLedger{Ledger: memory.NewLedger()}, false},
		"a lost write":        {&sickLedger{Ledger: memory.NewLedger(), conflicts: 1}, true},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(context.Context, worker.Call) (any, error) {
				if sick, ok := tt.ledger.(*sickLedger); ok && !tt.noEffect {
					sick.move = errors.New("no table")
				}
				return nil, refused
			}
			b := newBench(t, memory.NewClock(noon), worker.Config{Ledger: tt.ledger, Operations: charge(run)})
			req := request(noon)
			req.Grade = core.Idempotent
			req.PointOfNoReturn = true
			b.worker.Handle(context.Background(), delivery(req))
			r := b.reply()
			require.Equal(t, core.OutcomeFailed, r.Outcome)
			require.Equal(t, tt.noEffect, r.NoEffect)
		})
	}
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
