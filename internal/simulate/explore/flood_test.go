package explore

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/simulate"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// TestAFloodEndsLateAndNothingIsUndone checks that time in a queue is not a failure (P32). Nine orders come
// at once, and every agent takes one request at a time and half of its timeout for it. Nothing else goes
// wrong, and every order ends Processed.
func TestAFloodEndsLateAndNothingIsUndone(t *testing.T) {
	flooded(t, func(p simulate.Point) bool {
		return p.Site == "slow" || p.Site == "world" && (p.Subject == "burst" || p.Subject == "capacity")
	})
}

// TestAgentsThatAreAwayForAnHourUndoNothing checks that a request that its agent has not received is not a
// failed attempt (P32). Every agent is away for the first hour, and nothing else goes wrong. Every order ends
// Processed, however few of them wait.
func TestAgentsThatAreAwayForAnHourUndoNothing(t *testing.T) {
	flooded(t, func(p simulate.Point) bool { return p.Site == "away" })
}

// goesWrong chooses 1 where it reports true, and 0 elsewhere.
type goesWrong func(simulate.Point) bool

// Choose returns 1 or 0.
func (g goesWrong) Choose(p simulate.Point, _ int, _ float64) int {
	if g(p) {
		return 1
	}
	return 0
}

// flooded runs 200 drawn workflows whose steps have the time that they need.
func flooded(t *testing.T, wrong goesWrong) {
	t.Helper()
	undone := 0
	orders := 0
	for n := range uint64(200) {
		d := calm(t, n, 100, patient)
		r := simulate.Run(simulate.Scenario{Definition: d, Alone: true}, wrong)
		require.Nil(t, r.Violation, "%+v", n)
		orders += r.Orders
		if r.Orders > r.Ends[core.Processed] || len(r.Ends) > 1 {
			t.Logf("workflow %d: %v", n, r.Ends)
			undone++
		}
	}
	require.LessOrEqual(t, undone, 0)
	t.Logf("%d orders", orders)
}

// calm returns a drawn workflow that nothing but its calls undoes: no rule, deadline, answer or lost race, with time for
// hops. The function change changes each call, also those of its children.
func calm(t *testing.T, n uint64, hops int, change func(d *core.Definition, i int)) *core.Definition {
	t.Helper()
	d := drawnWorkflow(n)
	d.Deadline = 0
	d.OnDeadline = ""
	d.HopBudget = hops
	for i := range d.Steps {
		s := &d.Steps[i]
		nobodyLoses(s)
		switch e := s.Each; {
		case s.Fail != nil:
			s.When = "false"
		case s.Wait != nil:
			s.Input = nil // a time that is none
		case s.Answer != nil: // no answer comes
			s.Answer.Refuse = ""
			s.Answer.TimeoutValue = json.RawMessage(`"yes"`)
			s.Input = nil
		case e != nil:
			s.Input = json.RawMessage(`[{"n":1},{"n":2}]`)
			if e.Repeat != nil {
				s.Input = nil
				e.Repeat.OnExhausted = core.OnExhaustedKeep
			}
			for k := range e.Child.Steps {
				change(e.Child, k)
				d.Agents[e.Child.Steps[k].Agent] = e.Child.Agents[e.Child.Steps[k].Agent]
			}
			e.Child.HopBudget = hops
			e.Definition = sealed(e.Child).Hash
		default:
			change(d, i)
		}
	}
	return sealed(d)
}

// nobodyLoses makes a step have no deadline, and an Any or a list need all of its members or children. Otherwise
// steps are undone alone although nothing goes wrong.
func nobodyLoses(s *core.StepDefinition) {
	s.Deadline = 0
	s.DeadlineAt = nil
	if s.Each != nil {
		inner := s.Each.Child.Steps[0].Each
		if inner != nil { // without the block around it
			s.Each = inner
		}
		s.Each.Enough = nil
		s.Each.Child.Order = nil            // no iteration is refused
		for k := range s.Each.Child.Steps { // no event comes
			if a := s.Each.Child.Steps[k].Answer; a != nil {
				a.Refuse = ""
				a.TimeoutValue = json.RawMessage(`"yes"`)
			}
		}
	}
	s.OnDeadline = ""
	if s.Any != nil {
		s.Any.Enough = len(s.Any.Members)
	}
}

// patient lets a call wait in a queue for as long as it takes.
func patient(d *core.Definition, i int) {
	s := &d.Steps[i]
	s.MaxQueueTime = core.Day
	s.Retry.MaxFailures = 3
	d.Agents[s.Agent] = core.AgentDefinition{QueueAllowance: 30 * core.Second, ClockSkew: core.Second}
}
