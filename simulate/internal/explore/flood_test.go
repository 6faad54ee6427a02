package explore

import (
	"encoding/json"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/simulate"
)

// TestAFloodEndsLateAndNothingIsUndone checks that time in a queue is not a failure (P32). Nine orders come
// at once, and every agent takes one request at a time and half of its timeout for it. Nothing else goes
// wrong, and every order ends Processed.
func TestAFloodEndsLateAndNothingIsUndone(t *testing.T) {
	flooded(t, func(p simulate.Point) int {
		if p.Site == "slow" || p.Site == "world" && (p.Subject == "burst" || p.Subject == "capacity") {
			return 1
		}
		return 0
	})
}

// TestAgentsThatAreAwayForAnHourUndoNothing checks that a request that its agent has not received is not a
// failed attempt (P32). Every agent is away for the first hour, and nothing else goes wrong. Every order ends
// Processed, however few of them wait.
func TestAgentsThatAreAwayForAnHourUndoNothing(t *testing.T) {
	flooded(t, func(p simulate.Point) int {
		if p.Site == "away" {
			return 1
		}
		return 0
	})
}

// flooded runs 200 drawn workflows whose steps have the time that they need, where the base says what goes
// wrong.
func flooded(t *testing.T, base func(simulate.Point) int) {
	t.Helper()
	undone := 0
	orders := 0
	commits := 0
	for n := range uint64(200) {
		d := drawnWorkflow(n)
		d.Deadline = 0
		d.OnDeadline = ""
		d.HopBudget = 100
		for i := range d.Steps {
			s := &d.Steps[i]
			nobodyLoses(s)
			if s.Fail != nil {
				s.When = "false"
				continue
			}
			if s.Wait != nil {
				s.Input = nil // a time that is none
				continue
			}
			if s.Answer != nil { // no answer comes
				s.Answer.Refuse = ""
				s.Answer.TimeoutValue = json.RawMessage(`"yes"`)
				s.Input = nil
				continue
			}
			if e := s.Each; e != nil {
				s.Input = json.RawMessage(`[{"n":1},{"n":2}]`)
				if e.Repeat != nil {
					s.Input = nil
					e.Repeat.OnExhausted = core.OnExhaustedKeep
				}
				for k := range e.Child.Steps {
					patient(e.Child, k)
					d.Agents[e.Child.Steps[k].Agent] = e.Child.Agents[e.Child.Steps[k].Agent]
				}
				e.Child.HopBudget = 100
				if err := workflow.Seal(e.Child); err != nil {
					t.Fatal(err)
				}
				e.Definition = e.Child.Hash
				continue
			}
			patient(d, i)
		}
		if err := workflow.Seal(d); err != nil {
			t.Fatal(err)
		}
		r := simulate.Run(simulate.Scenario{Definition: d, Alone: true, Base: base}, simulate.Plain{},
			simulate.Options{})
		if r.Violation != nil {
			t.Fatalf("workflow %d: %v", n, r.Violation)
		}
		orders += r.Orders
		commits += r.Commits
		if r.Orders > r.Ends[core.Processed] || len(r.Ends) > 1 {
			t.Logf("workflow %d: %v", n, r.Ends)
			undone++
		}
	}
	if undone > 0 {
		t.Errorf("in %d workflows not all orders ended Processed", undone)
	}
	t.Logf("%d orders, %d commits", orders, commits)
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
