package model

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// NextLook returns the end of a wait or the time of the next reminder, whichever is earlier (P37, a question
// has a time).
func NextLook(def *core.Definition, t *core.Task, i int) core.Time {
	s, d := &t.Steps[i], def.Steps[i].Answer
	if d == nil || d.Remind == 0 || s.Answers == nil || s.State != core.Waiting {
		return s.Wait.At
	}
	return min(s.Wait.At, s.Claim.At.Add((reminded(s, d)+1)*d.Remind))
}

// reminded returns the number of reminder intervals between the claim and the last reminder (P37).
func reminded(s *core.Step, d *core.Answer) core.Duration {
	if s.Answers.RemindedAt == 0 {
		return 0
	}
	return s.Answers.RemindedAt.Sub(s.Claim.At) / d.Remind
}

// remind sends the newest due reminder (P37). It returns false if no reminder is due.
func (m *Model) remind(i int) bool {
	s, d := &m.T.Steps[i], m.Def.Steps[i].Answer
	if d.Remind == 0 || m.T.ProcessState != core.Processing {
		return false
	}
	n := m.Now.Sub(s.Claim.At) / d.Remind
	if n <= reminded(s, d) || s.Claim.At.Add(n*d.Remind) >= s.Wait.At {
		return false
	}
	a := *s.Answers
	a.Reminded = max(int(n), a.Reminded+1)
	a.RemindedAt = m.Now
	a.Moved = false
	s.Claim.Cause = m.cause
	s.Answers = &a
	m.Mails = append(m.Mails, reminder(m.Def, m.T, i, m.Now)...)
	return true
}

// reminder returns the request of the last reminder, which repeats the ask (P37). It returns no request in
// these cases:
//   - no reminder was sent yet, or the ask has no result
//   - the next reminder is due
//   - the service may have forgotten the key
//   - the task was moved after the reminder
func reminder(def *core.Definition, t *core.Task, i int, now core.Time) []Mail {
	d, s := def.Steps[i].Answer, &t.Steps[i]
	if d == nil || d.Remind == 0 || s.Answers == nil || s.Answers.RemindedAt == 0 || s.Answers.Moved {
		return nil
	}
	ask := t.Step(d.Ask)
	if ask == nil || ask.State != core.Processed || now >= s.Claim.At.Add((reminded(s, d)+1)*d.Remind) {
		return nil
	}
	call := &def.Steps[def.Index(d.Ask)]
	agent := def.Agents[call.Agent]
	if kept := max(agent.KeyRetention-agent.ClockSkew, call.Timeout); agent.KeyRetention > 0 &&
		now >= s.Answers.RemindedAt.Add(kept) {
		return nil
	}
	return []Mail{{Kind: 'r', Step: ask.Name, Attempt: ask.Attempt}}
}
