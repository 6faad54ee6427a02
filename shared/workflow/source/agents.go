package source

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
)

// agentsOf reads the agents of a step. Several agents of a step are alternatives (P44, several agents can do
// one step).
func (s step) agentsOf() {
	one := s.value.field("agent")
	several := s.value.field("agents")
	switch {
	case one == nil && several == nil && s.value.field(askMade) != nil:
		// the schema check reports this step
	case one == nil && several == nil:
		s.error(s.at, "step %s has no agent", s.key).fix("%s", fixMissing("agent", ""))
	case one != nil && several != nil:
		s.error(several.at, "step %s has agent and agents", s.key).fix("write only one of the two fields")
	case several != nil:
		if names := texts(several.value); len(names) > 0 {
			s.Agent = names[0]
			s.Others = names[1:]
		}
	}
}

func agentAt(step *value, k int) position {
	if several := step.get("agents"); several != nil && k < len(several.list) {
		return several.list[k].at
	}
	return step.get("agent").at
}

// routes reports a problem if a step has several agents that cannot replace each other (P44).
func (s step) routes() {
	several := s.value.field("agents")
	if len(s.Others) == 0 || several == nil {
		return
	}
	if s.Grade == core.Plain || s.PointOfNoReturn {
		what := "of grade plain"
		if s.PointOfNoReturn {
			what = "a point of no return"
		}
		s.error(several.at, "step %s is %s, and names several agents: each agent has its own ledger, so a second "+
			"one would repeat the call", s.Name, what).fix("name one agent")
	}
	first := s.def.Agents[s.Agent]
	for _, name := range s.Others {
		other := s.def.Agents[name]
		if other.KeyRetention != first.KeyRetention {
			s.error(several.at, "the agents %s and %s of step %s reach the same service, and their keyRetention "+
				"is %s and %s", s.Agent, name, s.Name, retention(first), retention(other)).
				fix("give both agents the service's keyRetention; write one step for each service if they differ")
		}
		if other.ClockSkew != first.ClockSkew {
			s.error(several.at, "the clockSkew of the agents %s and %s of step %s is %s and %s", s.Agent, name,
				s.Name, first.ClockSkew, other.ClockSkew).fix("give both agents the greater one")
		}
	}
}

func retention(a core.AgentDefinition) string {
	if a.KeyRetention == 0 {
		return "for ever"
	}
	return workflow.Short(a.KeyRetention)
}
