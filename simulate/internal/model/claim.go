package model

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// advance continues the task in its direction, forward or undo (P20, what happens next is computed). It
// reports whether the task changed.
func (m *Model) advance() bool {
	switch m.T.ProcessState {
	case core.Processing:
		return m.forward()
	case core.Compensating:
		return m.backward()
	}
	return false
}

func (m *Model) ready(i int) bool {
	if s := &m.T.Steps[i]; s.State != core.Pending || s.Attempted() {
		return false
	}
	for _, name := range m.Def.Steps[i].After {
		if !Passed(m.T.Step(name)) && !m.answeredBeforeAsk(i, name) {
			return false
		}
	}
	return true
}

// forward claims the ready steps until no further step is ready. It also claims the steps with the indexes in
// again. It reports whether the task changed.
func (m *Model) forward(again ...int) bool {
	changed := false
	for {
		skipped := false
		// A step in again may have ended meanwhile. Such a step is not claimed (P42, orders can go on after
		// failures).
		claims := slices.DeleteFunc(slices.Clone(again), func(i int) bool {
			return m.T.Steps[i].State != core.Pending && m.T.Steps[i].State != core.Failed
		})
		for i := range m.T.Steps {
			// A decided question needs no further call (P38, an ask sends the question).
			if s := &m.T.Steps[i]; m.needless(s.Name) && (s.State == core.Failed || s.State == core.Pending &&
				s.Attempted()) {
				s.FailureCode = core.CodeOvertaken
				m.end(s, core.Compensated)
				skipped, changed = true, true
				continue
			}
			if !m.ready(i) {
				continue
			}
			needed, err := !m.needless(m.Def.Steps[i].Name), error(nil)
			if needed && m.Def.Steps[i].When != "" {
				needed, err = m.Def.Expr.When(i, m.Environment(i))
			}
			switch {
			case err != nil:
				m.end(&m.T.Steps[i], core.Failed)
				if m.policy(i, "expression"); m.T.ProcessState != core.Processing {
					return true
				}
				skipped, changed = true, true
			case !needed:
				m.T.Steps[i].State, skipped, changed = core.Skipped, true, true
			default:
				claims = append(claims, i)
			}
		}
		if skipped {
			continue
		}
		ended := m.claim(claims...)
		changed = changed || len(claims) > 0
		if !ended || m.T.ProcessState != core.Processing {
			break
		}
	}
	if m.T.ProcessState != core.Processing {
		return true
	}
	for i := range m.T.Steps {
		if !Passed(&m.T.Steps[i]) {
			return changed
		}
	}
	m.enter(core.Processed, "")
	return true
}

// Environment returns the values that the expressions of a step may read.
func (m *Model) Environment(i int) core.Environment {
	env := core.Environment{OrderID: m.T.OrderID, Run: m.T.Run, Order: m.Content,
		Outputs: map[string]json.RawMessage{}, Failures: map[string]string{}}
	// The order's token key determines the tokens (P39, a token is an answer's permission).
	env.Token = func(step, person string) (string, error) {
		return LaterKeys.Token(m.T.TokenKey, m.T.OrderID,
			core.TokenOf{Run: m.T.Run, Step: step, Person: person})
	}
	m.outcomes(i, env)
	return env
}

func (m *Model) outcomes(i int, into core.Environment) {
	for _, name := range m.Def.Steps[i].After {
		if s := m.T.Step(name); m.askFor(name) == nil { // no expression reads the result of an ask (P38)
			results(s, into)
		}
		m.outcomes(m.Def.Index(name), into)
	}
}

func results(s *core.Step, into core.Environment) {
	if s.Output != nil {
		into.Outputs[s.Name] = s.Output
	}
	if s.FailureCode != "" {
		into.Failures[s.Name] = s.FailureCode
	}
}

