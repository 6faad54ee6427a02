package simulate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Whose says who can correct what was found.
type Whose string

// Who they are.
const (
	YourWorkflow Whose = "your workflow"     // the definition, or what it says of its services
	ReportToUs   Whose = "report this to us" // a rule of Stepkeeper's own is broken
)

const reportIt = "open an issue at https://github.com/stepkeeper/stepkeeper/issues with the workflow and " +
	"the tape, if one was written"

// Finding is what was found before any seed was run.
type Finding struct {
	Whose Whose  `json:"whose"`
	Text  string `json:"text"`
	Fix   string `json:"fix"`
	// Step and Agent say whose service it is about; "" where it cannot be said.
	Step  string `json:"step,omitempty"`
	Agent string `json:"agent,omitempty"`
	// Advice: it costs time, and no order its end.
	Advice bool `json:"advice,omitempty"`
}

// Diagnose looks at a workflow in two ways that need no seed. With nothing going wrong every order
// must end Processed. And where the one answer of a plain service is lost, further attempts must be
// of some use.
func Diagnose(sc Scenario) []Finding {
	sc.Prepare()
	sc.Alone, sc.Orders, sc.Only = true, 1, nil
	if sc.Begun != nil {
		return diagnoseCalm(sc)
	}
	return slices.Concat(diagnoseCalm(sc), diagnosePlain(sc))
}

func diagnoseCalm(sc Scenario) []Finding {
	w := newSimulation(sc, Plain{})
	w.setUp()
	w.play()
	if w.violation == nil && w.Ends[core.Processed] >= w.Orders && len(w.Ends) == 1 { // children end too
		return nil
	}
	const what = "with nothing going wrong an order does not end Processed"
	if b := sc.Begun; b != nil && w.violation == nil && b.Task.Phase == core.Undoing &&
		b.Task.ProcessState == core.Error && w.Ends[core.Compensated]+w.Ends[core.Cancelled] >= w.Orders {
		return nil // it is being undone, and the new definition leaves that so
	}
	for i := range sc.Definition.Steps {
		d := &sc.Definition.Steps[i]
		if l := sc.Services[d.Agent].Latency; d.Agent != "" && l >= d.Timeout {
			return []Finding{{Whose: YourWorkflow,
				Text: fmt.Sprintf("%s: the service behind %s takes %s, and the timeout of step %s is %s",
					what, d.Agent, l, d.Name, d.Timeout),
				Fix:  fmt.Sprintf("give step %s a timeout that a slow day of its service fits into", d.Name),
				Step: d.Name, Agent: d.Agent,
			}}
		}
	}
	for i := range sc.Definition.Steps {
		if d := &sc.Definition.Steps[i]; d.Answer != nil && d.Answer.TimeoutValue == nil {
			f := Finding{Whose: YourWorkflow, Step: d.Name,
				Text: fmt.Sprintf(
					"%s: step %s is answered from outside, and where nothing goes wrong a simulation "+
						"gives no answers", what, d.Name),
				Fix: "simulate a copy of the file in which the step has a short timeout and onTimeout: " +
					"{answer: VALUE}, with a value that goes on"}
			if sc.Begun != nil { // a copy of the file is no definition to move to
				f.Advice, f.Fix = true,
					"look at how the runs with faults have ended: in them answers come, or do not"
			}
			return []Finding{f}
		}
	}
	if v := w.violation; v != nil {
		e := v.Explain(sc)
		return []Finding{{Whose: e.Whose, Text: "with nothing going wrong an invariant is broken: " +
			v.String(), Fix: e.Fix}}
	}
	fix,
		since := "if the order lacks what the workflow asks for, give one that has it (--order FILE, or "+
		"sim.Order in a test); otherwise correct the step", core.Time(0)
	if sc.Begun != nil {
		fix, since = "correct the step, and deploy it before the order is moved", sc.Begun.At
	}
	if t := w.store.task(firstID); t != nil {
		for i := range t.Steps {
			if e := t.Steps[i].Error; e != nil && e.At > since {
				fix += defaults(e)
				return []Finding{{Whose: YourWorkflow,
					Text: fmt.Sprintf("%s: step %s failed: %s", what, t.Steps[i].Name, e.Message), Fix: fix,
					Step: t.Steps[i].Name, Agent: sc.Definition.Steps[i].Agent}}
			}
		}
	}
	return []Finding{{Whose: ReportToUs, Text: what + ", and no step has failed", Fix: reportIt}}
}

