package model

import (
	"encoding/json"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// LongestWait is the longest time until the end of a wait. longestDelay is the longest delay of an SQS
// message (P34, a wait ends at a fixed time).
const (
	LongestWait  = 366 * core.Day
	longestDelay = 900 * core.Second
)

// spanOfWait returns the earliest and the latest possible end of a wait that is claimed now. The two ends
// differ by the spread. The result ok is false if the input is not a time or is too late (P34).
func (m *Model) spanOfWait(i int) (from, to core.Time, ok bool) {
	d := &m.Def.Steps[i]
	from = m.Now.Add(d.Wait.For)
	if d.Input != nil {
		value, err := m.Def.Expr.Input(i, m.Environment(i))
		var text string
		if err != nil || json.Unmarshal(value, &text) != nil {
			return 0, 0, false
		}
		length, isLength := core.ParseDuration(text)
		at, err := core.ParseTime(text)
		from = core.TimeOf(at)
		if isLength {
			from, err = m.Now.Add(length), nil
		}
		if err != nil || from > m.Now.Add(LongestWait) {
			return 0, 0, false
		}
	}
	return from, from.Add(d.Wait.Spread), true
}

// overAtOnce reports whether the step ends at its claim. A wait ends at its claim if its time has passed. A
// question ends at its claim if its answers are complete. If the end depends on the spread, the committed
// task decides.
func (m *Model) overAtOnce(i int) bool {
	if m.Def.Steps[i].Answer != nil {
		a, _, ok := m.asked(i)
		if ok {
			_, ok = wholeNeed(a)
		}
		return ok
	}
	if m.Def.Steps[i].Wait == nil {
		return false
	}
	from, to, ok := m.spanOfWait(i)
	return ok && from <= m.Now && (to <= m.Now || m.Real == nil || m.realStep(i).Finish.At == m.Now)
}

// claimWait claims a wait. It sets the end of the wait and the time of the next check (P33, a waiting step
// asks no agent; P34).
func (m *Model) claimWait(i int) {
	s := &m.T.Steps[i]
	from, to, _ := m.spanOfWait(i)
	m.claimWithoutAgent(s)
	s.Wait.Until = to
	if m.Real != nil {
		if at := m.realStep(i).Wait.Until; at >= from && at <= to {
			s.Wait.Until = at
		}
	}
	if m.overAtOnce(i) {
		m.finish(i, nil)
		return
	}
	s.Wait.At = s.Wait.Until
	m.leaveTime(i)
}

func (m *Model) claimWithoutAgent(s *core.Step) {
	s.Attempt++
	m.first(s)
	s.State, s.NoEffect = core.Waiting, 0
	s.Claim.Cause, s.Claim.At = m.cause, m.Now
}

// leaveTime sets the time of a step's next check and sends a Wake for it. If the time is too far ahead for a
// delayed message, the Supervisor makes the check (P34).
func (m *Model) leaveTime(i int) {
	s, next := &m.T.Steps[i], NextLook(m.Def, m.T, i)
	if s.CompleteBy = next; next.Sub(m.Now) <= longestDelay {
		s.CompleteBy = max(next, m.Now).Add(m.Def.Grace)
	}
	m.post('w', s.Name, s.Attempt, next)
}

// lookAgain applies a Resubmit to a waiting step. If the step's time passed while the task was in Error, the
// step ends. Otherwise the wait continues (P33).
func (m *Model) lookAgain(i int) {
	s := &m.T.Steps[i]
	if m.Def.Steps[i].Answer != nil {
		m.lookAtAnswers(i)
	}
	switch {
	case s.State != core.Waiting:
		return
	case m.Def.Steps[i].Answer == nil && s.Wait.At <= m.Now:
		m.finish(i, nil)
		return
	}
	m.askAgain(i)
}

// askAgain sets the time of the next check of an open wait. It also repeats the last reminder of a question
// (P37, a question has a time).
func (m *Model) askAgain(i int) {
	m.T.Steps[i].Claim.Cause = m.cause
	if m.Def.Steps[i].Answer != nil {
		m.Mails = append(m.Mails, reminder(m.Def, m.T, i, m.Now)...)
	}
	m.leaveTime(i)
}
