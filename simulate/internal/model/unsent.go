package model

import (
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// longestResend bounds the growing wait before a report is sent again. After twoWeeks, an undelivered status is
// given up (P12b, a status delays nothing else).
const (
	longestResend = core.Hour
	twoWeeks      = 14 * core.Day
)

// unsent records that a receiver could not get the statuses from a number on (P12b).
func (m *Model) unsent(e core.Unsent) {
	if m.T == nil || m.T.Erased != nil {
		return
	}
	all := slices.Clone(m.T.Undelivered)
	again := m.Now.Add(m.Def.ResendAfter)
	i := slices.IndexFunc(all, func(u core.Undelivered) bool { return u.ReplyTo == e.ReplyTo })
	switch {
	case i < 0:
		all = append(all, core.Undelivered{ReplyTo: e.ReplyTo, First: e.First, Since: m.Now, ResendAt: again})
	case all[i].ResendAt == 0:
		all[i] = core.Undelivered{ReplyTo: e.ReplyTo, First: e.First, Since: m.Now, ResendAt: again}
	case e.First < all[i].First:
		all[i].First = e.First
	default: // a commit may still store another reason
		m.Changed = m.Real != nil
		return
	}
	m.T.Undelivered, m.Changed = all, true
}

// resend decides a passed resend time (P11, an end is reported until settled; P12b). It reports whether it has
// changed the task.
func (m *Model) resend() bool {
	t := m.T
	passed := func(at core.Time) bool { return at != 0 && at <= m.Now }
	next := func(since core.Time) core.Time {
		return m.Now.Add(max(m.Def.ResendAfter, min(m.Now.Sub(since), longestResend)))
	}
	if !passed(resendTime(t)) || m.Backlog(port.Control) {
		return false
	}
	if passed(t.End.ResendAt) {
		t.End.ResendAt = next(t.End.At)
	}
	t.Undelivered = slices.Clone(t.Undelivered)
	for i := range t.Undelivered {
		u := &t.Undelivered[i]
		if !passed(u.ResendAt) {
			continue
		}
		if u.ResendAt = next(u.Since); m.Now.Sub(u.Since) >= twoWeeks {
			u.ResendAt = 0
		}
	}
	if resendTime(t) != 0 {
		m.post('s', "", 0, 0)
	}
	return true
}

func resendTime(t *core.Task) core.Time {
	at := t.End.ResendAt
	for _, u := range t.Undelivered {
		if u.ResendAt != 0 && (at == 0 || u.ResendAt < at) {
			at = u.ResendAt
		}
	}
	return at
}

// settle applies a Settle: it sends an unsettled end and the undelivered statuses again (P11, P12b).
func (m *Model) settle() {
	if m.T == nil || resendTime(m.T) == 0 {
		return
	}
	m.Fresh = false // a Settle makes the Scheduler emit the effects of the end again
	if m.T.End.ResendAt != 0 {
		m.cause = m.T.End.Cause
		m.again()
	}
	for _, u := range m.T.Undelivered {
		if u.ResendAt != 0 {
			m.Mails = append(m.Mails, OfReceiver(m.T, u)...)
		}
	}
}

// OfReceiver returns the undelivered statuses of a receiver. The event bus gets only the status of an end.
func OfReceiver(t *core.Task, u core.Undelivered) (all []Mail) {
	for n := u.First; n <= t.StatusSeq; n++ {
		switch {
		case u.ReplyTo == t.ReplyTo:
			all = append(all, Mail{Kind: 't', Attempt: n})
		case n == t.End.Seq:
			all = append(all, Mail{Kind: 'b', Attempt: n})
		}
	}
	return all
}

// Postponed reports whether the statuses to a receiver wait for its resend time (P12b).
func Postponed(t *core.Task, receiver string) bool {
	return slices.ContainsFunc(t.Undelivered, func(u core.Undelivered) bool {
		return u.ReplyTo == receiver && u.ResendAt != 0
	})
}

// leftEnd emits the status of an unsettled end that the event has left (P12, effects are emitted again).
func (m *Model) leftEnd(before *core.Task) {
	if before == nil || !m.Changed || m.T == nil || before.End.ResendAt == 0 || before.End.Seq == 0 ||
		before.End.Seq == m.T.End.Seq {
		return
	}
	for _, mail := range OfEnd(m.Def, before) {
		if mail.Kind != 'a' {
			m.Mails = append(m.Mails, mail)
		}
	}
}
