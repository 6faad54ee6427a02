package check

import (
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/simulate/internal/model"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// settledHere checks a commit that settles an end. The handler must have sent all reports of the end before
// this commit (P11, an end is reported until settled).
func (m *move) settledHere(s *world.Sight) {
	m.did("P11")
	t := m.after
	var all []model.Mail
	if m.before.End.ResendAt != 0 && t.End.ResendAt == 0 {
		s.Settled = true
		all = model.OfEnd(m.def, m.before)
	}
	for _, u := range m.before.Undelivered {
		if !slices.Contains(t.Undelivered, u) {
			all = append(all, model.OfReceiver(t, u)...)
		}
	}
	for _, want := range all {
		if !has(s, want) {
			m.fail("P11", "%s is settled by a handling that did not send %s", t.ProcessState, want)
		}
	}
}

// Finished checks the end of a handling, which is one call of an actor's handler:
//   - Messages that were deleted without a commit change nothing (P8, every commit is conditional; P15, a
//     late "done" counts).
//   - The handler has sent all effects of its commit (P12, effects are emitted again; P13, delete after
//     sending).
func Finished(iv *world.Invocation, gone func(id string) bool) {
	if iv.Dead || len(iv.W.Below) > 0 {
		return
	}
	unreadable(iv, gone)
	if iv.P.Waits != nil {
		iv.P.Known = iv.P.Waits.All()
	}
	for _, s := range iv.Sights {
		if iv.W.ByID[s.Id] == nil || !gone(s.Id) || iv.W.Violation != nil {
			continue
		}
		concluded(iv, s)
	}
}

// Carried checks a direct call of the Scheduler that returned an error. No queue repeats such a call.
// Therefore the Scheduler must have sent all effects of its commit. A Scheduler that gave up after too many
// tries is not checked (P12a, who emits again).
func Carried(iv *world.Invocation) {
	for _, s := range iv.Sights {
		if s.After != nil && !s.Doubt && !iv.Dead && !iv.GaveUp && len(iv.W.Below) == 0 {
			concluded(iv, s)
		}
	}
}

// tooFar reports whether the time of a Wake is too far ahead for a delayed message (P9a, a waiting step has
// two times). The delay counts from the earliest time that the handler has read from its clock.
func tooFar(iv *world.Invocation, want model.Mail) bool {
	first := core.TimeOf(iv.P.Now())
	for _, r := range iv.Clock {
		first = min(first, r.Now)
	}
	return want.Kind == 'w' && want.WakeAt != 0 && want.WakeAt.Sub(first) > 890*core.Second
}

func concluded(iv *world.Invocation, s *world.Sight) {
	w := iv.W
	must := s.Must
	if s.After == nil && s.Looked && !s.Cut {
		var ok bool
		if must, ok = spent(iv, s); !ok {
			return
		}
	}
	w.Checks.Did("P8")
	w.Checks.Did("P13")
	for _, want := range must {
		if tooFar(iv, want) {
			continue // the Supervisor sends this Wake
		}
		from := s
		if want.Kind == 'q' {
			from = iv.Sight("")
		}
		if !has(from, want) {
			w.Violate("P13", "order %s: a handling is over, and did not send %s", s.Id, want)
			return
		}
	}
	if t := s.After; t != nil && t.End.ResendAt != 0 && !s.Settled && !iv.Trouble &&
		sentAll(s, w.DefOf(t), t) {
		w.Violate("P11", "order %s is %s, and the handler that reported it has not settled it", s.Id,
			t.ProcessState)
	}
}

func sentAll(s *world.Sight, def *core.Definition, t *core.Task) bool {
	return !slices.ContainsFunc(model.OfEnd(def, t), func(want model.Mail) bool { return !has(s, want) })
}

// spent checks the messages of an order that the handler deleted without a commit. These messages must change
// nothing. The first result lists the messages that the handler had to send again.
func spent(iv *world.Invocation, s *world.Sight) (must []model.Mail, ok bool) {
	w := iv.W
	var broken string
	version := int64(0)
	if s.Base != nil {
		version = s.Base.Version
	}
	for _, at := range times(iv, s) {
		m := modelFor(iv, s, s.Base, at)
		broken = ""
		for i, ev := range EventsOf(s, iv) {
			m.Changed, m.Fresh = false, fresh(s, iv, i)
			rule := m.Take(ev)
			if m.Ahead {
				w.Violate("P8", "order %s: %s is ahead of the document, and was deleted", s.Id, say(ev))
				return nil, false
			}
			if m.Changed && broken == "" {
				broken = rule
			}
		}
		must = m.Mails
		if broken == "" {
			copied(iv, s)
			return must, true
		}
	}
	w.Violate(broken, "order %s, version %d: %s changes it, and was deleted without a commit", s.Id, version,
		say(EventsOf(s, iv)[0]))
	return nil, false
}

// copied checks messages that change nothing and were never received before. The handler may only reply to
// the sender. Otherwise each copy of a message would cause another call of an agent (P12a).
func copied(iv *world.Invocation, s *world.Sight) {
	// A message that was received before may be the reason for a message that the handler sent.
	for i, l := range iv.Letters {
		if world.AboutOrder(l.Message) == s.Id && iv.Handed[i].Received > 1 {
			return
		}
	}
	for i, ev := range EventsOf(s, iv) {
		if c, ok := ev.(*message.Control); s.Wrote || !fresh(s, iv, i) || ok && c.Kind() == message.Settle {
			return
		}
	}
	iv.W.Checks.Did("P12a")
	for _, m := range s.Sent {
		if slices.Contains([]byte{'r', 'w', 's', 't', 'b', 'a'}, m.Kind) {
			iv.W.Violate("P12a", "order %s: a fresh copy that changes nothing sent %s", s.Id, m)
		}
	}
}

// unreadable checks that no message is lost without a trace. A message about an order may return to its queue
// only if something has failed, or if stays is true for the order.
func unreadable(iv *world.Invocation, gone func(id string) bool) {
	w := iv.W
	lost := iv.Gone == nil
	for i, l := range iv.Letters {
		if lost {
			break
		}
		id := world.AboutOrder(l.Message)
		switch {
		case l.Message.Value == nil && iv.Gone[i] && string(l.Message.Body) == world.NewerBody:
			w.Violate("19", "a message of a newer schema was deleted")
		case l.Message.Value == nil && iv.Gone[i] && !has(iv.Sight(""), model.Mail{Kind: 'q'}):
			w.Violate("19", "an unreadable message was deleted, and is not in quarantine")
		case id != "" && !iv.Gone[i] && !iv.Broken && iv.Sight(id).Cut:
			w.Violate("P28", "the store refused order %s for its size, and %s was returned to the queue", id,
				world.Describe(l.Message))
		case id != "" && !iv.Gone[i] && !iv.Trouble && !stays(iv, id):
			w.Violate("19", "%s was returned to the queue, and nothing had failed", world.Describe(l.Message))
		}
	}
}

// stays reports whether one of the order's messages names a later run or attempt than the document. Such a
// message must stay in its queue (P8).
func stays(iv *world.Invocation, id string) bool {
	s := iv.Sight(id)
	m := modelFor(iv, s, s.Base, times(iv, s)[0])
	for _, ev := range EventsOf(s, iv) {
		m.Take(ev)
		if m.Ahead {
			return true
		}
	}
	return false
}
