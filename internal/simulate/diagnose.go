package simulate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/schema"
)

// Finding is a problem of a workflow that Diagnose finds without random faults.
type Finding struct {
	Responsible Party  `json:"whose"`
	Text        string `json:"text"`
	Fix         string `json:"fix"`
	// Step is the name of the affected step, or "" if the finding is about no step. Agent is the name of the
	// step's agent, or "" if the step has no agent.
	Step  string `json:"step,omitempty"`
	Agent string `json:"agent,omitempty"`
	// Advice is true if the problem only delays the end of the order. It is also true if a stored order waits
	// for an answer.
	Advice bool `json:"advice,omitempty"`
}

func (f Finding) wrong() bool { return !f.Advice }

// Title returns what the finding is about in one line.
func (f Finding) Title() string {
	if f.Advice {
		return "advice: " + f.Text
	}
	return string(f.Responsible) + ": " + f.Text
}

// Diagnose checks a workflow without random faults. It returns two kinds of findings:
//   - Without faults, an order does not end Processed, or an invariant breaks.
//   - After the loss of one reply of a plain service, the further attempts are useless.
func Diagnose(sc Scenario) []Finding {
	sc.Prepare()
	sc.Alone = true
	sc.Orders = 1
	sc.Only = nil
	if sc.Begun != nil {
		return diagnoseCalm(sc)
	}
	return slices.Concat(diagnoseCalm(sc), diagnosePlain(sc))
}

// Overstated returns a finding for each step that declares a stronger grade than the service of an agent has
// (Scenario.Services). It runs nothing.
func Overstated(sc Scenario) (all []Finding) {
	strength := []core.Grade{core.Plain, core.Idempotent, core.Fenced}
	for _, def := range sc.Definition.WithChildren() {
		for i := range def.Steps {
			d := &def.Steps[i]
			for _, agent := range d.AllAgents() {
				grade := sc.Services[agent].Grade
				if grade == "" || slices.Index(strength, grade) >= slices.Index(strength, d.Grade) {
					continue
				}
				all = append(all, Finding{
					Responsible: YourWorkflow, Step: d.Name, Agent: agent,
					Text: fmt.Sprintf("step %s of workflow %s declares the grade %s, and the service behind %s is %s: "+
						"what Stepkeeper promises for %s does not hold for it", d.Name, def.Name, d.Grade, agent, grade, d.Grade),
					Fix: fmt.Sprintf("declare grade: %s for step %s", grade, d.Name),
				})
			}
		}
	}
	return all
}

func diagnoseCalm(sc Scenario) []Finding {
	w := played(sc, Plain{}, false)
	if w.Violation == nil && processed(w) >= w.Orders {
		return nil
	}
	const what = "with nothing going wrong an order does not end Processed"
	if b := sc.Begun; b != nil && w.Violation == nil && b.Task.Phase == core.Undoing &&
		b.Task.ProcessState == core.Error && w.Ends[core.Compensated]+w.Ends[core.Cancelled] >= w.Orders {
		return nil // The order is being undone, and the new definition does not change the undo.
	}
	for _, s := range stepsOf(sc.Definition, "", FirstID) {
		d := s.step()
		for _, agent := range d.AllAgents() {
			if l := sc.Services[agent].Latency; agent != "" && l >= d.Timeout {
				return []Finding{{
					Responsible: YourWorkflow,
					Text: fmt.Sprintf("%s: the service behind %s takes %s, and the timeout of step %s is %s",
						what, agent, l, s.path, d.Timeout),
					Fix:  fmt.Sprintf("give step %s a timeout that a slow day of its service fits into", s.path),
					Step: d.Name, Agent: agent,
				}}
			}
		}
	}
	if f, found := failed(sc, w, what); found && w.Violation == nil {
		return []Finding{f}
	}
	if f, found := unanswered(sc, what); found {
		return []Finding{f}
	}
	if v := w.Violation; v != nil {
		e := v.Explain(sc)
		return []Finding{{
			Responsible: e.Responsible, Fix: e.Fix,
			Text: "with nothing going wrong an invariant is broken: " + v.String(),
		}}
	}
	return []Finding{{Responsible: ReportToUs, Text: what + ", and no step has failed", Fix: ReportIt}}
}

// processed returns the number of submitted orders that have ended Processed. Their child orders may have ended
// otherwise: they were overtaken, or the order went on without them.
func processed(w *Simulation) (n int) {
	for _, o := range w.AllOrders {
		if t := w.Store.Task(o.Id); t != nil && t.Parent == nil && t.ProcessState == core.Processed {
			n++
		}
	}
	return n
}

// failed returns a finding for the first step that failed for a reason other than a missing answer. It looks
// at the order and then at its child orders.
func failed(sc Scenario, w *Simulation, what string) (Finding, bool) {
	fix := "if the order lacks what the workflow asks for, give one that has it (--order FILE, or " +
		"sim.Order in a test); otherwise correct the step"
	since := core.Time(0)
	if sc.Begun != nil {
		fix = "correct the step, and deploy it before the order is moved"
		since = sc.Begun.At
	}
	for _, o := range w.AllOrders { // the order itself is the first one; its child orders follow
		t := w.Store.Task(o.Id)
		place := ""
		if t == nil || t.Definition == "" {
			continue
		}
		def := w.DefOf(t)
		if t.Parent != nil {
			place = fmt.Sprintf(" of its child order %s (workflow %s)", t.OrderID, t.Workflow)
		}
		for i := range min(len(t.Steps), len(def.Steps)) {
			d := &def.Steps[i]
			e := t.Steps[i].Error
			if e == nil || e.At <= since || unansweredIn(e) {
				continue
			}
			if e.Code == core.CodeAnswerRefused {
				fix = "give an answer that goes on, with " + begun(sc) + "--answer" + inTests(sc)
			}
			return Finding{
				Responsible: YourWorkflow,
				Text:        fmt.Sprintf("%s: step %s%s failed: %s", what, d.Name, place, e.Message),
				Fix:         fix + defaults(e, def, d, begun(sc)), Step: d.Name, Agent: d.Agent,
			}, true
		}
	}
	return Finding{}, false
}