// claim claims the given steps. It applies these rules:
//   - P1, every claim has a new attempt
//   - P3, a reply names request and sender
//   - P6, two times in each request
//   - P23, a hop budget bounds claims
//   - P34, a wait ends at a fixed time
//
// If the input of a step cannot be evaluated, the step fails, and no step is claimed. If some waits or
// questions end at their claim, only these steps are claimed. The result is true if a step ended at its
// claim, or if a call's input failed and the task still goes forward.
func (m *Model) claim(steps ...int) (ended bool) {
	for _, i := range steps {
		// A step that fails by rule is not claimed (P50, a rule can fail the order).
		d, ok := &m.Def.Steps[i], true
		switch {
		case d.Fail != nil:
			ok = false
		case d.Wait != nil:
			_, _, ok = m.spanOfWait(i)
		case d.Answer != nil:
			_, _, ok = m.asked(i)
		}
		if !ok {
			m.end(&m.T.Steps[i], core.Failed)
			m.policy(i, "")
			return false
		}
		if d.Wait != nil || d.Answer != nil {
			ended = ended || m.overAtOnce(i)
			continue
		}
		if in := m.Def.Steps[i].Input; in != nil && m.T.Steps[i].Corrected == nil {
			if _, err := m.Def.Expr.Input(i, m.Environment(i)); err != nil {
				m.end(&m.T.Steps[i], core.Failed)
				m.policy(i, "expression")
				return m.T.ProcessState == core.Processing // P42: forward checks the other steps again
			}
		}
	}
	for _, i := range steps {
		if ended && !m.overAtOnce(i) {
			continue
		}
		s := &m.T.Steps[i]
		if m.T.Hops >= m.Def.HopBudget {
			state := s.State
			m.end(s, state)
			m.stop(core.Forward)
			return false
		}
		m.T.Hops++
		if m.Def.Steps[i].Wait != nil {
			m.claimWait(i)
			continue
		}
		if m.Def.Steps[i].Answer != nil {
			if m.claimAnswer(i); m.T.ProcessState != core.Processing {
				return false
			}
			continue
		}
		m.claimOne(i, false)
	}
	return ended
}

func (m *Model) claimOne(i int, undo bool) {
	s, d := &m.T.Steps[i], &m.Def.Steps[i]
	s.Claim.Agent = m.route(i)
	s.Attempt++
	earlier(s)
	s.Claim.Undo = undo
	s.State = core.Processing
	s.Claim.By = m.By
	s.Claim.Cause = m.cause
	s.NoEffect = 0
	timeout := s.TimeoutOf(d)
	if undo {
		s.State = core.Compensating
	}
	m.first(s)
	s.Claim.Allowance = m.allowance(i)
	known := m.knownUntil(i)
	s.Claim.At, s.Wait.At = m.Now, 0
	s.Claim.StopBy, s.Claim.Progress = m.Now.Add(timeout+s.Claim.Allowance), nil
	if !undo {
		s.Claim.StopBy = min(m.Now.Add(max(timeout, d.MaxDuration)+s.Claim.Allowance),
			max(known, m.Now.Add(timeout)))
	}
	s.CompleteBy = min(s.Claim.StopBy, m.Now.Add(timeout+s.Claim.Allowance))
	m.post('r', s.Name, s.Attempt, 0)
}

// route returns the agent for the next attempt of the step (P44, several agents can do one step). The result
// "" means d.Agent. The choice has three parts:
//   - route leaves out the agents of the latest failed attempts.
//   - route takes the first remaining agent.
//   - route takes a later agent instead if the queue wait of the later agent is more than 20 % shorter. A
//     queue wait below 100 ms counts as 100 ms.
func (m *Model) route(i int) string {
	s, d := &m.T.Steps[i], &m.Def.Steps[i]
	names := d.AllAgents()
	for k := 1; k <= len(d.Others); k++ {
		for _, a := range m.T.Attempts.Last {
			if a.Step == s.Name && a.Number == s.Attempt+1-k && a.Outcome != core.OutcomeSuperseded {
				failed := cmp.Or(a.Agent, d.Agent)
				names = slices.DeleteFunc(names, func(name string) bool { return name == failed })
			}
		}
	}
	least := names[0]
	for _, name := range names[1:] {
		if 10*max(m.Waits[name], 100) < 8*max(m.Waits[least], 100) {
			least = name
		}
	}
	if real := ""; m.Loose && m.Real != nil && len(d.Others) > 0 {
		if real = m.realStep(i).AskedAgent(d); slices.Contains(names, real) {
			least = real
		}
	}
	if least == d.Agent {
		return ""
	}
	return least
}

