// Package workflows makes variants of workflows for moves. It also defines the names of the people and of the
// event in simulated workflows.
package workflows

import (
	"encoding/json"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
)

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
