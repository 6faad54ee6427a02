package world

import (
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Agent returns the declaration of an agent in the workflow or in a workflow of child orders.
func (w *Simulation) Agent(name string) core.AgentDefinition {
	for _, d := range w.Below {
		if a, there := d.Agents[name]; there {
			return a
		}
	}
	return w.Def.Agents[name]
}

// Known returns all definitions that a task of the run may pin.
func (w *Simulation) Known() []*core.Definition {
	return append(slices.Clip(w.Defs), w.Below...)
}

// AllSteps returns the steps of the workflow and of all definitions of child orders.
func (w *Simulation) AllSteps() (all []*core.StepDefinition) {
	for _, d := range append([]*core.Definition{w.Def}, w.Below...) {
		for i := range d.Steps {
			all = append(all, &d.Steps[i])
		}
	}
	return all
}
