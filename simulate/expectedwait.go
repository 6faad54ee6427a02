package simulate

import (
	"maps"
	"slices"

	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/simulate/internal/model"
)

// expectedWait is the wait that a Scheduler records when it accepts a reply, as the step's current attempt:
// how long the request had waited, but no more than the time since its claim (P32).
type expectedWait struct {
	order, agent string // agent "": of that order it is not known what was taught
	letter       int
	scheduler.Wait
	vague core.Duration // it may have been decided so much earlier or later
}

// expectedWait is what the n-th event of an order adds to the recorded waits if it is accepted; nil: nothing.
func (iv *invocation) expectedWait(s *sight, m *model.Model, n int, ev any) *expectedWait {
	r, ok := ev.(*message.Reply)
	i := iv.letterOf(s, n)
	if !ok || i < 0 || m.T == nil || r.Outcome == message.Progress {
		return nil
	}
	step := m.T.Step(r.Step)
	if step == nil || step.Attempt != r.Attempt {
		return nil
	}
	waited := min(r.Waited+iv.inQueue(i), max(0, m.Now.Sub(step.ClaimedAt)))
	return &expectedWait{order: s.id, agent: m.Def.Steps[m.Def.Index(r.Step)].AskedAgent(m.T.Step(r.Step)),
		letter: i, Wait: scheduler.Wait{Waited: waited, Learnt: m.Now}}
}

// learnt holds what a Scheduler has learnt in a handling to what its replies taught. gone says which orders
// all messages are deleted.
func (iv *invocation) learnt(gone func(id string) bool) {
	p := iv.p
	if p.waits == nil {
		return
	}
	got := p.waits.All()
	want, open := maps.Clone(p.known), false
	if want == nil {
		want = map[string]scheduler.Wait{}
	}
	for _, l := range iv.expectedWaits() {
		open = open || l.agent == "" || !gone(l.order)
		if want[l.agent] = l.Wait; l.like(got[l.agent]) {
			want[l.agent] = got[l.agent]
		}
	}
	for _, s := range iv.sights {
		open = open || s.doubt // its write may be stored, or be found to be its own
	}
	p.known = got
	iv.w.checks.did("P32")
	if !open && !maps.Equal(p.known, want) && len(p.known)+len(want) > 0 {
		iv.w.violate("P32", "%s has learnt that requests wait for %v, and its replies say %v", p.name,
			p.known, want)
	}
}

// like: the time of the decision is known within the readings of the clock only.
func (l *expectedWait) like(w scheduler.Wait) bool {
	near := func(d core.Duration) bool { return -l.vague <= d && d <= l.vague }
	return near(core.Duration(w.Learnt-l.Learnt)) && near(w.Waited-l.Waited)
}

// expectedWaits of all orders, in the order of their messages.
func (iv *invocation) expectedWaits() []expectedWait {
	var all []expectedWait
	for _, s := range iv.sights {
		all = append(all, s.expectedWaits...)
	}
	slices.SortStableFunc(all, func(a, b expectedWait) int { return a.letter - b.letter })
	return all
}

// knows is what a Scheduler's decisions take from what it has learnt; nil for other processes.
func (p *process) knows(now core.Time) map[string]core.Duration {
	if p.waits == nil {
		return nil
	}
	return p.waits.At(now)
}
