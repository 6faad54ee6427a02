package agenttest

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

type trial struct {
	name  string
	rule  string
	of    class
	steps string // separated by commas, see bench.play
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
	// The first request is late anyway, so that an agent that takes long to start makes no other request late.
	{"late start", "P25", everyGrade, "effects 0, late do 1, effects 0"},
	{"a do", "P15", everyGrade, "effects 0, do 1, effects 1"},
	{"an undo", "P24", everyGrade, "do 1, undo 2, effects 0"},
	{"by the ledger: an undo", "P31", byLedger, "do 1, undo 2, undo 2, effects 0"},
	{"by the ledger: duplicates", "P31", byLedger, "several do 1, do 1, effects 1"},
	{"by the ledger: answer lost", "P31", byLedger, "unanswered do 1, any do 2, effects 1"},
	{"by the ledger: undo before do", "P31", byLedger, "undo 2, any do 1, effects 0"},

	{"duplicate", "P2", byKey, "do 1, do 1, effects 1, same"},
	{"higher attempt", "P2", byKey, "do 1, do 7, effects 1, same"},
	{"duplicates at the same time", "P2", byKey, "several do 1, effects 1, do 2, effects 1"},
	{"reply lost", "P13", byKey, "lost do 1, do 1, effects 1"},
	{"answer lost", "P7", byKey, "unanswered do 1, do 2, effects 1"},
	{"undo after an answer was lost", "P24", byKey, "unanswered do 1, undo 2, effects 0"},
	{"undo before do", "P20", byKey, "undo 2, effects 0"},
	{"duplicate undo", "P2", byKey, "do 1, undo 2, undo 2, undo 3, effects 0"},
	{"answer of an undo lost", "P7", byKey, "do 1, unanswered undo 2, undo 3, effects 0"},
	{"undos at the same time", "P2", byKey, "do 1, several undo 2, undo 3, effects 0"},
	{"a refusal is not remembered", "P18", byKey, "refused do 1, effects 0, do 2, effects 1"},

	{"time over before the call", "P25", inTime, "stalled do 1, effects 0"},
	{"call past stopBy", "P25", inTime, "slow do 1"},
	{"key after many others", "P18", byKey, "do 1, others, do 2, effects 1"},

	{"do after undo", "P20", fenced, "undo 2, any do 1, effects 0"},
	{"fence after many others", "P20", fenced, "undo 2, others, any do 1, effects 0"},
	{"late copy of what was undone", "P20", fenced, "do 1, undo 2, any do 1, effects 0"},
	{"do and undo at the same time", "P20", fenced, "mixed do and undo, undo 3, effects 0, any do 1, effects 0"},
}

// possible reports whether the probe has what the trial needs. inside means that the agent is in this process, so that
// the trial can wrap its operations.
func (tr trial) possible(p Probe, inside bool) bool {
	for word, there := range map[string]bool{
		"undo": p.Undo != "", "refused": p.Refuse != nil, "slow": p.Delay != nil,
		"unanswered": inside, "stalled": inside,
	} {
		if strings.Contains(tr.steps, word) && !there {
			return false
		}
	}
	return true
}

func (b *bench) run(steps string, operations *worker.Operations) {
	if operations != nil {
		stop, err := b.start(*operations)
		if err != nil {
			b.broken = err
			return
		}
		defer stop()
	}
	for step := range strings.SplitSeq(steps, ", ") {
		b.play(step)
	}
}

// play runs one step. "do 2" is a request of attempt 2, which must be answered done. A word before it changes this:
//   - any: any reply passes
//   - several: there are copies at the same time
//   - unanswered: the service's answer does not reach the agent
//   - lost: the agent's reply gets lost
//   - refused, stalled, late, slow: see below
func (b *bench) play(step string) {
	words := strings.Fields(step)
	n, _ := strconv.Atoi(words[len(words)-1])
	op := core.Do
	if slices.Contains(words, "undo") {
		op = core.UndoOp
	}
	r := b.request(op, n)
	switch words[0] {
	case "effects":
		if got := b.probe.Effects(b.key); got != n {
			b.fail("after %q there are %d effects, not %d", strings.Join(b.before, ", "), got, n)
		}
		return
	case "same":
		if n := len(b.outputs); n > 1 && !bytes.Equal(b.outputs[n-2], b.outputs[n-1]) {
			b.fail("it was answered %.80s, and asked for again with the same key %.80s", b.outputs[n-2], b.outputs[n-1])
		}
		return
	case "any":
		b.send(r)
	case "several":
		b.send(slices.Repeat([]*message.Request{r}, b.probe.Together)...)
	case "unanswered":
		b.hide = true
		b.send(r)
		b.hide = false
	case "lost":
		b.lose = true
		b.send(r)
		b.lose = false
	case "stalled":
		b.stall = true
		r.Timeout /= 50
		b.send(r)
	case "refused":
		b.refused(r)
	case "late":
		b.late(r)
	case "slow":
		b.slow(r)
	case "mixed":
		b.mixed()
	case "others":
		b.others()
	default:
		b.done(b.send(r), step)
	}
	b.before = append(b.before, step)
}

func (b *bench) mixed() {
	requests := make([]*message.Request, 0, b.probe.Together)
	for i := range b.probe.Together {
		op := core.Do
		if i%2 == 1 {
			op = core.UndoOp
		}
		requests = append(requests, b.request(op, 1+i%2))
	}
	b.send(requests...)
}

// others sends dos of other keys.
func (b *bench) others() {
	for n := range b.probe.Between {
		r := b.request(core.Do, 1)
		r.OrderID = fmt.Sprintf("%s-%d", b.order, n)
		r.Key = core.Key(r.OrderID, 0, "step")
		b.done(b.send(r), "a do of another key")
	}
}

func (b *bench) refused(r *message.Request) {
	b.probe.Refuse(true)
	replies := b.send(r)
	b.probe.Refuse(false)
	if len(replies) > 0 && replies[0].Outcome == core.OutcomeDone {
		b.fail("the service was made to refuse, and the agent answered done")
	}
}

// late sends a request whose stopBy has passed.
func (b *bench) late(r *message.Request) {
	r.ClaimedAt = r.ClaimedAt.Add(-core.Hour)
	r.StopBy = r.ClaimedAt.Add(core.Minute)
	r.CompleteBy = r.StopBy
	for _, reply := range b.send(r) {
		if reply.Outcome != core.OutcomeRetryLater || reply.Error == nil || reply.Error.Code != core.CodeQueue {
			b.fail("it came after its stopBy, and the reply is %s; reply retry-later with the code %s",
				reply.Outcome, core.CodeQueue)
		}
	}
	if b.calls > 0 {
		b.fail("it came after its stopBy, and the agent made %d calls", b.calls)
	}
}

// slow makes the service so slow that stopBy passes before the effect of the call. The effect must not
// happen after stopBy, because the undo may have run already (P21).
func (b *bench) slow(r *message.Request) {
	short := b.probe.Timeout / 10
	b.probe.Delay(4 * short)
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