// defaults returns what else to do if an expression reads an output that only the real service returns.
func defaults(e *core.StepError) string {
	if e.Code != "expression" || !strings.Contains(e.Message, "steps.") {
		return ""
	}
	return "; a simulated service returns none of the fields of the real one, so read them with a " +
		"default, as in (steps.NAME.output.FIELD ?? 0)"
}

// diagnosePlain loses the first answer of each plain service in turn, and counts what comes then.
func diagnosePlain(sc Scenario) (all []Finding) {
	for i := range sc.Definition.Steps {
		d := &sc.Definition.Steps[i]
		if d.Grade != core.Plain || sc.Services[d.Agent].Check || d.Retry.Budget() < 2 {
			continue
		}
		one := sc
		one.Base = plot{}.fault(anAgent, callDo, core.Key(firstID, 0, d.Name), 1, ReplyLost).base
		w := newSimulation(one, Plain{})
		w.setUp()
		w.play()
		attempts := 0
		for key := range w.byID[firstID].seen.requests {
			if strings.HasPrefix(key, d.Name+"/") {
				attempts++
			}
		}
		if s := w.services[core.Key(firstID, 0, d.Name)]; attempts > 2 && s != nil && s.applied == 1 {
			all = append(all, Finding{Whose: YourWorkflow, Advice: true, Step: d.Name, Agent: d.Agent,
				Text: fmt.Sprintf(
					"when one answer of the plain service behind %s is lost, step %s asks again in vain: "+
						"it may neither be called a second time nor answered while its ledger says %q, "+
						"and only after %d attempts the operator is alerted",
					d.Agent, d.Name, worker.StateStarted, attempts-1),
				Fix: fmt.Sprintf(
					"give the agent %s a check, or step %s maxFailures: 1, so that the operator is "+
						"alerted at once", d.Agent, d.Name)})
		}
	}
	return all
}

// Explained is what a broken invariant means for the author of the workflow, and what to do.
type Explained struct {
	Whose Whose  `json:"whose"`
	Text  string `json:"explanation"`
	Fix   string `json:"fix"`
}

func (e Explained) String() string { return fmt.Sprintf("%s: %s\nFix: %s.", e.Whose, e.Text, e.Fix) }

// Explain says in words what a broken invariant means. sc is the scenario of the run.
func (v *Violation) Explain(sc Scenario) Explained {
	if v.whose(sc) == ReportToUs {
		return Explained{ReportToUs,
			"No workflow and no service can break this rule: Stepkeeper itself does, or its simulator is " +
				"wrong.", reportIt}
	}
	const earned = "declare the grade that the service earns"
	e := Explained{Whose: YourWorkflow,
		Text: "A service offers less than the workflow says of it, and an effect stands, or is missing, " +
			"because of that.", Fix: earned}
	switch forgets := slices.ContainsFunc(slices.Collect(maps.Values(sc.Services)),
		func(s Service) bool { return s.Forgets > 0 }); {
	case v.Invariant == "3" && forgets:
		e.Text = "A service had forgotten the idempotency key when its step was tried again, and did the " +
			"work a second time."
		e.Fix = "let all attempts end while the key is remembered: fewer failures, shorter waits or fewer " +
			"rounds of the extended wait, or a service that keeps keys for longer; and declare its " +
			"keyRetention, so that a step in doubt stops for the operator instead (P18)"
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

// whose: the rules of effects hold as far as the services keep what the workflow says of them; all
// others hold with any service.
func (v *Violation) whose(sc Scenario) Whose {
	if sc.Definition != nil && slices.Contains([]string{"3", "7", "8", "9", "11", "P22a", "P48"},
		v.Invariant) && sc.overstates() {
		return YourWorkflow
	}
	return ReportToUs
}

// overstates: a service truly offers less than the workflow declares.
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
