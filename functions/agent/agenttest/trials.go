package agenttest

import (
	"bytes"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

type trial struct {
	name         string
	rule         string
	of           class
	needsUndo    bool
	needsRefusal bool
	needsDelay   bool
	// inside means that the trial needs a wrapper between the worker and the operations. An agent in a
	// separate process does not allow a wrapper.
	inside bool
	run    func(b *bench)
}

// class is a class of trials.
type class struct {
	grades []core.Grade // grades that a service earns only if the trial passes
	with   core.Grade   // grade in the requests; the worker uses its ledger for Plain
}

var (
	everyGrade = class{[]core.Grade{Fenced, Idempotent, Plain}, Idempotent}
	byLedger   = class{[]core.Grade{Plain}, Plain}
	byKey      = class{[]core.Grade{Fenced, Idempotent}, Idempotent}
	fenced     = class{[]core.Grade{Fenced}, Fenced}
	// An idempotent service is safe only if calls end in time (P21, an undo waits for quiet). A fenced
	// service refuses late calls.
	inTime = class{[]core.Grade{Idempotent}, Idempotent}
)

// trials lists all trials in the order in which they run. Only requests of the grade Plain use the
// agent's ledger.
var trials = []trial{
	{name: "a do", rule: "P15", of: everyGrade, run: func(b *bench) {
		b.effects(0, "before anything was asked for")
		b.done(b.do(1), "the do")
		b.effects(1, "after a do")
	}},
	{name: "an undo", rule: "P24", of: everyGrade, needsUndo: true, run: func(b *bench) {
		b.done(b.do(1), "the do")
		b.done(b.undo(2), "its undo")
		b.effects(0, "after a do and its undo")
	}},
	{name: "by the ledger: an undo", rule: "P31", of: byLedger, needsUndo: true, run: func(b *bench) {
		b.done(b.do(1), "the do")
		b.done(b.undo(2), "its undo")
		b.done(b.undo(2), "its undo, asked for again,")
		b.effects(0, "after a do and its undo")
	}},
	{name: "by the ledger: duplicates", rule: "P31", of: byLedger, run: func(b *bench) {
		b.many(core.Do, 1)
		b.done(b.do(1), "the do, asked for again,")
		b.effects(1, "after duplicates of a do")
	}},
	{name: "by the ledger: answer lost", rule: "P31", of: byLedger, inside: true, run: func(b *bench) {
		b.hide = true
		b.do(1)
		b.hide = false
		b.do(2)
		b.effects(1, "after a do whose answer was lost, and another attempt,")
	}},
	{name: "by the ledger: undo before do", rule: "P31", of: byLedger, needsUndo: true, run: func(b *bench) {
		b.done(b.undo(2), "the undo of what was never done")
		b.do(1)
		b.effects(0, "after an undo and then its do")
	}},
	{name: "late start", rule: "P25", of: everyGrade, run: func(b *bench) {
		r := b.request(core.Do, 1)
		r.ClaimedAt = r.ClaimedAt.Add(-core.Hour)
		r.StopBy = r.ClaimedAt.Add(core.Minute)
		r.CompleteBy = r.ClaimedAt.Add(core.Minute)
		for _, reply := range b.send(r) {
			if reply.Outcome != core.OutcomeRetryLater || reply.Error == nil ||
				reply.Error.Code != core.CodeQueue {
				b.fail("it came after its stopBy, and the reply is %s; reply retry-later with the code %s",
					reply.Outcome, core.CodeQueue)
			}
		}
		if b.calls > 0 {
			b.fail("it came after its stopBy, and the agent made %d calls", b.calls)
		}
		b.effects(0, "after a do that came too late")
	}},

	{name: "duplicate", rule: "P2", of: byKey, run: func(b *bench) {
		one := b.do(1)
		two := b.do(1)
		b.done(one, "the do")
		b.done(two, "its duplicate")
		b.effects(1, "after a do and its duplicate")
		b.same(one, two)
	}},
	{name: "higher attempt", rule: "P2", of: byKey, run: func(b *bench) {
		one := b.do(1)
		two := b.do(7)
		b.done(one, "the do")
		b.done(two, "its seventh attempt")
		b.effects(1, "after a do and another attempt of it")
		b.same(one, two)
	}},
	{name: "duplicates at the same time", rule: "P2", of: byKey, run: func(b *bench) {
		b.many(core.Do, 1)
		b.effects(1, "after duplicates of a do at the same time")
		b.done(b.do(2), "the do, asked for again,")
		b.effects(1, "after one more")
	}},
	{name: "reply lost", rule: "P13", of: byKey, run: func(b *bench) {
		b.lose = true
		b.do(1)
		b.lose = false
		b.done(b.do(1), "the do, whose reply was lost and which came again,")
		b.effects(1, "after a do that was handled twice, because its reply was lost,")
	}},
	{name: "answer lost", rule: "P7", of: byKey, inside: true, run: func(b *bench) {
		b.hide = true
		b.do(1)
		b.hide = false
		b.done(b.do(2), "the do, after an attempt whose answer was lost,")
		b.effects(1, "after two attempts, the answer of the first lost,")
	}},
	{name: "undo after an answer was lost", rule: "P24", of: byKey, needsUndo: true, inside: true, run: func(b *bench) {
		b.hide = true
		b.do(1)
		b.hide = false
		b.done(b.undo(2), "the undo of a do whose answer was lost")
		b.effects(0, "after the undo of a do whose answer was lost")
	}},
	{name: "undo before do", rule: "P20", of: byKey, needsUndo: true, run: func(b *bench) {
		b.done(b.undo(2), "the undo of what was never done")
		b.effects(0, "after the undo of what was never done")
	}},
	{name: "duplicate undo", rule: "P2", of: byKey, needsUndo: true, run: func(b *bench) {
		b.done(b.do(1), "the do")
		b.done(b.undo(2), "the undo")
		b.done(b.undo(2), "its duplicate")
		b.done(b.undo(3), "another attempt of it")
		b.effects(0, "after a do and three undos")
	}},
	{name: "answer of an undo lost", rule: "P7", of: byKey, needsUndo: true, inside: true, run: func(b *bench) {
		b.done(b.do(1), "the do")
		b.hide = true
		b.undo(2)
		b.hide = false
		b.done(b.undo(3), "the undo, after an attempt whose answer was lost,")
		b.effects(0, "after a do and two attempts to undo it")
	}},
	{name: "undos at the same time", rule: "P2", of: byKey, needsUndo: true, run: func(b *bench) {
		b.done(b.do(1), "the do")
		b.many(core.UndoOp, 2)
		b.done(b.undo(3), "the undo, asked for again,")
		b.effects(0, "after a do and duplicates of its undo")
	}},
	{name: "a refusal is not remembered", rule: "P18", of: byKey, needsRefusal: true, run: func(b *bench) {
		b.probe.Refuse(true)
		r := b.do(1)
		b.probe.Refuse(false)
		if r != nil && r.Outcome == core.OutcomeDone {
			b.fail("the service was made to refuse, and the agent answered done")
		}
		b.effects(0, "after a do that was refused")
		b.done(b.do(2), "the do, resubmitted after a refusal,")
		b.effects(1, "after a refusal and another attempt")
	}},

	{name: "time over before the call", rule: "P25", of: inTime, inside: true, run: func(b *bench) {
		b.stall = true
		b.probe.Timeout = b.probe.Timeout / 50
		b.do(1)
		b.effects(0, "after a do whose context had ended before it was called")
	}},
	{
		name: "call past stopBy", rule: "P25", of: inTime, needsDelay: true,
		run: (*bench).pastStopBy,
	},
	{name: "key after many others", rule: "P18", of: byKey, run: func(b *bench) {
		b.done(b.do(1), "the do")
		b.between()
		b.done(b.do(2), "the do, asked for again after others,")
		b.effects(1, "after a do, others, and the do again,")
	}},

	{name: "do after undo", rule: "P20", of: fenced, needsUndo: true, run: func(b *bench) {
		b.done(b.undo(2), "the undo of what was never done")
		b.do(1)
		b.effects(0, "after an undo and then its do, which came late,")
	}},
	{name: "fence after many others", rule: "P20", of: fenced, needsUndo: true, run: func(b *bench) {
		b.done(b.undo(2), "the undo of what was never done")
		b.between()
		b.do(1)
		b.effects(0, "after an undo, dos of other keys, and then its do,")
	}},
	{name: "late copy of what was undone", rule: "P20", of: fenced, needsUndo: true, run: func(b *bench) {
		b.done(b.do(1), "the do")
		b.done(b.undo(2), "its undo")
		b.do(1)
		b.effects(0, "after a do, its undo, and a late copy of the do,")
	}},
	{name: "do and undo at the same time", rule: "P20", of: fenced, needsUndo: true, run: func(b *bench) {
		requests := make([]*message.Request, 0, b.probe.Together)
		for i := range b.probe.Together {
			op := core.Do
			if i%2 == 1 {
				op = core.UndoOp
			}
			requests = append(requests, b.request(op, 1+i%2))
		}
		b.send(requests...)
		b.done(b.undo(3), "the undo, asked for again,")
		b.effects(0, "after dos and undos at the same time")
		b.do(1)
		b.effects(0, "after one more late do")
	}},
}

func (b *bench) same(one, two *message.Reply) {
	if one != nil && two != nil && !bytes.Equal(one.Output, two.Output) {
		b.fail("it was answered %.80s, and asked for again with the same key %.80s", one.Output, two.Output)
	}
}

// pastStopBy makes the service so slow that stopBy passes before the effect of the call. The effect must not
// happen after stopBy, because the undo may have run already (P21).
func (b *bench) pastStopBy() {
	short := b.probe.Timeout / 10
	b.probe.Delay(4 * short)
	r := b.request(core.Do, 1)
	r.Timeout = core.DurationOf(short)
	r.StopBy = r.ClaimedAt.Add(core.DurationOf(short))
	r.CompleteBy = r.StopBy
	b.mu.Lock()
	b.unwatched = true
	b.mu.Unlock()
	over := make(chan struct{})
	go func() { defer close(over); b.send(r) }()
	time.Sleep(time.Until(r.StopBy.Std()))
	then := b.probe.Effects(b.key)
	<-over
	time.Sleep(time.Until(r.StopBy.Std().Add(6 * short))) // all calls have ended by now
	b.probe.Delay(0)
	if later := b.probe.Effects(b.key); later != then {
		b.fail("at its stopBy there were %d effects of a slow call, and later %d", then, later)
	}
}
