package simulate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Invariant is a condition that must hold after every event of a run.
type Invariant struct {
	// Name is a number in the list in docs/reference/simulator.md, a rule of the protocol, or a word.
	Name string
	Text string
}

// Invariants returns all invariants that a run checks.
func Invariants() []Invariant { return slices.Clone(invariants) }

var invariants = []Invariant{
	{"1", "every acknowledged order is stored"},
	{"2", "an order that is stored apart from its task exists as long as the task"},
	{"3", "at most one effect per idempotency key"},
	{"4", "a reply of another run or operation, or of a stale attempt other than done, changes nothing"},
	{"5", "without faults every order reaches an end within a bound"},
	{"6", "only a command changes a terminal state"},
	{"7", "Processed: every step has its effect exactly once, and a step that was undone alone has none"},
	{"8", "Compensated or Cancelled: no effect remains anywhere"},
	{"9", "undo runs in the reverse order of the first claims, except an undo that began while the task " +
		"went forward"},
	{"10", "every step ever attempted is undone before the task counts as undone"},
	{"11", "no forward effect after its undo"},
	{"12", "between two commands failure counts only grow, and they are bounded"},
	{"13", "each counted failure belongs to one distinct attempt"},
	{"14", "attempts only grow, and one attempt is one claim"},
	{"15", "the version grows by exactly one"},
	{"16", "a step in flight has one lock holder, any other step has none"},
	{"17", "the Supervisor never changes a finished step, except in an undo of the order"},
	{"18", "statuses match the committed states, and their numbers follow the order of the states; the " +
		"application receives the status of every end, and all others if no handler has died"},
	{"19", "no message is lost without a trace"},
	{"20", "work per order is bounded"},
	{"21", "the due time in the index is never later than the earliest time at which something must happen"},
	{"22", "Processed: of the members of a step with any, exactly those that have decided it have an effect, and of a " +
		"list with enough, exactly so many children"},
	{"23", "a step after one with any takes effect only once as many of its members as decide it have had an effect, and " +
		"no more of them have handlerEnded well"},
	{"24", "no iteration begins before the one before it has handlerEnded"},
	{"25", "a step has no more iterations than it may have"},
	{"26", "no two iterations take the same passed answer, and one that begins with an answer waits for no other"},
	{"27", "a reminder is decided once, when it is due, for a step that goes forward, and begins at most an hour later"},
	{"P2", "the run grows only when a Compensated task is resubmitted"},
	{"P3", "a reply echoes its request, and a call matches its request"},
	{"P6", "no call lasts longer than its timeout"},
	{"P5", "commands are numbered, and a command that was refused is never accepted later"},
	{"P9", "every task that is not at rest has a due time"},
	{"P11", "no end is settled before it was reported, and the alert of every end is raised, before the end's status is sent"},
	{"P12", "an effect that is emitted again is the same, byte for byte"},
	{"P13", "an agent deletes no request whose reply was not sent"},
	{"P14", "the content of an order never changes"},
	{"P15", "a step whose report \"done\" was taken is not asked again"},
	{"P16", "the Supervisor claims nothing and sends no request"},
	{"P18", "an operator states a fact only when no call can take effect any more; no service is asked " +
		"with a key that it may have forgotten"},
	{"P17", "a Cancel that comes before its order is not lost"},
	{"P21", "without a fence an undo begins only when no request of the do may begin any more"},
	{"P22", "an order past a claimed point of no return is not undone"},
	{"P22a", "an undo past a point of no return begins only after a true proof that the point had no " +
		"effect and will have none"},
	{"P23", "forward claims stay within the hop budget"},
	{"P24", "if a service can be asked, the agent asks it before a second attempt; a report \"done\" " +
		"agrees with the service's books"},
	{"P25", "from stopBy on, less the clock skew, the agent begins no call and sends nothing"},
	{"P26", "the ID of an order is never forgotten"},
	{"P28", "no output that is too large is sent, and no document is above its limit"},
	{"P32", "a reply says how long its request waited, and what waits for longer than maxQueueTime stops for the operator"},
	{"P33", "no agent is asked to do a step that waits"},
	{"P39", "no token of an answer is stored, even if a service repeats it"},
	{"P40", "a step has no more open children than allowed, and none twice"},
	{"P41", "no effect of a child remains if its parent, or the parent's step, is undone; the children of " +
		"a Processed parent have handlerEnded; a child in doubt has existed"},
	{"P42", "a step that failed and that the order went on without is not done afterwards"},
	{"P43", "progress reports extend an attempt, never past its stopBy, which does not move; an agent " +
		"reports nothing after stopBy"},
	{"P48", "a task is closed only when no call can take effect any more; it stays closed, and records who " +
		"closed it and why"},
	{"P49", "a task is moved only by a command and while nothing is in flight, and keys keep their meaning"},
	{"P51", "another input is given only to a step whose key cannot have had an effect; later requests " +
		"carry it, and no earlier input takes effect"},
	{"P52", "only a command erases an order; then its document holds nothing that people or services have sent"},
	{"mixed", "old and new versions of the program keep each other's fields"},
	{"bug", "no handler panics, no document is unreadable"},
}

// Violate records that an invariant is broken, which ends the run. It records only the first violation.
func (w *Simulation) Violate(name, format string, args ...any) {
	if w.Violation != nil {
		return
	}
	w.Violation = &Violation{Invariant: name, Text: fmt.Sprintf(format, args...), At: w.Now}
	w.Trace("world", "", "VIOLATION of "+w.Violation.String())
}

// never checks an invariant, which is broken if wrong is true.
func (w *Simulation) never(wrong bool, name, format string, args ...any) {
	w.Checks[name]++
	if wrong {
		w.Violate(name, format, args...)
	}
}

// Rule returns the text of the invariant that is broken, or its name if it is not in the list.
func (v *Violation) Rule() string {
	i := slices.IndexFunc(invariants, func(i Invariant) bool { return i.Name == v.Invariant })
	if i < 0 {
		return strings.TrimSpace(v.Invariant)
	}
	return invariants[i].Text
}

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
	if len(Overstated(*sc)) > 0 {
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
