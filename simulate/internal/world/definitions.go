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

// Newer returns a later version of the workflow, which differs only in a longer grace. It may return nil.
func (sc *Scenario) Newer() *core.Definition {
	if sc.later == nil && sc.Definition.Expr != nil {
		d := *sc.Definition
		d.Grace++
		d.Steps = slices.Clone(d.Steps)
		if workflow.Seal(&d) == nil {
			sc.later = &d
		}
	}
	return sc.later
}

// Definitions returns all definitions that an order of the scenario may pin.
func (sc *Scenario) Definitions() []*core.Definition {
	all := []*core.Definition{sc.Definition}
	if sc.Newer() != nil {
		all = append(all, sc.later)
		if sc.others == nil && sc.Begun == nil { // a begun order was already moved
			sc.others = workflows.Variants(sc.Definition)
		}
	}
	return append(all, sc.others...)
}

// Definition returns the definition with the given hash, or nil if no definition has the hash.
func (w *Simulation) Definition(hash string) *core.Definition {
	for _, d := range w.Defs {
		if d.Hash == hash {
			return d
		}
	}
	for _, d := range w.Below {
		if d.Hash == hash {
			return d
		}
	}
	return nil
}

// ChildrenOf returns the definitions of a workflow's child orders and, recursively, of their child orders.
func ChildrenOf(d *core.Definition) (all []*core.Definition) {
	for i := range d.Steps {
		if e := d.Steps[i].Each; e != nil && e.Child != nil {
			all = append(append(all, e.Child), ChildrenOf(e.Child)...)
		}
	}
	return all
}

// Families returns all definitions that a child order may pin. It includes the variants to which a child
// order may be moved.
func (sc *Scenario) Families() []*core.Definition {
	if sc.below != nil {
		return sc.below
	}
	var all []*core.Definition
	for _, d := range sc.Definitions() {
		all = append(all, ChildrenOf(d)...)
	}
	if sc.Begun == nil {
		for _, d := range ChildrenOf(sc.Definition) {
			all = append(all, workflows.Variants(d)...)
		}
	}
	seen := map[string]bool{}
	sc.below = slices.DeleteFunc(all, func(d *core.Definition) bool {
		was := seen[d.Hash]
		seen[d.Hash] = true
		return was
	})
	return sc.below
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
	all := w.Known()
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

// Prepare encodes all definitions of the scenario in advance, because every run of the scenario needs the
// encodings.
func (sc *Scenario) Prepare() {
	sc.Forms = map[string][]byte{}
	for _, d := range slices.Concat(sc.Definitions(), sc.Families()) {
		if data, err := workflow.Encode(d); err == nil { // the run reports an invalid definition
			sc.Forms[d.Hash] = data
		}
	}
}
