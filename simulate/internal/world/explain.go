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

// String returns the explanation and the fix.
func (e Explained) String() string {
	return fmt.Sprintf("%s: %s\nFix: %s.", e.Responsible, e.Text, e.Fix)
}

// Explain returns the explanation of a broken invariant. The parameter sc is the scenario of the run.
func (v *Violation) Explain(sc Scenario) Explained {
	if v.responsible(sc) == ReportToUs {
		return Explained{ReportToUs,
			"No workflow and no service can break this rule: Stepkeeper itself does, or its simulator is " +
				"wrong.", ReportIt}
	}
	const earned = "declare the grade that the service earns"
	e := Explained{Responsible: YourWorkflow,
		Text: "A service offers less than the workflow says of it, and an effect stands, or is missing, " +
			"because of that.", Fix: earned}
	switch forgets := slices.ContainsFunc(slices.Collect(maps.Values(sc.Services)),
		func(s Service) bool { return s.Forgets > 0 }); {
	case v.Invariant == "3" && forgets:
		e.Text = "A service had forgotten the idempotency key when its step was tried again, and did the " +
			"work a second time."
		e.Fix = "let all attempts end while the key is remembered: fewer failures, shorter waits or fewer " +
			"rounds of the extended wait, or a service that keeps keys for longer; and declare its " +
			"keyRetention, so that a step in doubt stops for the operator instead"
	case v.Invariant == "3":
		e.Text, e.Fix = "A service did the work of one idempotency key twice.",
			earned+": one that does not know keys is plain"
	case v.Invariant == "11" || v.Invariant == "8":
		e.Text = "A call landed after its undo, and its effect stands: the service's undo leaves no fence."
		e.Fix = earned +
			": an idempotent one is undone when no call can be under way any more, only a fenced one at once"
	case v.Invariant == "7":
		e.Text = "An order is Processed, and not every step has had its effect exactly once."
	}
	return e
}

// responsible returns the person who can correct the violation. The author of the workflow can correct a
// violation of a rule about effects if a service offers less than the workflow declares. In all other cases
// Stepkeeper has a defect.
func (v *Violation) responsible(sc Scenario) Party {
	if sc.Definition != nil && slices.Contains([]string{"3", "7", "8", "9", "11", "P22a", "P48"},
		v.Invariant) && sc.overstates() {
		return YourWorkflow
	}
	return ReportToUs
}

func (sc *Scenario) overstates() bool {
	strength := []core.Grade{core.Plain, core.Idempotent, core.Fenced}
	for i := range sc.Definition.Steps {
		d := &sc.Definition.Steps[i]
		s, declared := sc.Services[d.Agent], sc.Definition.Agents[d.Agent].KeyRetention
		if s.Grade != "" && slices.Index(strength, s.Grade) < slices.Index(strength, d.Grade) ||
			s.Forgets > 0 && (declared == 0 || s.Forgets < declared) {
			return true
		}
	}
	return false
}