// first gives a number to the first claim of the step. The numbers count the first claims of all steps in the
// run (P7, undo covers every attempted step). At a later claim, first stores the time of the first claim.
func (m *Model) first(s *core.Step) {
	if s.First.Nth != 0 {
		s.First.At = s.FirstClaim()
		return
	}
	for _, other := range m.T.Steps {
		s.First.Nth = max(s.First.Nth, other.First.Nth)
	}
	s.First.Nth++
}

// allowance returns the queue allowance of the next attempt (P32, queue time is not a failure).
func (m *Model) allowance(i int) core.Duration {
	d := &m.Def.Steps[i]
	agent := m.T.Steps[i].AskedAgent(d)
	least := m.Def.Agents[agent].QueueAllowance
	most := max(d.MaxQueueTime, least)
	a := min(max(m.T.Steps[i].Claim.Allowance, least, 2*m.Waits[agent]), most)
	if m.Loose && m.Real != nil {
		if r := m.realStep(i).Claim.Allowance; r >= min(max(m.T.Steps[i].Claim.Allowance, least), most) &&
			r <= most {
			return r
		}
	}
	return a
}

// backward undoes the attempted steps in the reverse order of their first claims (P7; P21, an undo waits for
// quiet). It reports whether the task changed.
func (m *Model) backward() (changed bool) {
	for {
		i := -1
		for k := range m.T.Steps {
			if s := &m.T.Steps[k]; s.Attempted() && s.State != core.Compensated &&
				(i < 0 || s.First.Nth > m.T.Steps[i].First.Nth) {
				i = k
			}
		}
		if i < 0 {
			state := core.Compensated
			if m.T.Undo.CancelAsked {
				state = core.Cancelled
			}
			m.enter(state, "")
			return true
		}
		s, d := &m.T.Steps[i], &m.Def.Steps[i]
		if s.State == core.Compensating || s.State == core.UndoWait && m.Now < s.Wait.At ||
			s.State == core.Processing && (d.Undo == nil || d.Grade != core.Fenced) {
			return changed
		}
		if !m.undo(i) {
			return true
		}
		changed = true
	}
}

// undo begins the undo of one step by the rules of its grade. It returns true if the step has no undo and
// therefore already counts as undone.
func (m *Model) undo(i int) (done bool) {
	s, d := &m.T.Steps[i], &m.Def.Steps[i]
	quiet := s.Quiet().Add(m.Def.Agents[d.Agent].ClockSkew)
	switch {
	case d.Undo == nil:
		m.end(s, core.Compensated)
		return true
	case d.Grade != core.Fenced && m.Now <= quiet:
		wait := quiet.Sub(m.Now) + 1
		m.wait(i, core.UndoWait, wait, wait)
		if m.notifies(core.StatusUndoing) {
			m.post('u', s.Name, 0, s.Wait.At)
		}
	default:
		m.claimUndo(i)
	}
	return false
}

func (m *Model) claimUndo(i int) {
	if m.T.Steps[i].State == core.Processing { // only a fenced step can be in flight here
		m.ended(i, core.OutcomeSuperseded, "")
	}
	env := m.Environment(i)
	results(&m.T.Steps[i], env)
	if d := &m.Def.Steps[i]; d.Undo.Input != nil {
		if _, err := m.Def.Expr.UndoInput(i, env); err != nil {
			m.end(&m.T.Steps[i], core.UndoWait)
			m.stop(m.direction())
			return
		}
	}
	m.claimOne(i, true)
}
