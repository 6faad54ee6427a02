package core_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// drawn makes a world's choices with rapid: `go test -run TestInvariant -rapid.checks=10000` plays
// more of them.
type drawn struct{ *rapid.T }

func (d drawn) choose(what string, n int) int { return rapid.IntRange(0, n-1).Draw(d.T, what) }

// TestInvariants plays random orders with every fault, one invariant at a time.
func TestInvariants(t *testing.T) {
	for _, invariant := range invariants {
		t.Run(invariant, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				w := newWorld(drawn{rt}, invariant, anyGrade, rt.Fatalf)
				for range 20 + w.choose("acts", 60) {
					w.act()
				}
			})
		})
	}
}

// TestLiveness: after the faults stop, whatever was lost before, the order comes to rest; and with
// an operator who mends things, to a real end.
func TestLiveness(t *testing.T) {
	for what, grades := range map[string][]core.Grade{
		"fenced": {core.Fenced}, "idempotent": {core.Idempotent}, "plain": {core.Plain}, "mixed": anyGrade,
	} {
		t.Run(what, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				w := newWorld(drawn{rt}, "", grades, rt.Fatalf)
				for range 20 + w.choose("acts", 80) {
					w.act()
				}
				w.heal()
				w.rest()
				w.mend()
			})
		})
	}
}

// heal ends the faults; what is under way may be lost.
func (w *world) heal() {
	if w.chance("everything is lost", 2) {
		w.soup, w.requests = nil, nil
	}
	w.calls = nil
	if w.task == nil {
		w.soup = append(w.soup, letter{ev: w.submit}) // the application asks again until it is answered
	}
}

// TestCalmOrdersEndProcessed: with agents that never fail, and a process that only restarts, every
// order ends Processed.
func TestCalmOrdersEndProcessed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(drawn{rt}, "", anyGrade, rt.Fatalf)
		w.def.HopBudget, w.def.Deadline = 100, 0
		if w.broken {
			rt.Skip("an expression fails")
		}
		w.deliver(w.submit, true)
		for range w.choose("turns", 12) {
			switch w.choose("turn", 3) {
			case 0:
				w.soup, w.requests = nil, nil
				w.restart()
			case 1:
				w.serve()
			case 2:
				if len(w.soup) > 0 {
					w.deliver(w.soup[len(w.soup)-1].ev, true)
				}
			}
		}
		w.soup, w.requests = nil, nil
		w.restart()
		w.rest()
		if w.task.ProcessState != core.Processed {
			w.violate("", "it ended %s", states(w.task))
		}
	})
}

// serve is an agent that is well: it takes all requests and succeeds.
func (w *world) serve() {
	asked := w.requests
	w.requests, w.well = nil, true
	defer func() { w.well = false }()
	for _, r := range asked {
		n := len(w.calls)
		w.take(r)
		for _, c := range w.calls[n:] {
			w.land(c, succeeds)
		}
		w.calls = w.calls[:n]
	}
}

// rest goes on without faults until the order is at rest, within a bound.
func (w *world) rest() {
	for range 300 {
		w.serve()
		early := w.soup[:0:0]
		inbox := w.soup
		w.soup = nil
		for _, l := range inbox {
			if l.at > w.real {
				early = append(early, l)
				continue
			}
			w.deliver(l.ev, true)
		}
		moved := len(w.soup) > 0 || len(w.requests) > 0
		w.soup = append(w.soup, early...)
		if moved {
			continue
		}
		if w.task.AtRest() {
			if _, at := core.Index(w.task); at != 0 && w.task.ProcessState != core.Error {
				w.violate("21", "at rest, and indexed at %s", at)
			}
			return
		}
		_, next := core.Index(w.task)
		for _, l := range early {
			next = min(next, l.at)
		}
		w.real = max(w.real+1, next)
		w.calmSweep()
	}
	w.violate("", "P9: it does not come to rest: %s", states(w.task))
}

func (w *world) calmSweep() {
	now := w.real
	if bucket, at := core.Index(w.task); bucket != "due" || at > now {
		return
	}
	events := core.SweepEvents(w.def, w.task, now)
	if pushed, moved := core.Push(w.task); len(events) == 0 && moved {
		w.commit(pushed)
	}
	for _, ev := range events {
		if dec, ok := w.decide(ev, core.At{Now: now, By: "supervisor-1"}); ok {
			w.send(dec.Effects)
			if dec.Settles {
				w.commit(core.Settled(w.task))
			}
		}
	}
}

// mend is the operator who finds out what happened, says so, and resubmits, until there is a real end.
func (w *world) mend() {
	w.def.HopBudget = 50 // one below the steps' own retries stops them before they are in doubt for good
	for range 30 {
		if w.task.ProcessState != core.Error || w.broken {
			return
		}
		w.real = w.real.Add(core.Hour)
		w.commands++
		id := fmt.Sprintf("m%d", w.commands)
		ev := w.unsaid(id)
		if ev == nil {
			ev = core.Resubmit{ID: id, Command: w.task.Command}
		}
		w.deliver(ev, true)
		if last := w.task.Verdicts[len(w.task.Verdicts)-1]; !last.Accepted {
			w.violate("", "P18: %s is refused: %s", name(ev), last.Reason)
		}
		w.rest()
	}
	w.violate("", "P18: an operator who mends everything brings it to no end: %s", states(w.task))
}

// unsaid is a fact about a step that was not stated since its last attempt.
func (w *world) unsaid(id string) core.Event {
	for _, ev := range w.facts(id, w.task.Command) {
		s := w.task.Step(ev.(core.Resolve).Step)
		if s.Resolved == nil || s.Resolved.At <= s.ClaimedAt {
			return ev
		}
	}
	return nil
}

// The worlds reach what they are meant to hold: a test of the test.
func TestWorldsReachEveryEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("too few worlds for that")
	}
	reached := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(drawn{rt}, "", anyGrade, rt.Fatalf)
		for range 90 {
			w.act()
			if w.task != nil {
				reached[string(w.task.ProcessState)+string(w.task.Phase)]++
				if w.task.Definition != "0123456789abcdef" && w.task.Definition != "" {
					reached["moved"]++
				}
				reached["run "+fmt.Sprint(min(w.task.Run, 1))]++
				for i := range w.task.Steps {
					reached["step "+string(w.task.Steps[i].State)]++
				}
			}
		}
	})
	t.Logf("the worlds reached %v", reached)
	for _, want := range []string{"Processing", "Compensating", "Processed", "Compensated", "Cancelled", "Errorforward", "Errorundo", "run 1", "moved",
		"step Skipped", "step Failed", "step UndoWait", "step Compensating"} {
		if reached[want] == 0 {
			t.Errorf("no world reached %s; they reached %v", want, reached)
		}
	}
}
