package world

import (
	"fmt"
	"slices"
	"strings"
)

// Invariant is a condition that must hold after every step.
type Invariant struct {
	// Name is a number of the list in docs/reference/simulator.md, a rule of the protocol, or a word.
	Name string
	Text string
}

// Invariants returns all invariants that a run checks.
func Invariants() []Invariant { return slices.Clone(invariants) }

var invariants = []Invariant{
	{"1", "every acknowledged order is stored"},
	{"2", "an order that is stored apart exists as long as its task"},
	{"3", "at most one effect per idempotency key"},
	{"4", "a reply of another run or operation, or of a stale attempt other than done, changes nothing"},
	{"5", "without faults every order reaches an end within a bound"},
	{"6", "only a command changes a terminal state"},
	{"7", "Processed: every step's effect exactly once, and none of a step that was undone alone"},
	{"8", "Compensated or Cancelled: no net effect anywhere"},
	{"9", "undo runs in the reverse order of the first claims, except an undo that began while the task " +
		"went forward"},
	{"10", "every step ever attempted is undone before the task counts as undone"},
	{"11", "no forward effect after its undo"},
	{"12", "failure counts only grow between commands, and are bounded"},
	{"13", "each counted failure belongs to one distinct attempt"},
	{"14", "attempts only grow, and one attempt is one claim"},
	{"15", "the version grows by exactly one"},
	{"16", "a step in flight has one lock holder, any other none"},
	{"17", "the Supervisor never changes a finished step"},
	{"18", "statuses match committed states and are numbered in their order"},
	{"19", "no message is lost without a trace"},
	{"20", "work per order is bounded"},
	{"21", "the index's due time is never later than the earliest live time"},
	{"P8", "a message that is ahead of the document stays, and every commit has an event that led to it"},
	{"P2", "the run grows only when a Compensated task is resubmitted"},
	{"P3", "a reply echoes its request, and a call is what the request asks for"},
	{"P6", "no call lasts longer than its timeout"},
	{"P5", "commands are numbered; one ID has one verdict"},
	{"P9", "every task that is not at rest has a due time"},
	{"P9a", "a Wake claims, or goes on with the undo, when its wait is over and not before"},
	{"P10", "the Supervisor pushes an early due time to the earliest live time"},
	{"P11", "no end is settled unreported"},
	{"P12", "a message that is emitted again is the same, byte for byte"},
	{"P12a",
		"a fresh copy that changes nothing makes no call and reports no end: copies do not multiply calls"},
	{"P13", "the effects of a commit are sent before its message is deleted"},
	{"P14", "the content of an order never changes; a new one gets its first claims"},
	{"P15", "a reply counts by run, operation and attempt, and leads to what the protocol says"},
	{"P16", "the Supervisor claims nothing, sends no request, and handles every overdue step and task"},
	{"P18", "the operator's commands lead to what the protocol says"},
	{"P17", "a refused Cancel is never accepted later, and a Cancelled task stays so"},
	{"P19", "the reason of an undo is set when the undo begins, and does not change"},
	{"P20", "nothing forward is claimed while the task compensates"},
	{"P21", "the undo of a service without a fence waits until no call can be running"},
	{"P22", "nothing is undone once a point of no return is claimed"},
	{"P22a",
		"an order is undone after a point of no return only with a correct proof that the step has had no " +
			"effect and will have none"},
	{"P23", "forward claims stay within the hop budget"},
	{"P23a", "a deadline stops, or turns around, a task that goes forward"},
	{"P27", "a restart emits all open messages again"},
	{"P24",
		"an agent checks the service, if it can, before a second attempt, and its reply states only " +
			"what the service has returned"},
	{"P25", "the agent begins no call and sends nothing from stopBy on, less the clocks' skew"},
	{"P26", "the ID of an order is never forgotten"},
	{"P28", "no output that is too large is sent, or redelivered for ever; texts are cut before required " +
		"fields, and reported values stay"},
	{"P31",
		"the ledger of a plain service changes only as its table allows, and every call and reply agrees " +
			"with it"},
	{"P32", "time in a queue is not counted beyond the step's maxQueueTime"},
	{"P33",
		"a step that waits asks no agent, counts no failure, and does not wait any more at the task's end"},
	{"P34", "a wait ends when its time has come, not before, and by the next sweep"},
	{"P35", "a round of answers is decided once, and a decided value never changes"},
	{"P36", "an accepted answer is never lost, and one ID has one verdict"},
	{"P37", "a missing answer is replaced after its time has passed, not before, and by the next sweep"},
	{"P38", "a call that asks for an answer is not claimed once its step is decided"},
	{"P39", "no token of an answer is stored, whatever a service repeats"},
	{"P40",
		"a step has at most its limit of open children, each of them once, and a Processed step at most " +
			"its tolerated number of failed ones"},
	{"P41", "no effect of a child stands if its parent, or the parent's step, is undone; if that step is " +
		"Processed, all of its children have ended"},
	{"P42",
		"a failed step that does not stop the task is never claimed again, its failure does not change, " +
			"and the steps after it wait until it is undone"},
	{"P43",
		"an attempt that reports progress has more time, never past its stopBy, which does not move; an " +
			"agent reports nothing after it"},
	{"P44", "a step with several agents asks one of them, and after a failure another"},
	{"P45",
		"a step whose agent made no call that could have had an effect is handed back uncounted, and not " +
			"beyond maxQueueTime or pollFor"},
	{"P48", "a task is closed only when no call can take effect any more; it stays closed, and records who " +
		"closed it and the reason"},
	{"P49",
		"only a command moves a task, while nothing is in flight; completed steps stay, and their keys " +
			"keep their meaning"},
	{"P50",
		"a step with a rule is Skipped, or fails with the rule's code or because its condition cannot be " +
			"evaluated, and is never attempted"},
	{"P51", "another input is given only to a step whose key can have had no effect, is sent from then on, " +
		"and no earlier one takes effect"},
	{"P52",
		"only a command erases an order, after its end was reported; then neither its document nor its " +
			"store holds data that people or services have sent"},
	{"mixed", "old and new versions of the program keep each other's fields"},
	{"bug", "no handler panics, no document is unreadable"},
}

// Checks counts the checks of each invariant, by its name.
type Checks map[string]int

// Did counts one check of an invariant, or nothing if the name is "".
func (c Checks) Did(name string) {
	if name != "" {
		c[name]++
	}
}

// Violate ends the run because an invariant is broken.
func (w *Simulation) Violate(name, format string, args ...any) {
	if w.Violation != nil {
		return
	}
	w.Violation = &Violation{Invariant: name, Text: fmt.Sprintf(format, args...), At: w.Now}
	w.Trace("world", "", "VIOLATION of "+w.Violation.String())
}

// Rule returns the text of the invariant.
func (v *Violation) Rule() string {
	i := slices.IndexFunc(invariants, func(i Invariant) bool { return i.Name == v.Invariant })
	if i < 0 {
		return strings.TrimSpace(v.Invariant)
	}
	return invariants[i].Text
}
