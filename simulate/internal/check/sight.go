package check

import (
	"fmt"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/simulate/internal/model"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// mayDo reports whether the handler may send the request of a do (P12, effects are emitted again; P13, delete
// after sending). The handler may send the request in these cases:
//   - The handler has not loaded the task.
//   - The task goes forward.
//   - The handler's commit has claimed this attempt.
//   - The loaded task went forward, and a later event of the batch may have begun the undo.
func mayDo(iv *world.Invocation, r *message.Request) bool {
	s := iv.Sight(r.OrderID)
	forward := func(t *core.Task) bool { return t.ProcessState == core.Processing && t.Run == r.Run }
	seen := s.Now()
	return seen == nil || forward(seen) || slices.Contains(s.Claims, model.Mail{Kind: 'r', Step: r.Step,
		Attempt: r.Attempt}) || s.Base != nil && forward(s.Base) && len(events(iv, r.OrderID)) > 1
}

// Loaded records the task that the handler has loaded. The handler's next decisions start from this task.
func Loaded(iv *world.Invocation, id string, t *core.Task) {
	s := iv.Sight(id)
	s.Base = t
	s.After = nil
	s.Must = nil
	s.Looked = true
	if len(s.Refused) > 0 {
		s.Extra, s.Refused = s.Refused, nil
	}
	s.From, iv.Anew = len(iv.Clock), true
}

// events returns the events of one order that the handler has received. These are the messages, or the event
// of a call without a queue.
func events(iv *world.Invocation, id string) (all []any) {
	for _, l := range iv.Letters {
		if world.AboutOrder(l.Message) == id {
			all = append(all, l.Message.Value)
		}
	}
	if iv.Direct != nil && iv.About == id {
		all = append(all, iv.Direct)
	}
	return all
}

// orders returns the number of orders in the handler's batch. The messages of one order are adjacent.
func orders(iv *world.Invocation) int {
	n, last := 0, ""
	for _, l := range iv.Letters {
		if id := world.AboutOrder(l.Message); id != last {
			n, last = n+1, id
		}
	}
	return n
}

func sentBy(iv *world.Invocation, id string, m model.Mail) {
	s := iv.Sight(id)
	if !slices.Contains(s.Sent, m) {
		s.Sent = append(s.Sent, m)
	}
}

// mailOf returns the order ID and the model's description of a message. The result ok is false if the model
// does not predict this message.
func mailOf(v port.Value) (id string, m model.Mail, ok bool) {
	switch v := v.(type) {
	case *message.Request:
		return v.OrderID, model.Mail{Kind: 'r', Step: v.Step, Attempt: v.Attempt}, true
	case *message.Status:
		switch v.Kind {
		case core.StatusReceived:
			return v.OrderID, model.Mail{Kind: 'c'}, true
		case core.StatusRefused:
			return v.OrderID, model.Mail{Kind: 'f'}, true
		case core.StatusCommandRefused:
			return v.OrderID, model.Mail{Kind: 'v'}, true
		case core.StatusProgress:
			return v.OrderID, model.Mail{Kind: 'p', Step: v.Step, Attempt: v.Percent}, true
		case core.StatusUndoing:
			return v.OrderID, model.Mail{Kind: 'u', Step: v.Step, WakeAt: v.Until}, true
		}
		return v.OrderID, model.Mail{Kind: 't', Attempt: v.Seq}, v.Seq > 0
	case *message.Quarantined:
		return "", model.Mail{Kind: 'q'}, true
	case *message.Control:
		switch e := v.Event.(type) {
		case core.Wake:
			return v.OrderID, model.Mail{Kind: 'w', Step: e.Step, Attempt: e.Attempt}, true
		case core.Settle:
			return v.OrderID, model.Mail{Kind: 's'}, true
		case core.Answered: // the order is not stored, so the answer goes back to the queue
			return v.OrderID, model.Mail{Kind: 'e'}, true
		}
	}
	return "", model.Mail{}, false
}

// has reports whether the handler has sent a message. It compares the time only for an alert and for the
// status of a waiting undo.
func has(s *world.Sight, want model.Mail) bool {
	return slices.ContainsFunc(s.Sent, func(m model.Mail) bool {
		return m.Kind == want.Kind && m.Step == want.Step && m.Attempt == want.Attempt &&
			(want.Kind != 'a' && want.Kind != 'u' || want.WakeAt == 0 || m.WakeAt == want.WakeAt)
	})
}

// modelFor returns a model of the task t. The model decides with the clock reading in the parameter at.
func modelFor(iv *world.Invocation, s *world.Sight, t *core.Task, at world.Reading) *model.Model {
	w := iv.W
	m := &model.Model{Def: w.Def, Defs: w.Defs, Latest: w.Def, T: model.CopyOf(t), Now: at.Now, By: iv.P.Name,
		Waits: at.Waits, Loose: orders(iv) > 1, Room: w.Room}
	m.Key = model.FirstKeys.Current()
	if iv.P.Deploy > 0 {
		m.Latest, m.Key = w.Newer, model.LaterKeys.Current()
	}
	switch {
	case t != nil:
		m.Def = w.DefOf(t)
	default:
		m.Def = m.Latest
	}
	if r := w.Store.Rows[s.Id]; r.Known() {
		m.Content = r.Order()
		m.Expired = r.Ended
	}
	m.Direct = iv.Direct != nil
	m.Backlog = func(queue string) bool {
		d, asked := iv.Depths[queue]
		if !asked {
			m.Unasked = queue
		}
		absent := queue != port.Control && d.Visible > 0 && d.InFlight == 0
		return absent || d.Visible+d.InFlight > w.Capacity
	}
	return m
}

// decided compares a commit with the model's prediction. The model does not predict the commit that settles
// an end, so settledHere checks that commit.
func (m *move) decided() {
	iv := m.w.Cur
	if iv == nil {
		return
	}
	s := iv.Sight(m.after.OrderID)
	s.Wrote = true
	if m.before != nil && settling(m.o, m) {
		m.settledHere(s)
		return
	}
	s.Claims = s.Claims[:0]
	for i := range m.after.Steps {
		st, attempt := &m.after.Steps[i], 0
		if m.before != nil {
			attempt = m.was(st.Name).Attempt
		}
		for attempt < st.Attempt { // one batch may claim both the do of a step and its undo
			attempt++
			s.Claims = append(s.Claims, model.Mail{Kind: 'r', Step: st.Name, Attempt: attempt})
		}
	}
	if len(m.w.Below) > 0 {
		s.After = m.after
		m.children()
		return
	}
	times := times(iv, s)
	rule, diff := "", ""
	for _, now := range times {
		want := modelFor(iv, s, m.before, now)
		want.Real = m.after
		if rule, diff = m.predict(iv, s, want); diff == "" {
			if len(times) > 1 && len(EventsOf(s, iv)) > 1 {
				want.UnpinAlerts(m.after)
			}
			s.After, s.Must = m.after, append(s.Must, want.Mails...)
			m.did(rule)
			return
		}
	}
	if rule == "" || len(times) > 1 && len(EventsOf(s, iv)) > 1 {
		s.After = m.after
		return // each event of the batch may have had a different time
	}
	m.fail(rule, "%s", diff)
}

// predict runs the model. It returns the rule that applied, and the difference between the model's task and
// the committed task.
func (m *move) predict(iv *world.Invocation, s *world.Sight, want *model.Model) (rule, diff string) {
	if m.supervisor {
		rule = want.Sweep()
		switch {
		case rule == "":
			rule = "P10"
			if first := model.Live(m.after); m.after.Due != first {
				return rule, fmt.Sprintf("the Supervisor pushed it to %s, and its earliest live time is %s",
					m.after.Due, first)
			}
		case want.Unasked != "":
			return "P32", "the Supervisor never asked how much waits in the queue " + want.Unasked
		}
		return rule, want.Differs(m.after)
	}
	events := EventsOf(s, iv)
	if len(events) == 0 {
		return "P8", "no event is known that led to this commit"
	}
	for i, ev := range events {
		before := want.Changed
		want.Changed, want.Fresh = false, fresh(s, iv, i)
		if r := want.Take(ev); want.Changed || rule == "" {
			rule = r
		}
		want.Changed = want.Changed || before
		want.Ahead = false
	}
	return rule, want.Differs(m.after)
}

// EventsOf returns the events that the Scheduler decides. If requests were too large for their queues, these
// events are the failures of the requests' steps.
func EventsOf(s *world.Sight, iv *world.Invocation) []any {
	all := events(iv, s.Id)
	if len(s.Extra) > 0 {
		return s.Extra // the Scheduler decides these failures in a separate commit
	}
	return all
}

// fresh reports whether the n-th event is received for the first time. A fresh event that changes nothing
// must not cause another message (P12a, who emits again).
func fresh(s *world.Sight, iv *world.Invocation, n int) bool {
	if s.Doubt {
		return false
	}
	i := letterOf(iv, s, n)
	return i < 0 || iv.Handed[i].Received <= 1
}

// letterOf returns the index of the n-th event in the handler's messages. It returns -1 if the event is not
// one of these messages.
func letterOf(iv *world.Invocation, s *world.Sight, n int) int {
	for i, l := range iv.Letters {
		if len(s.Extra) == 0 && world.AboutOrder(l.Message) == s.Id {
			if n == 0 {
				return i
			}
			n--
		}
	}
	return -1
}

// times returns the clock readings since the handler loaded the order.
func times(iv *world.Invocation, s *world.Sight) []world.Reading {
	if len(iv.Clock) == s.From {
		iv.P.Now()
	}
	return iv.Clock[s.From:]
}

func say(ev any) string {
	if v, ok := ev.(port.Value); ok {
		return world.Describe(port.Message{Value: v})
	}
	return "a message"
}
