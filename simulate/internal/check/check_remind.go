package check

import (
	"fmt"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// courtesy is how long after its reminder was decided a call of it may begin, also when the step has ended meanwhile.
const courtesy = core.Hour

// reminded checks a new reminder of a step (invariant 27). The step must go forward, the reminder must be due, and its
// number must be new.
func (m *move) reminded(was, s *protocol.Step, d *core.StepDefinition) {
	is := s.Reminded
	if is.N == 0 || is.At == was.Reminded.At {
		return
	}
	m.did("27")
	key := remindKey(m.after, s, is.N)
	if at, used := m.o.Seen.Reminded[key]; used && at != is.At {
		m.fail("27", "reminder %s was decided at %s and again at %s", key, at, is.At)
	}
	first := was.Reminded.N + 1
	if m.before.Run != m.after.Run || was.FirstRound() != s.FirstRound() {
		first = 1
	}
	for n := first; n <= is.N; n++ { // those before the newest one were missed, or decided in the same commit
		m.o.Seen.Reminded[remindKey(m.after, s, n)] = is.At
	}
	switch {
	case m.supervisor:
		m.fail("27", "the Supervisor decided on reminder %s", key)
	case passed(was) && m.before.Run == m.after.Run || was.Withdrawn != 0 && s.Withdrawn == was.Withdrawn:
		m.fail("27", "reminder %s was decided, and the step was %s and withdrawn at %s", key, was.State, was.Withdrawn)
	case m.before.Definition != m.after.Definition || m.commanded || s.Claim.At != was.Claim.At:
	case was.NextReminder(d) == 0 || was.NextReminder(d) > is.At:
		m.fail("27", "reminder %s was decided at %s, and is due at %s", key, is.At, was.NextReminder(d))
	}
}

func remindKey(t *protocol.Task, s *protocol.Step, n int) string {
	return fmt.Sprintf("%s/%d.%d", core.Key(t.OrderID, t.Run, s.Name), s.FirstRound(), n)
}

// remindsOnly reports whether the commit records a new reminder. The number of such commits has no fixed bound.
func (m *move) remindsOnly() bool {
	return m.before != nil && slices.ContainsFunc(m.after.Steps, func(s protocol.Step) bool {
		was := m.before.Step(s.Name)
		return was != nil && s.Reminded != was.Reminded
	})
}

// sentReminder checks a reminder when it is sent.
func sentReminder(w *world.Simulation, o *world.Order, t *protocol.Task, r *message.Request) {
	w.Checks.Did("27")
	at, decided := o.Seen.Reminded[r.Key]
	switch {
	case !decided:
		w.Violate("27", "reminder %s was sent before it was stored", r.Key)
	case r.StopBy > at.Add(courtesy) || r.CompleteBy != r.StopBy || r.ClaimedAt > at:
		w.Violate("27", "reminder %s was decided at %s, is claimed at %s and may begin until %s", r.Key, at, r.ClaimedAt,
			r.StopBy)
	case r.Operation != core.Do || r.Grade == core.Plain || r.PointOfNoReturn:
		w.Violate("27", "reminder %s is a %s of a service that is %s", r.Key, r.Operation, r.Grade)
	}
	if def, d := w.StepOf(t, r.Step); !o.Seen.Moved && !slices.Contains(def.Reminders(d), r.Agent) {
		w.Violate("27", "reminder %s asks agent %s, and its agents are %s", r.Key, r.Agent, def.Reminders(d))
	}
	same(w, "P12", o.Seen.Requests, fmt.Sprintf("%s/%d/%s", r.Step, r.Attempt, r.Key), r)
}