// unansweredIn reports whether a missing answer is the cause of an error. A step with a block gets its code, and one
// with members or a list of children names it in its message.
func unansweredIn(e *protocol.StepError) bool {
	return e.Code == core.CodeAnswerTimeout || strings.Contains(e.Message, core.CodeAnswerTimeout)
}

// unanswered returns a finding for the first step whose answer is missing. The scenario has no answer for
// this step, and the step has no timeoutValue.
func unanswered(sc Scenario, what string) (Finding, bool) {
	for _, s := range answered(sc.Definition) {
		d := s.step()
		if d.Answer.TimeoutValue != nil || sc.Answers[s.path] != nil {
			continue
		}
		return Finding{
			Responsible: YourWorkflow, Step: d.Name, Advice: sc.Begun != nil,
			Text: fmt.Sprintf("%s: step %s waits for an answer from outside", what, s.path),
			Fix: fmt.Sprintf("give one that goes on: %s--answer '%s=%s'%s", begun(sc), s.path,
				exampleOf(d.Answer), inTests(sc)),
		}, true
	}
	return Finding{}, false
}

// begun returns the command that simulates new orders with further flags, because move itself has no such flags. It
// returns "" if the orders are new.
func begun(sc Scenario) string {
	if sc.Begun == nil {
		return ""
	}
	return "stepkeeper simulate FILE "
}

// inTests returns the advice for Go tests, which simulate no stored order.
func inTests(sc Scenario) string {
	if sc.Begun != nil {
		return ""
	}
	return ", or sim.Answer in a test"
}

func exampleOf(a *core.Answer) string {
	if len(a.Values) > 0 {
		return a.Values[0]
	}
	if s, err := schema.Compile(a.Schema); err == nil {
		if drawn := s.Samples(samples); len(drawn) > 0 {
			return string(drawn[0])
		}
	}
	return "VALUE"
}

// readOutput matches an expression that reads a field of a step's output.
var readOutput = regexp.MustCompile(`steps\.([a-z0-9_]+)\.output\??\.([A-Za-z_][A-Za-z0-9_]*)`)

// defaults returns advice for a step that failed because a simulated output lacks a field: its expression, its list or
// the condition of its repeat needs one. A simulated service returns only the fields that the user lists. For any other
// error defaults returns "".
func defaults(e *protocol.StepError, def *core.Definition, of *core.StepDefinition, command string) string {
	const only = "; a simulated service returns the real one's fields only if they are in "
	text := e.Message
	if of.Each != nil {
		text += string(of.Input) // the message does not quote the expression of a list
	}
	m := readOutput.FindStringSubmatch(text)
	switch {
	case e.Code != "expression" && e.Code != "exhausted":
		return ""
	case of.Each != nil && of.Each.Repeat != nil:
		return only + command + "--services"
	case m == nil:
		return ""
	}
	for i := range def.Steps {
		if d := &def.Steps[i]; d.Agent != "" && strings.ReplaceAll(d.Name, "-", "_") == m[1] {
			return fmt.Sprintf("%s%s--services, as in %s: {%s: {output: {%s: …}}}", only, command, d.Agent, d.Operation,
				m[2])
		}
	}
	return ""
}

// diagnosePlain simulates the loss of the first reply of each plain service. It skips a step that has only
// one attempt. It also skips a step whose agent can check the service. It returns a finding for each step
// whose further attempts are useless.
func diagnosePlain(sc Scenario) (all []Finding) {
	for _, s := range stepsOf(sc.Definition, "", FirstID) {
		d := s.step()
		if d.Grade != core.Plain || sc.Services[d.Agent].Check || d.Retry.Budget() < 2 {
			continue
		}
		key := core.Key(s.order, 0, d.Name)
		w := played(sc, NewPlayer([]Choice{{
			At: Sites[AnAgent][CallDo],
			Of: key, Nth: 1, Value: 1, What: string(ReplyLost),
		}}), false)
		attempts := 0
		if o := w.ByID[s.order]; o != nil { // a list may have started no child
			for key := range o.Seen.Requests {
				if strings.HasPrefix(key, d.Name+"/") {
					attempts++
				}
			}
		}
		if svc := w.Services[key]; attempts > 2 && svc != nil && svc.Applied == 1 {
			all = append(all, Finding{
				Responsible: YourWorkflow, Advice: true, Step: d.Name, Agent: d.Agent,
				Text: fmt.Sprintf(
					"when one answer of the plain service behind %s is lost, step %s asks again in vain: "+
						"it may neither be called a second time nor answered while its ledger says %q, "+
						"and only after %d attempts the operator is alerted",
					d.Agent, s.path, worker.StateStarted, attempts-1),
				Fix: fmt.Sprintf(
					"give the agent %s a check, or step %s maxFailures: 1, so that the operator is "+
						"alerted at once", d.Agent, s.path),
			})
		}
	}
	return all
}
