package world

import (
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/simulate/internal/workflows"
)

// Skew returns the limit for the difference between two simulated clocks, in milliseconds. The limit is the
// smallest clock skew that any agent declares.
func (w *Simulation) Skew() int64 {
	least := int64(-1)
	for _, a := range w.Def.Agents {
		if s := int64(a.ClockSkew); least < 0 || s < least {
			least = s
		}
	}
	return max(least, 0)
}

// plan holds what all runs of a scenario share.
type plan struct {
	// Defs lists the definitions that an order may pin (P49, move pins another definition): the workflow, a later
	// version of it, and variants. Below lists those of child orders (P40, a step can have child orders). Known lists
	// both.
	Defs, Below, Known []*core.Definition
	Forms              map[string][]byte // encoded definitions, by hash
}

// Prepare computes what all runs of the scenario share. Without it, each run computes it.
func (sc *Scenario) Prepare() {
	if sc.plan != nil {
		return
	}
	p := &plan{Defs: []*core.Definition{sc.Definition}, Forms: map[string][]byte{}}
	var below []*core.Definition
	if newer := newerOf(sc.Definition); newer != nil {
		p.Defs = append(p.Defs, newer)
		if sc.Begun == nil { // a begun order was already moved
			p.Defs = append(p.Defs, workflows.Variants(sc.Definition)...)
		}
	}
	for _, d := range p.Defs {
		below = append(below, d.WithChildren()[1:]...)
	}
	if sc.Begun == nil {
		for _, d := range sc.Definition.WithChildren()[1:] {
			below = append(below, workflows.Variants(d)...)
		}
	}
	for _, d := range below {
		if !slices.ContainsFunc(p.Below, func(o *core.Definition) bool { return o.Hash == d.Hash }) {
			p.Below = append(p.Below, d)
		}
	}
	p.Known = slices.Concat(p.Defs, p.Below)
	for _, d := range p.Known {
		if data, err := workflow.Encode(d); err == nil { // the run reports an invalid definition
			p.Forms[d.Hash] = data
		}
	}
	sc.plan = p
}

// newerOf returns a later version of a workflow, which differs only in a longer grace. It may return nil.
func newerOf(def *core.Definition) *core.Definition {
	d := *def
	d.Grace++
	d.Steps = slices.Clone(d.Steps)
	if def.Expr == nil || workflow.Seal(&d) != nil {
		return nil
	}
	return &d
}

// Definitions returns all definitions that an order of the scenario may pin.
func (sc *Scenario) Definitions() []*core.Definition {
	sc.Prepare()
	return sc.plan.Defs
}

// Newer returns the later version of the workflow, or nil.
func (p *plan) Newer() *core.Definition {
	if len(p.Defs) < 2 {
		return nil
	}
	return p.Defs[1]
}

// Definition returns the definition with the given hash, or nil if no definition has the hash.
func (p *plan) Definition(hash string) *core.Definition {
	for _, d := range p.Known {
		if d.Hash == hash {
			return d
		}
	}
	return nil
}

// DefOf returns the definition that a task pins.
func (w *Simulation) DefOf(t *protocol.Task) *core.Definition {
	if d := w.Definition(t.Definition); d != nil {
		return d
	}
	return w.Def // an order that was cancelled before its submission pins no definition
}

// StepOf returns the workflow definition that contains the step with the given name, and the step in it.
// StepOf looks first in the task's definition. A Move may have removed the step from this definition, so
// StepOf then looks in all other definitions.
func (w *Simulation) StepOf(t *protocol.Task, name string) (*core.Definition, *core.StepDefinition) {
	all := w.Known
	if t != nil {
		all = append([]*core.Definition{w.DefOf(t)}, all...)
	}
	for _, d := range all {
		if i := d.Index(name); i >= 0 {
			return d, &d.Steps[i]
		}
	}
	panic("simulate: no definition has a step " + name)
}

// Agent returns the declaration of an agent in the workflow or in a workflow of child orders.
func (w *Simulation) Agent(name string) core.AgentDefinition {
	for _, d := range w.Below {
		if a, there := d.Agents[name]; there {
			return a
		}
	}
	return w.Def.Agents[name]
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
