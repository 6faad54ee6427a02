package world

import (
	"fmt"
	"maps"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Party is the person who can correct a finding.
type Party string

// Parties that can correct a finding.
const (
	YourWorkflow Party = "your workflow"     // the definition, or its declarations about the services
	ReportToUs   Party = "report this to us" // Stepkeeper breaks one of its rules
)

// ReportIt is the advice for a defect of Stepkeeper.
const ReportIt = "open an issue at https://github.com/stepkeeper/stepkeeper/issues with the workflow and " +
	"the tape, if one was written"

// Explained describes a broken invariant for the author of the workflow, and how to correct it.
type Explained struct {
	Responsible Party  `json:"whose"`
	Text        string `json:"explanation"`
	Fix         string `json:"fix"`
}

// Describe returns the broken rule, the explanation and the fix as text.
func (v *Violation) Describe(sc Scenario) string {
	e := v.Explain(sc)
	return fmt.Sprintf("The rule: %s.\n%s: %s\nFix: %s.", v.Rule(), e.Responsible, e.Text, e.Fix)
}

// Explain returns the explanation of a broken invariant. The parameter sc is the scenario of the run.
func (v *Violation) Explain(sc Scenario) Explained {
	if v.responsible(sc) == ReportToUs {
		return Explained{
			ReportToUs,
			"No workflow and no service can break this rule: Stepkeeper itself does, or its simulator is " +
				"wrong.", ReportIt,
		}
	}
	const earned = "declare the grade that the service earns"
	e := Explained{
		Responsible: YourWorkflow,
		Text: "A service offers less than the workflow says of it, and an effect stands, or is missing, " +
			"because of that.", Fix: earned,
	}
	switch forgets := slices.ContainsFunc(slices.Collect(maps.Values(sc.Services)),
		func(s Service) bool { return s.Forgets > 0 }); {
	case v.Invariant == "3" && forgets:
		e.Text = "A service had forgotten the idempotency key when its step was tried again, and did the " +
			"work a second time."
		e.Fix = "let all attempts end while the key is remembered: fewer failures, shorter waits or fewer " +
			"rounds of the extended wait, or a service that keeps keys for longer; and declare its " +
			"keyRetention, so that a step in doubt stops for the operator instead"
	case v.Invariant == "3":
		e.Text = "A service did the work of one idempotency key twice."
		e.Fix = earned + ": one that does not know keys is plain"
	case v.Invariant == "11" || v.Invariant == "8":
		e.Text = "A call landed after its undo, and its effect stands: the service's undo leaves no fence."
		e.Fix = earned +
			": an idempotent one is undone when no call can be under way any more, only a fenced one at once"
	case v.Invariant == "22":
		e.Text = "An order is Processed, and a member that lost has an effect, or one that decided has none."
		e.Fix = earned + ": the undo of an idempotent one waits until no call can be under way any more"
	case v.Invariant == "7":
		e.Text = "An order is Processed, and not every step has had its effect exactly once."
	}
	return e
}

// responsible returns the person who can correct the violation. The author of the workflow can correct a
// violation of a rule about effects if a service offers less than the workflow declares. In all other cases
// Stepkeeper has a defect.
func (v *Violation) responsible(sc Scenario) Party {
	if sc.Definition != nil && slices.Contains([]string{"3", "7", "8", "9", "11", "22", "P22a", "P48"},
		v.Invariant) && sc.overstates() {
		return YourWorkflow
	}
	return ReportToUs
}

// overstates reports whether a service offers less than the workflow, or the workflow of a child order,
// declares.
func (sc *Scenario) overstates() bool {
	if len(sc.Overstated()) > 0 {
		return true
	}
	for _, def := range sc.Definition.WithChildren() {
		for agent, d := range def.Agents {
			if forgets := sc.Services[agent].Forgets; forgets > 0 && (d.KeyRetention == 0 ||
				forgets < d.KeyRetention) {
				return true
			}
		}
	}
	return false
}

// Overstated returns the steps of the workflow and of its child orders whose grade is stronger than the grade
// that the service of an agent has.
func (sc *Scenario) Overstated() (all []Overstatement) {
	strength := []core.Grade{core.Plain, core.Idempotent, core.Fenced}
	for _, def := range sc.Definition.WithChildren() {
		for i := range def.Steps {
			d := &def.Steps[i]
			for _, agent := range d.AllAgents() {
				grade := sc.Services[agent].Grade
				if grade != "" && slices.Index(strength, grade) < slices.Index(strength, d.Grade) {
					all = append(all, Overstatement{def.Name, d.Name, agent, d.Grade, grade})
				}
			}
		}
	}
	return all
}

// Overstatement is a step whose declared grade the service of an agent does not have.
type Overstatement struct {
	Workflow, Step, Agent string
	Declared, Offered     core.Grade
}
