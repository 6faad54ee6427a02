package agenttest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/agenttest"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// shop is a remote service whose manners can be spoilt one by one.
type shop struct {
	ignoresKeys, keysRace, countsAnew        bool // do
	noFence, undoesNothing, undoTwice        bool // undo
	failsOnNothing, undoIsNoop               bool
	ignoresTime, remembersRefusals, liesNone bool
	saysDone                                 bool // though it refuses
	landsLate                                bool // a slow do, though its caller has gone
	remembers                                int  // keys; 0: all of them

	mu       sync.Mutex
	delay    time.Duration // before each do
	refusing bool
	done     map[string]int
	undone   map[string]int
	refused  map[string]bool
	counter  int
	latest   []string // keys, as they came
}

func (s *shop) effects(key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done[key] + s.done[key+" "] - s.undone[key]
}

func (s *shop) refuse(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusing = yes
}

func (s *shop) slowDown(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay = d
}

func (s *shop) buy(ctx context.Context, c worker.Call) (any, error) {
	s.mu.Lock()
	delay := s.delay
	s.mu.Unlock()
	if s.landsLate && delay > 0 {
		time.AfterFunc(delay, func() { _, _ = s.sell(context.WithoutCancel(ctx), c) })
		<-ctx.Done()
		return nil, ctx.Err()
	}
	select {
	case <-time.After(delay):
	case <-ctx.Done():
	}
	return s.sell(ctx, c)
}

