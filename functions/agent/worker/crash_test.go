package worker_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// mortal is a process that dies at its nth step: each use of a port and each call is two steps,
// before and after its effect. From then on nothing of it has an effect any more.
type mortal struct {
	left  int // steps to live; below 0: for ever
	dead  bool
	taken int
}

var errDead = errors.New("the process has died")

func (m *mortal) step() error {
	m.taken++
	if m.dead || m.left == 0 {
		m.dead = true
		return errDead
	}
	m.left--
	return nil
}

// around carries out an effect, unless the process dies before it; a death after it hides its answer.
func (m *mortal) around(effect func() error) error {
	if err := m.step(); err != nil {
		return err
	}
	if err := effect(); err != nil {
		return err
	}
	return m.step()
}

type mortalLedger struct {
	port.Ledger
	life *mortal
}

func (l mortalLedger) Entry(ctx context.Context, key string) (e port.LedgerEntry, err error) {
	err = l.life.around(func() error { e, err = l.Ledger.Entry(ctx, key); return err })
	return e, err
}

func (l mortalLedger) Move(ctx context.Context, e port.LedgerEntry) error {
	return l.life.around(func() error { return l.Ledger.Move(ctx, e) })
}

type mortalQueue struct {
	port.Queue
	life *mortal
}

func (q mortalQueue) Send(ctx context.Context, ms []port.Message) []error {
	return []error{q.life.around(func() error { return q.Queue.Send(ctx, ms)[0] })}
}

// service is plain: each call has its effect once more. What it answers is scripted.
type service struct {
	dos, undos int
	answers    []error // errors of the calls, in turn; nil means success
	effect     []bool  // whether each call has its effect
	calls      int
}

func (s *service) run(life *mortal, undo bool) (any, error) {
	var answer error
	err := life.around(func() error {
		effect := true
		if s.calls < len(s.answers) {
			answer = s.answers[s.calls]
			effect = s.effect[s.calls]
		}
		s.calls++
		if effect && undo {
			s.undos++
		} else if effect {
			s.dos++
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return map[string]bool{"undo": undo}, answer
}

// P31 with a crash at every step of a do, of its undo, and of the redelivery after the crash: never
// two effects, and never an answer "done" that is not true.
func TestCrashesOfPlainOperations(t *testing.T) {
	lost := errors.New("reset")
	scenarios := map[string]struct {
		answers []error
		effect  []bool
	}{
		"done":              {},
		"answer lost":       {[]error{lost}, []bool{true}},
		"request lost":      {[]error{lost}, []bool{false}},
		"never sent":        {[]error{worker.NoEffect(lost)}, []bool{false}},
		"refused":           {[]error{worker.NoEffect(worker.Permanent(lost))}, []bool{false}},
		"done, undo lost":   {[]error{nil, lost}, []bool{true, true}},
		"done, undo unsent": {[]error{nil, worker.NoEffect(lost)}, []bool{true, false}},
		"done, undo denied": {[]error{nil, worker.NoEffect(worker.Permanent(lost))}, []bool{true, false}},
	}
	crashes := 0
	stride := 1 // between the second deaths that are tried
	if testing.Short() {
		stride = 4
	}
	for name, sc := range scenarios {
		for first := -1; first < 40; first++ {
			for second := -1; second < 12; second += stride {
				s := &service{answers: sc.answers, effect: sc.effect}
				crashes += plainLife(t, fmt.Sprintf("%s, deaths %d and %d", name, first, second), s, first,
					second)
			}
		}
	}
	require.GreaterOrEqual(t, crashes, 500)
}

// plainLife sends a do, its redeliveries, a second attempt, then the undo, likewise. It answers how
// often a process died.
func plainLife(t *testing.T, name string, s *service, first, second int) (crashes int) {
	t.Helper()
	ledger := memory.NewLedger()
	lives := []int{first, second}
	life := &mortal{}
	var b *bench
	restart := func() {
		left := -1
		if len(lives) > 0 {
			left = lives[0]
			lives = lives[1:]
		}
		*life = mortal{left: left}
	}
	restart()
	clock := memory.NewClock(noon)
	b = newBench(t, clock, worker.Config{Operations: charge(always(nil, nil))})
	config := worker.Config{
		Agent: "payment", Clock: clock, Ledger: mortalLedger{ledger, life}, Retry: worker.Retry{Tries: 1},
		Breaker: worker.Breaker{Off: true},
		Replies: mortalQueue{b.queue(port.Replies), life}, Quarantine: b.queue(port.Quarantine),
		Operations: worker.Operations{
			"charge": {Run: func(context.Context, worker.Call) (any, error) { return s.run(life, false) }},
			"refund": {Run: func(context.Context, worker.Call) (any, error) { return s.run(life, true) }},
		},
	}
	w, err := worker.New(config)
	require.NoError(t, err)
	attempt := 0
	for _, op := range []core.Operation{core.Do, core.UndoOp} {
		for range 2 { // attempts
			attempt++
			req := request(noon)
			req.Grade = core.Plain
			req.Operation = op
			req.Attempt = attempt
			if op == core.UndoOp {
				req.Name = "refund"
			}
			for range 4 { // deliveries
				w.Handle(context.Background(), delivery(req))
				if life.dead {
					crashes++
					restart()
					continue
				}
			}
			judge(t, name, s, b.replies())
		}
	}
	return crashes
}

// judge holds the replies to what the service knows.
func judge(t *testing.T, name string, s *service, replies []*message.Reply) {
	t.Helper()
	require.LessOrEqual(t, s.dos, 1)
	require.LessOrEqual(t, s.undos, 1)
	for _, r := range replies {
		if r.Outcome != core.OutcomeDone {
			continue
		}
		if r.Operation == core.Do && s.dos != 1 {
			t.Fatalf("%s: done is answered, and nothing was done", name)
		}
		if r.Operation == core.UndoOp && s.dos != s.undos {
			t.Fatalf("%s: undone is answered, with %d effects and %d undone", name, s.dos, s.undos)
		}
	}
}
