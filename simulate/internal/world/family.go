package world

import (
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Agent is what the workflow, or that of a child, says of an agent.
func (w *Simulation) Agent(name string) core.AgentDefinition {
	for _, d := range w.Below {
		if a, there := d.Agents[name]; there {
			return a
		}
	}
	return w.Def.Agents[name]
}

// Known are all definitions of which there may be tasks.
func (w *Simulation) Known() []*core.Definition {
	return append(slices.Clip(w.Defs), w.Below...)
}

// AllSteps are those of the workflow and of its children's.
func (w *Simulation) AllSteps() (all []*core.StepDefinition) {
	for _, d := range append([]*core.Definition{w.Def}, w.Below...) {
		for i := range d.Steps {
			all = append(all, &d.Steps[i])
		}
	}
	return all
}
