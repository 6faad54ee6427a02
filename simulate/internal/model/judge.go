package model

import (
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// judge reports whether the task accepts a command. It also returns the function that executes the command.
// The function is nil if the command has nothing to execute.
func (m *Model) judge(ev core.Event) (yes bool, act func()) {
	t := m.T
	if c, ok := ev.(core.Cancel); ok {
		return m.judgeCancel(c)
	}
	number := core.CommandOf(ev).Number
	if t.Erased != nil { // an erased order accepts only Erase (P52, erase removes content, not identity)
		_, erases := ev.(core.Erase)
		return erases && number == t.Commands.Number, nil
	}
	if number != t.Commands.Number {
		return false, nil
	}
	inError := t.ProcessState == core.Error
	switch c := ev.(type) {
	case core.UndoCommand:
		why := core.WhyOperator
		if t.Phase == core.Undoing {
			why = t.Undo.Why
		}
		return inError && !m.pastReturn(), func() { m.turn(why) }
	case core.Resubmit:
		return m.judgeResubmit(c)
	case core.Resolve:
		return m.judgeResolve(c)
	case core.Move:
		if !m.movable(c.ID, c.Definition) {
			return false, nil
		}
		return true, func() {
			m.move(c.Definition)
			m.askOn()
			m.advance()
		}
	case core.Close:
		return inError && m.silent(), func() { m.close(c) }
	case core.Erase:
		return t.Terminal() && t.End.ResendAt == 0, func() { m.erase(c) }
	}
	return false, nil
}

func (m *Model) judgeResolve(c core.Resolve) (yes bool, act func()) {
	t := m.T
	i := slices.IndexFunc(t.Steps, func(s core.Step) bool { return s.Name == c.Step })
	if i >= 0 && m.Def.Steps[i].Wait != nil && t.Steps[i].State == core.Waiting { // P34
		forward := t.ProcessState == core.Processing || t.ProcessState == core.Error && t.Phase != core.Undoing
		return forward && c.Fact == core.Happened && len(c.Output) == 0,
			func() { m.resolve(i, c.Fact, nil) }
	}
	if t.ProcessState != core.Error || i < 0 || !m.resolvable(i) ||
		c.Fact == core.Happened && t.Phase == core.Undoing && m.Def.Steps[i].PointOfNoReturn {
		return false, nil
	}
	if len(c.Output) > 0 && !m.outputStated(i, c) {
		return false, nil
	}
	return true, func() { m.resolve(i, c.Fact, c.Output) }
}

// judgeResubmit judges a Resubmit (P18, resubmit uses a remembered key). A Resubmit that names a definition
// must also satisfy P49 (move pins another definition).
func (m *Model) judgeResubmit(c core.Resubmit) (yes bool, act func()) {
	if c.Deadline != 0 && c.Deadline <= m.Now {
		return false, nil
	}
	inError := m.T.ProcessState == core.Error
	if !inError && m.T.ProcessState != core.Compensated {
		return false, nil
	}
	moves := c.Definition != "" &&
		(m.target(c.Definition) == nil || m.target(c.Definition).Hash != m.T.Definition)
	if moves && !m.movable(c.ID, c.Definition) {
		return false, nil
	}
	then := *m
	then.T = CopyOf(m.T)
	if moves {
		then.move(c.Definition)
	}
	if inError && then.forgotten() || c.Step != "" && !then.correctable(c) {
		return false, nil
	}
	return true, func() {
		if moves {
			m.move(c.Definition)
		}
		switch {
		case !inError:
			m.restart(c)
		case m.T.Phase == core.Undoing:
			m.turn(m.T.Undo.Why)
		default:
			m.resume(c)
		}
	}
}

// correctable reports whether a Resubmit may give a step another input (P51, a call can get another input).
// If the step is attempted, its call must certainly have had no effect.
func (m *Model) correctable(c core.Resubmit) bool {
	i := m.Def.Index(c.Step)
	if i < 0 || m.Def.Steps[i].Agent == "" || m.T.Phase == core.Undoing && m.T.ProcessState == core.Error {
		return false
	}
	s := &m.T.Steps[i]
	remembered := s.Resolved != nil && s.Resolved.Fact == core.Undone && s.Resolved.At > s.Claim.At &&
		m.Def.Steps[i].Grade != core.Plain
	if m.T.ProcessState == core.Error && (s.State != core.Failed && s.State != core.Pending ||
		s.Attempted() && (!WithoutEffect(s) || remembered)) {
		return false
	}
	s.Corrected = m.corrected(c)
	return m.keepsReserve(m.T, c.ID)
}

func (m *Model) corrected(c core.Resubmit) *core.Corrected {
	return &core.Corrected{Input: c.Input, Command: c.Command + 1, By: c.By, Reason: c.Reason, At: m.Now}
}

// judgeCancel judges a Cancel (P17, a cancel is kept).
func (m *Model) judgeCancel(c core.Cancel) (yes bool, act func()) {
	t := m.T
	switch {
	case c.Run > t.Run:
		m.Ahead = true
		return false, nil
	case c.Run < t.Run:
		return false, nil
	case t.ProcessState == core.Closed:
		return false, nil
	case t.ProcessState == core.Cancelled || t.Undo.CancelAsked:
		return true, nil
	case t.ProcessState == core.Processed || t.Erased != nil:
		return false, nil
	case m.pastReturn():
		m.remember("cancel", c.ID)
		return false, nil
	case len(t.Commands.Refused["cancel"]) == mostRefused:
		return false, nil
	}
	return true, func() {
		t.Undo.CancelAsked = true
		switch {
		case t.ProcessState == core.Processing:
			t.ProcessState, t.Undo.Why = core.Compensating, core.WhyCancel
			m.advance()
		case t.ProcessState == core.Error && t.Phase == core.Forward:
			m.turn(core.WhyCancel)
		case t.ProcessState == core.Compensated:
			m.enter(core.Cancelled, "")
		}
	}
}
