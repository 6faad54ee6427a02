package simulate

import (
	"maps"
	"slices"

	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// lesson is what a reply teaches a Scheduler that accepts it, as the step's current attempt: how long the
// request had waited, but no more than the time since its claim (P32).
type lesson struct {
	order, agent string // agent "": of that order it is not known what was taught
	letter       int
	scheduler.Wait
}

// lesson is what the n-th event of an order teaches if it is accepted; nil: nothing.
func (iv *invocation) lesson(s *sight, m *model, n int, ev any) *lesson {
	r, ok := ev.(*message.Reply)
	i := iv.letterOf(s, n)
	if !ok || i < 0 || m.t == nil {
		return nil
	}
	step := m.t.Step(r.Step)
	if step == nil || step.Attempt != r.Attempt {
		return nil
	}
	waited := min(r.Waited+iv.lay(i), max(0, m.now.Sub(step.ClaimedAt)))
	return &lesson{s.id, m.def.Steps[m.def.Index(r.Step)].Agent, i, scheduler.Wait{Waited: waited, Learnt: m.now}}
}

// learnt holds what a Scheduler has learnt in a handling to what its replies taught. gone tells of which orders
// all messages are deleted.
func (iv *invocation) learnt(gone func(id string) bool) {
	p := iv.p
	if p.waits == nil {
		return
	}
	want, open := maps.Clone(p.known), false
	if want == nil {
		want = map[string]scheduler.Wait{}
	}
	for _, l := range iv.lessons() {
		want[l.agent] = l.Wait
		open = open || l.agent == "" || !gone(l.order)
	}
	for _, s := range iv.sights {
		open = open || s.doubt // its write may be stored, or be found to be its own
	}
	p.known = p.waits.All()
	iv.w.checks.did("P32")
	if !open && !maps.Equal(p.known, want) && len(p.known)+len(want) > 0 {
		iv.w.violate("P32", "%s has learnt that requests wait for %v, and its replies say %v", p.name, p.known, want)
	}
}

// lessons of all orders, in the order of their messages.
func (iv *invocation) lessons() []lesson {
	var all []lesson
	for _, s := range iv.sights {
		all = append(all, s.lessons...)
	}
	slices.SortStableFunc(all, func(a, b lesson) int { return a.letter - b.letter })
	return all
}

// knows is what a Scheduler's decisions take from what it has learnt; nil for other processes.
func (p *process) knows(now core.Time) map[string]core.Duration {
	if p.waits == nil {
		return nil
	}
	return p.waits.At(now)
}
