package simulate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Finding is what is wrong with a workflow although no invariant breaks.
type Finding struct {
	Text string `json:"text"`
	Mend string `json:"mend"`
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
	return slices.Concat(diagnoseCalm(sc), diagnosePlain(sc))
}

func diagnoseCalm(sc Scenario) []Finding {
	w := newWorld(sc, Plain{})
	w.setUp()
	w.play()
	if w.violation == nil && w.Ends[core.Processed] == w.Orders {
		return nil
	}
	const what = "with nothing going wrong an order does not end Processed"
	for i := range sc.Definition.Steps {
		d := &sc.Definition.Steps[i]
		if l := sc.Services[d.Agent].Latency; l >= d.Timeout {
			return []Finding{{
				Text: fmt.Sprintf("%s: the service behind %s takes %s, and the timeout of step %s is %s", what, d.Agent, l, d.Name, d.Timeout),
				Mend: fmt.Sprintf("give step %s a timeout that a slow day of its service fits into", d.Name),
				Step: d.Name, Agent: d.Agent,
			}}
		}
	}
	if t := w.store.task("o1"); t != nil {
		for i := range t.Steps {
			if e := t.Steps[i].Error; e != nil {
				return []Finding{{Text: fmt.Sprintf("%s: step %s failed: %s", what, t.Steps[i].Name, e.Message),
					Mend: "if the order lacks what the workflow asks for, give one that has it (--order FILE, or sim.Order in a test); otherwise mend the step",
					Step: t.Steps[i].Name, Agent: sc.Definition.Steps[i].Agent}}
			}
		}
	}
	return []Finding{{Text: what, Mend: "play it in a test (workflowtest) and look at its story"}}
}

// diagnosePlain loses the first answer of each plain service in turn, and counts what comes then.
func diagnosePlain(sc Scenario) (all []Finding) {
	for i := range sc.Definition.Steps {
		d := &sc.Definition.Steps[i]
		if d.Grade != core.Plain || sc.Services[d.Agent].Check || d.Retry.Budget() < 2 {
			continue
		}
		one := sc
		one.Base = plot{}.fault(anAgent, callDo, core.Key("o1", 0, d.Name), 1, ReplyLost).base
		w := newWorld(one, Plain{})
		w.setUp()
		w.play()
		attempts := 0
		for key := range w.byID["o1"].seen.requests {
			if strings.HasPrefix(key, d.Name+"/") {
				attempts++
			}
		}
		if s := w.services[core.Key("o1", 0, d.Name)]; attempts > 2 && s != nil && s.applied == 1 {
			all = append(all, Finding{Advice: true, Step: d.Name, Agent: d.Agent,
				Text: fmt.Sprintf("when one answer of the plain service behind %s is lost, step %s asks again in vain: it may neither be called a second time nor answered while its ledger says %q, and only after %d attempts somebody is called",
					d.Agent, d.Name, worker.StateStarted, attempts-1),
				Mend: fmt.Sprintf("give the agent %s a check, or step %s maxFailures: 1, so that the operator hears of it at once", d.Agent, d.Name)})
		}
	}
	return all
}

// Explain says in words what a broken invariant means for the workflow, and how it is mended mostly.
// "" where there is nothing to say beyond the rule.
func (v *Violation) Explain(sc Scenario) (text, mend string) {
	forgets := false
	for name, a := range sc.Definition.Agents {
		forgets = forgets || a.KeyRetention > 0 || sc.Services[name].Forgets > 0
	}
	switch {
	case v.Invariant == "3" && forgets:
		return "A service had forgotten the idempotency key when its step was tried again, and did the work a second time.",
			"let all attempts end while the key is remembered: fewer failures, shorter waits or fewer rounds of the extended wait, or a service that keeps keys for longer; and declare its keyRetention, so that a step in doubt stops for the operator instead (P18)"
	case v.Invariant == "3":
		return "A service did the work of one idempotency key twice.", "declare the grade that the service earns: one that does not know keys is plain"
	case v.Invariant == "11" || v.Invariant == "8":
		return "A call landed after its undo, and its effect stands: the service's undo leaves no fence.",
			"declare the grade that the service earns: an idempotent one is undone when no call can be under way any more, only a fenced one at once"
	case v.Invariant == "7":
		return "An order is Processed, and not every step has had its effect exactly once.", "declare the grade that the service earns"
	case v.Invariant == "5":
		return "An order never comes to its end.", "look at the last events of the story: something waits there that nobody ends"
	}
	return "", ""
}