func (s *shop) sell(ctx context.Context, c worker.Call) (any, error) {
	if ctx.Err() != nil && !s.ignoresTime {
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(c.Key)
	_, closed := s.undone[c.Key]
	switch {
	case s.refusing || s.refused[c.Key]:
		s.refused[c.Key] = s.remembersRefusals
		if s.saysDone {
			return nil, nil
		}
		return nil, worker.NoEffect(worker.Permanent(errors.New("sold out")))
	case closed && !s.noFence:
		return nil, worker.NoEffect(worker.Permanent(errors.New("cancelled before")))
	case s.done[c.Key] == 0 || s.ignoresKeys || closed && s.done[c.Key] == s.undone[c.Key]:
		if s.keysRace { // looks, waits, then acts
			s.mu.Unlock()
			time.Sleep(5 * time.Millisecond)
			s.mu.Lock()
		}
		s.done[c.Key]++
	}
	if s.liesNone {
		return nil, worker.NoEffect(errors.New("I think not"))
	}
	s.counter++
	out := map[string]any{"key": c.Key}
	if s.countsAnew {
		out["ticket"] = s.counter
	}
	return out, nil
}

// forget lets go of the keys that came before the last ones that it remembers.
func (s *shop) forget(key string) {
	if s.remembers > 0 && slices.Contains(s.latest, key) &&
		!slices.Contains(s.latest[max(0, len(s.latest)-s.remembers):], key) {
		s.done[key+" "] = s.done[key]
		s.done[key] = 0
	}
	s.latest = append(s.latest, key)
}

func (s *shop) giveBack(_ context.Context, c worker.Call) (any, error) {
	if string(c.Input) != `{"seat":1}` {
		return nil, worker.Permanent(fmt.Errorf("an undo of %s", c.Input))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	stands := s.done[c.Key] - s.undone[c.Key]
	switch {
	case s.undoIsNoop:
	case stands == 0 && s.failsOnNothing:
		return nil, worker.Permanent(errors.New("there is no such purchase"))
	case stands > 0 || s.undoTwice || s.undoesNothing && s.done[c.Key] == 0:
		s.undone[c.Key]++
	default:
		s.undone[c.Key] += 0 // fenced
	}
	return nil, nil
}

func (s *shop) operations() worker.Operations {
	s.done = map[string]int{}
	s.undone = map[string]int{}
	s.refused = map[string]bool{}
	return worker.Operations{"buy": {Run: s.buy}, "give-back": {Run: s.giveBack}}
}

func (s *shop) probe() agenttest.Probe {
	return agenttest.Probe{
		Do: "buy", Undo: "give-back", Input: json.RawMessage(`{"seat":1}`),
		Effects: s.effects, Refuse: s.refuse, Timeout: time.Second,
	}
}

func TestEachGradeIsFound(t *testing.T) {
	for name, tt := range map[string]struct {
		shop  *shop
		grade core.Grade
		why   string // a trial that keeps it from the next grade
	}{
		"a perfect one":          {&shop{}, agenttest.Fenced, ""},
		"a fence needs no clock": {&shop{ignoresTime: true}, agenttest.Fenced, ""},
		"no fence":               {&shop{noFence: true}, agenttest.Idempotent, "do after undo"},
		"no fence and no sense of time": {
			&shop{noFence: true, ignoresTime: true}, agenttest.Plain,
			"time over before the call",
		},
		"keys are ignored": {
			&shop{ignoresKeys: true}, agenttest.Plain,
			`duplicate: after "do 1, do 1" there are 2 effects, not 1`,
		},
		"keys race": {
			&shop{keysRace: true}, agenttest.Plain,
			"duplicates at the same time",
		},
		"another answer each time": {
			&shop{countsAnew: true}, agenttest.Plain,
			`"ticket":6}, and asked for again with the same key {`,
		},
		"undo fails on nothing": {
			&shop{failsOnNothing: true}, agenttest.Plain,
			"undo before do",
		},
		"undo undoes nothing": {
			&shop{undoesNothing: true}, agenttest.Plain,
			"there are -1 effects, not 0",
		},
		"undo counts each time": {&shop{undoTwice: true}, agenttest.Plain, "duplicate undo"},
		"refusals are remembered": {
			&shop{remembersRefusals: true}, agenttest.Plain,
			"a refusal is not remembered: do 2 was answered failed: " +
				"failed: sold out",
		},
		"refuses and says done": {
			&shop{saysDone: true}, agenttest.Plain,
			"the service was made to refuse, and the agent answered done",
		},
		"keys are forgotten": {
			&shop{remembers: 20}, agenttest.Plain,
			"key after many others",
		},
		"undo does nothing at all": {&shop{undoIsNoop: true}, "", "an undo"},
		"says NoEffect of an effect": {
			&shop{liesNone: true}, "",
			"buy says NoEffect (I think not), and the effects went from 0 to 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := agenttest.Find(t, tt.shop.operations(), tt.shop.probe())
			if r.Grade != tt.grade || !strings.Contains(r.String(), tt.why) || tt.grade != "" &&
				r.WhyNot(tt.grade) != "" {
				t.Errorf("found %s", r)
			}
		})
	}
}

// How many calls of others come before a key is asked for again is the probe's: fifty unless it says so.
func TestKeysThatAreRememberedLongEnough(t *testing.T) {
	s := &shop{remembers: 20}
	ops := s.operations()
	probe := s.probe()
	probe.Between = 5
	require.Equal(t, agenttest.Fenced, agenttest.Find(t, ops, probe).Grade)
	// A trial's keys have a common beginning, so that people recognize what the trial left in a service.
	for _, key := range s.latest {
		require.True(t, strings.HasPrefix(key, "agenttest-"), key)
	}
}

// A step without an undo is idempotent at best.
func TestWithoutAnUndo(t *testing.T) {
	s := &shop{}
	ops := s.operations()
	probe := s.probe()
	probe.Undo = ""
	probe.Refuse = nil
	r := agenttest.Find(t, ops, probe)
	require.Equal(t, agenttest.Idempotent, r.Grade)
	require.Contains(t, r.String(), "no undo")
}

// recorder is a test that fails without harm.
type recorder struct {
	testing.TB
	failed string
	logged string
}

func (r *recorder) Helper()                      {}
func (r *recorder) Errorf(f string, args ...any) { r.failed = fmt.Sprintf(f, args...) }
func (r *recorder) Fatal(args ...any)            { r.failed = fmt.Sprint(args...); runtime.Goexit() }
func (r *recorder) Logf(f string, args ...any)   { r.logged = fmt.Sprintf(f, args...) }

func TestEarns(t *testing.T) {
	for name, tt := range map[string]struct {
		shop *shop
		want core.Grade
		says string // in the failure; "" where it passes
	}{
		"as declared": {&shop{noFence: true}, agenttest.Idempotent, ""},
		"better":      {&shop{}, agenttest.Plain, ""},
		"worse": {
			&shop{noFence: true}, agenttest.Fenced,
			"buy with give-back is not fenced:\n  do after undo: after \"undo 2, any do 1\" there are 1 effects, not 0",
		},
		"no such grade":   {&shop{}, "perfect", "no grade"},
		"not worth a try": {&shop{undoIsNoop: true}, agenttest.Plain, "is not plain"},
	} {
		r := &recorder{TB: t}
		agenttest.Earns(r, tt.shop.operations(), tt.shop.probe(), tt.want)
		require.Equal(t, tt.says == "", r.failed == "", name)
		require.Contains(t, r.failed, tt.says, name)
		if tt.says == "" && !strings.Contains(r.logged, "earns") {
			t.Errorf("%s: logged %q", name, r.logged)
		}
	}
}

// What is wrong with the probe, the operations or the context gives no grade: it ends the test.
func TestNothingToGrade(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	o, err := agenttest.Attach(t.Context(), "kiosk")
	require.NoError(t, err)
	defer o.Close()
	for want, spoil := range map[string]func(*agenttest.Probe, worker.Operations){
		"needs Do and Effects":   func(p *agenttest.Probe, _ worker.Operations) { p.Do = "" },
		"the probe needs Do and": func(p *agenttest.Probe, _ worker.Operations) { p.Effects = nil },
		"it ends in the middle of a value": func(p *agenttest.Probe, _ worker.Operations) {
			p.Input = json.RawMessage("{")
		},
		"it has no operations": func(_ *agenttest.Probe, ops worker.Operations) { clear(ops) },
	} {
		s := &shop{}
		ops := s.operations()
		probe := s.probe()
		spoil(&probe, ops)
		r := &recorder{TB: t}
		done := make(chan struct{})
		go func() { defer close(done); agenttest.Find(r, ops, probe) }()
		if <-done; !strings.Contains(r.failed, want) {
			t.Errorf("within this process: %s; want %q", r.failed, want)
		}
		ended := context.Canceled.Error()
		if len(ops) > 0 {
			_, err := o.Find(t.Context(), probe)
			ended = want
			require.Contains(t, fmt.Sprint(err), want)
		}
		_, err := o.Find(over, probe)
		require.Contains(t, fmt.Sprint(err), ended)
	}
}
