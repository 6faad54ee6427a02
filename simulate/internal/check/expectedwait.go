package check

import (
	"maps"
	"slices"

	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/simulate/internal/model"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// expectedWait returns the queue wait that the Scheduler must record for the n-th event of an order. The
// Scheduler records a wait only for a final reply to the current attempt of a step. For all other events
// expectedWait returns nil.
func expectedWait(iv *world.Invocation, s *world.Sight, m *model.Model, n int, ev any) *world.ExpectedWait {
	r, ok := ev.(*message.Reply)
	i := letterOf(iv, s, n)
	if !ok || i < 0 || m.T == nil || r.Outcome == message.Progress {
		return nil
	}
	step := m.T.Step(r.Step)
	if step == nil || step.Attempt != r.Attempt {
		return nil
	}
	waited := min(r.Waited+inQueue(iv, i), max(0, m.Now.Sub(step.Claim.At)))
	return &world.ExpectedWait{Order: s.Id,
		Agent:  m.Def.Steps[m.Def.Index(r.Step)].AskedAgent(m.T.Step(r.Step)),
		Letter: i, Wait: scheduler.Wait{Waited: waited, Learnt: m.Now}}
}

// learnt checks that a Scheduler has recorded the queue waits of its replies, and no others. The function
// gone reports whether all messages of an order are deleted.
func learnt(iv *world.Invocation, gone func(id string) bool) {
	p := iv.P
	if p.Waits == nil {
		return
	}
	got := p.Waits.All()
	want, open := maps.Clone(p.Known), false
	if want == nil {
		want = map[string]scheduler.Wait{}
	}
	for _, l := range expectedWaits(iv) {
		open = open || l.Agent == "" || !gone(l.Order)
		if want[l.Agent] = l.Wait; like(&l, got[l.Agent]) {
			want[l.Agent] = got[l.Agent]
		}
	}
	for _, s := range iv.Sights {
		open = open || s.Doubt // the write may be stored although the store returned an error
	}
	p.Known = got
	iv.W.Checks.Did("P32")
	if !open && !maps.Equal(p.Known, want) && len(p.Known)+len(want) > 0 {
		iv.W.Violate("P32", "%s has learnt that requests wait for %v, and its replies say %v", p.Name,
			p.Known, want)
	}
}

// like reports whether two queue waits are equal, except for a difference of at most l.Vague.
func like(l *world.ExpectedWait, w scheduler.Wait) bool {
	near := func(d core.Duration) bool { return -l.Vague <= d && d <= l.Vague }
	return near(core.Duration(w.Learnt-l.Learnt)) && near(w.Waited-l.Waited)
}

// expectedWaits returns the expected queue waits of all orders, sorted by the position of their messages in
// the batch.
func expectedWaits(iv *world.Invocation) []world.ExpectedWait {
	var all []world.ExpectedWait
	for _, s := range iv.Sights {
		all = append(all, s.ExpectedWaits...)
	}
	slices.SortStableFunc(all, func(a, b world.ExpectedWait) int { return a.Letter - b.Letter })
	return all
}
