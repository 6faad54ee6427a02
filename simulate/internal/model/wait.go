package model

import (
	"encoding/json"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// LongestWait is the longest time until the end of a wait, and longestDelay the longest delay of a message
// (P34, a wait ends at a fixed time).
const (
	LongestWait  = 366 * core.Day
	longestDelay = 900 * core.Second
)

// spanOfWait returns the bounds of the end of a wait that is claimed now. The protocol does not fix the share
// of the spread. ok is false if the input is not a time, or is too far ahead (P34).
func (m *Model) spanOfWait(i int) (from, to core.Time, ok bool) {
	d := &m.Def.Steps[i]
	from = m.Now.Add(d.Wait.For)
	if d.Input != nil {
		value, err := m.Def.Expr.Input(i, m.Environment(i))
		var text string
		if err != nil || json.Unmarshal(value, &text) != nil {
			return 0, 0, false
		}
		at, err := time.Parse(time.RFC3339Nano, text)
		if from = core.TimeOf(at); err != nil || from > m.Now.Add(LongestWait) {
			return 0, 0, false
		}
	}
	return from, from.Add(d.Wait.Spread), true
}

// overAtOnce reports whether the time of the step has passed. If the share of the spread matters, the real
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

// claimWait claims a wait without an agent, fixes its end, and sets the time of its next check (P33, a
// waiting step asks no agent; P34).
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

// claimWithoutAgent begins an attempt of a step that waits.
func (m *Model) claimWithoutAgent(s *core.Step) {
	s.Attempt++
	m.first(s)
	s.State, s.NoEffect = core.Waiting, 0
	s.Claim.Cause, s.Claim.At = m.cause, m.Now
}

// leaveTime sets the time of a step's next check, by a Wake, or by the Supervisor if no message can be
// delayed that long (P34).
func (m *Model) leaveTime(i int) {
	s, next := &m.T.Steps[i], NextLook(m.Def, m.T, i)
	if s.CompleteBy = next; next.Sub(m.Now) <= longestDelay {
		s.CompleteBy = max(next, m.Now).Add(m.Def.Grace)
	}
	m.post('w', s.Name, s.Attempt, next)
}

// lookAgain applies a Resubmit to a wait. It ends the wait if its time has come while the task was in Error,
// and otherwise continues it (P33).
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

// askAgain sets the time of an open wait again, and repeats the last reminder of a question (P37, a question
// has a time).
func (m *Model) askAgain(i int) {
	m.T.Steps[i].Claim.Cause = m.cause
	if m.Def.Steps[i].Answer != nil {
		m.Mails = append(m.Mails, reminder(m.Def, m.T, i, m.Now)...)
	}
	m.leaveTime(i)
}
