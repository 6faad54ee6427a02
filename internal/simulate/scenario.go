package simulate

import (
	"encoding/json"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
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

// prepared holds what all runs of a scenario share.
type prepared struct {
	// Defs lists the definitions that an order may pin (P49, move pins another definition): the workflow, a later
	// version of it, and variants. Below lists those of child orders (P40, a step can have child orders). Known lists
	// both.
	Defs, Below, Known []*core.Definition
	Forms              map[string][]byte // encoded definitions, by hash
}

// Prepare computes what all runs of the scenario share. Without it, each run computes it.
func (sc *Scenario) Prepare() {
	if sc.prepared != nil {
		return
	}
	p := &prepared{Defs: []*core.Definition{sc.Definition}, Forms: map[string][]byte{}}
	var below []*core.Definition
	if newer := newerOf(sc.Definition); newer != nil {
		p.Defs = append(p.Defs, newer)
		if sc.Begun == nil { // a begun order was already moved
			p.Defs = append(p.Defs, Variants(sc.Definition)...)
		}
	}
	for _, d := range p.Defs {
		below = append(below, d.WithChildren()[1:]...)
	}
	if sc.Begun == nil {
		for _, d := range sc.Definition.WithChildren()[1:] {
			below = append(below, Variants(d)...)
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
	sc.prepared = p
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
	return sc.prepared.Defs
}

// Newer returns the later version of the workflow, or nil.
func (p *prepared) Newer() *core.Definition {
	if len(p.Defs) < 2 {
		return nil
	}
	return p.Defs[1]
}

// Definition returns the definition with the given hash, or nil if no definition has the hash.
func (p *prepared) Definition(hash string) *core.Definition {
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

// Passer is the sender of events that an order passes on to its children.
const Passer = "passer"

// Names in simulated workflows: the people who answer, and an event.
var (
	Persons = []string{"ann", "bob", "cleo"}
	Bought  = "bought"
)

// Variants returns variants of a workflow, as targets of a Move (P49, move pins another definition). The
// first two variants change inputs and operations. The Scheduler may therefore refuse to move an order that
// has claimed a changed step. Variants omits an invalid variant.
func Variants(def *core.Definition) (all []*core.Definition) {
	for _, change := range []func(*core.Definition){reworded, renamed, revised} {
		d := *def
		d.Steps = slices.Clone(def.Steps)
		if change(&d); workflow.Seal(&d) == nil {
			all = append(all, &d)
		}
	}
	return all
}

// extra returns a copy of a step, which a variant adds to the workflow. The copy has no predecessors, no
// condition and no undo.
func extra(of *core.StepDefinition) core.StepDefinition {
	s := *of
	s.Name = "extra"
	s.Operation = "do-extra"
	s.After = nil
	s.When = ""
	s.Undo = nil
	s.OnFailure = core.OnFailureStop
	s.PointOfNoReturn = false
	if s.Answer != nil { // two steps must not name the same call in ask
		a := *s.Answer
		a.Ask = ""
		s.Answer = &a
		s.Remind = nil
	}
	return s
}

// revised changes timeouts, retries, spreads, undo inputs, and how many members decide. It adds a last step, and
// reverses the order of the steps in the file.
func revised(d *core.Definition) {
	last := extra(&d.Steps[0])
	for i := range d.Steps {
		s := &d.Steps[i]
		if s.Wait != nil { // the longer spread does not change a wait that has begun
			wait := *s.Wait
			wait.Spread += core.Second
			s.Wait = &wait
		}
		last.After = append(last.After, s.Name)
		if s.Agent != "" {
			s.Timeout += core.Second
			s.Retry.MaxFailures++
		}
		if s.Answer != nil {
			s.Retry = core.Retry{}
		}
		if s.Remind != nil { // an earlier reminder is not sent again
			remind := *s.Remind
			remind.Every += core.Second
			s.Remind = &remind
		}
		if s.Any != nil { // an order that is decided refuses it
			s.Any = &core.Any{Members: s.Any.Members, Enough: 1}
		}
		// The definition of the child orders also changes.
		if s.Each != nil && s.Each.Child != nil {
			each := *s.Each
			child := *s.Each.Child
			child.Steps = slices.Clone(child.Steps)
			if revised(&child); workflow.Seal(&child) == nil {
				each.Definition = child.Hash
				each.Child = &child
				s.Each = &each
			}
		}
		if s.Undo != nil {
			undo := *s.Undo
			undo.Input = json.RawMessage(`{"undo":"${ orderId }"}`)
			undo.Timeout = undo.Timeout + core.Second
			s.Undo = &undo
		}
	}
	d.Steps = append(d.Steps, last)
	slices.Reverse(d.Steps)
}

// renamed changes the operation of the first step, adds a step before it, and removes a step without
// successors. If no step has an agent, renamed changes nothing.
func renamed(d *core.Definition) {
	first := extra(&d.Steps[0])
	first.Undo = d.Steps[0].Undo
	first.OnFailure = core.OnFailureStop
	if d.Steps[0].Agent != "" {
		d.Steps[0].Operation += "-again"
	} else { // the step without an agent becomes a call
		call := slices.IndexFunc(d.Steps, func(s core.StepDefinition) bool { return s.Agent != "" })
		if call < 0 {
			return
		}
		s := d.Steps[call]
		s.Name = d.Steps[0].Name
		s.After = d.Steps[0].After
		s.When = d.Steps[0].When
		s.OnFailure = d.Steps[0].OnFailure
		s.Undo = nil
		s.PointOfNoReturn = false
		d.Steps[0] = s
	}
	d.Steps[0].After = append(slices.Clone(d.Steps[0].After), first.Name)
	for i := len(d.Steps) - 1; i > 0; i-- {
		if !slices.ContainsFunc(d.Steps, func(s core.StepDefinition) bool {
			return slices.Contains(append(s.Servants(), s.After...), d.Steps[i].Name)
		}) {
			d.Steps = slices.Delete(d.Steps, i, i+1)
			break
		}
	}
	d.Steps = append(d.Steps, first)
}

func reworded(d *core.Definition) {
	for i := range d.Steps {
		if d.Steps[i].Agent != "" {
			d.Steps[i].Input = json.RawMessage(`{"reworded":"${ orderId }"}`)
		}
	}
}
