package model

import (
	"maps"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// target returns the definition that a command names, or nil if the definition does not exist.
func (m *Model) target(definition string) *core.Definition {
	if definition == message.Latest {
		return m.Latest
	}
	for _, d := range m.Defs {
		if d.Hash == definition {
			return d
		}
	}
	return nil
}

// movable reports whether the task can be moved to a definition (P49, move pins another definition). The
// parameter id is the ID of the Move or of the Resubmit.
func (m *Model) movable(id, definition string) bool {
	t, to := m.T, m.target(definition)
	state := t.ProcessState
	if to == nil || t.End.ResendAt != 0 || state != core.Error && state != core.Compensated &&
		state != core.Processing {
		return false
	}
	begun := func(s *core.Step) bool {
		return s != nil && (s.Attempted() || s.State == core.Skipped || s.FailureCode != "")
	}
	for i := range t.Steps {
		s, d := &t.Steps[i], &m.Def.Steps[i]
		if s.InFlight() {
			return false
		}
		if state == core.Compensated || !begun(s) {
			continue
		}
		n := to.Index(s.Name)
		if n < 0 {
			return false
		}
		e := &to.Steps[n]
		same := (d.Wait == nil) == (e.Wait == nil) && (d.Fail == nil) == (e.Fail == nil) &&
			slices.Equal(d.AllAgents(), e.AllAgents()) && d.Operation == e.Operation &&
			undoOf(d) == undoOf(e) && d.Grade == e.Grade &&
			d.PointOfNoReturn == e.PointOfNoReturn && d.OnFailure == e.OnFailure
		if (d.Answer == nil) != (e.Answer == nil) || d.Answer != nil && (d.Answer.Event != e.Answer.Event ||
			!slices.Equal(d.Answer.Values, e.Answer.Values) || d.Answer.Refuse != e.Answer.Refuse) {
			return false
		}
		if !same || d.Wait == nil && d.Answer == nil && string(d.Input) != string(e.Input) &&
			!WithoutEffect(s) {
			return false
		}
		for _, name := range e.After {
			if !begun(t.Step(name)) {
				return false
			}
		}
	}
	then := *m
	then.T = CopyOf(t)
	then.move(definition)
	return m.keepsReserve(then.T, id)
}

func undoOf(d *core.StepDefinition) string {
	if d.Undo == nil {
		return ""
	}
	return d.Undo.Operation
}

// WithoutEffect reports whether the step certainly has no effect. The reason may be a statement of the
// service or of the operator (P22a, a proven refusal permits undo). The step may also have failed before any
// claim.
func WithoutEffect(s *core.Step) bool {
	stated := s.Resolved != nil && s.Resolved.Fact != core.Happened && s.Resolved.At > s.Claim.At
	return s.NoEffect != 0 || stated && s.State == core.Compensated || s.First.Nth == 0 && s.FailureCode != ""
}

// move pins another definition (P49). The task gets the steps of the definition, and keeps the attempt
// numbers of the removed steps.
func (m *Model) move(definition string) {
	t, to := m.T, m.target(definition)
	gone := map[string]int{}
	maps.Copy(gone, t.Attempts.Removed)
	for i := range t.Steps {
		if s := &t.Steps[i]; to.Index(s.Name) < 0 && s.Attempt > 0 {
			gone[s.Name] = s.Attempt
		}
	}
	var steps []core.Step
	for i := range to.Steps {
		s := core.Step{Name: to.Steps[i].Name, State: core.Pending, Attempt: gone[to.Steps[i].Name]}
		if was := t.Step(s.Name); was != nil {
			s = *was
			if d, e := &m.Def.Steps[m.Def.Index(s.Name)], &to.Steps[i]; (d.Agent == "") != (e.Agent == "") ||
				d.Operation != e.Operation || string(d.Input) != string(e.Input) {
				s.Corrected = nil // the input belongs to another call (P51, a call can get another input)
			}
		}
		s.Claim.Agent = ""
		// A move stops reminders (P37, a question has a time).
		if s.Answers != nil && s.Answers.RemindedAt != 0 {
			a := *s.Answers
			a.Moved, s.Answers = true, &a
		}
		if s.State == core.Failed && s.First.Nth == 0 {
			s.State, s.Error = core.Pending, nil
		}
		delete(gone, s.Name)
		steps = append(steps, s)
	}
	kept := slices.Clone(t.Attempts.Last)
	for i, a := range kept {
		if was := m.Def.Index(a.Step); a.Agent == "" && was >= 0 &&
			agentIn(to, a.Step) != m.Def.Steps[was].Agent {
			kept[i].Agent = m.Def.Steps[was].Agent
		}
	}
	t.Attempts.Last = kept
	t.Steps = steps
	t.Attempts.Removed = gone
	t.Definition = to.Hash
	t.End.Cause = ""
	m.Def = to
	switch { // a definition with tokens needs a token key (P39, a token is an answer's permission)
	case !to.Tokens:
		t.TokenKey = ""
	case t.TokenKey == "":
		t.TokenKey = m.Key
	}
}

// askOn applies the new definition's times to the open questions of a task that goes forward (P37).
func (m *Model) askOn() {
	for i := range m.T.Steps {
		if m.T.ProcessState == core.Processing && m.Def.Steps[i].Answer != nil &&
			m.T.Steps[i].State == core.Waiting {
			m.askAgain(i)
		}
	}
}

// agentIn returns the first agent of a step, or "" if the definition does not contain the step.
func agentIn(def *core.Definition, step string) string {
	if i := def.Index(step); i >= 0 {
		return def.Steps[i].Agent
	}
	return ""
}
