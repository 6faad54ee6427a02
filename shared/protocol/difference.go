package protocol

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Difference is one difference between two definitions of a workflow: the task's definition and another one.
type Difference struct {
	Step    string `json:"step,omitempty" doc:"absent if the difference concerns the whole workflow"`
	What    string `json:"what" doc:"the difference, for people"`
	Refused bool   `json:"refused" doc:"the task cannot be moved because of it"`
}

// Differences returns the differences between the task's definition and another definition of its workflow.
// The differences of steps come first.
func Differences(from, to *core.Definition, t *Task) []Difference {
	var all []Difference
	for i := range from.Steps {
		d := &from.Steps[i]
		s := t.Step(d.Name)
		// The next run of a Compensated task uses new keys, so no difference of a step is refused.
		bound := s != nil && t.ProcessState != core.Compensated && s.Begun()
		j := to.Index(d.Name)
		if j < 0 {
			what := "it is removed"
			if bound {
				what = "it is removed, and was " + attemptedOrSkipped(s)
			}
			all = append(all, Difference{d.Name, what, bound})
			continue
		}
		n := &to.Steps[j]
		all = append(all, fixed(d, n, bound, s)...)
		all = append(all, free(d, n)...)
		if bound {
			all = append(all, order(n, t)...)
		}
	}
	for i := range to.Steps {
		if from.Index(to.Steps[i].Name) < 0 {
			all = append(all, Difference{Step: to.Steps[i].Name, What: "it is new"})
		}
	}
	// A parent must always be able to undo its child (P41, parent and child talk by messages).
	if n := pointOfNoReturn(to); t.Parent != nil && n >= 0 && pointOfNoReturn(from) < 0 {
		all = append(all, Difference{
			to.Steps[n].Name,
			fmt.Sprintf(
				"it is a point of no return, and the definition of the order has none: step %s of %s "+
					"could not undo this child any more",
				t.Parent.Step, t.Parent.OrderID), true,
		})
	}
	return append(all, whole(from, to)...)
}

// whole returns the differences outside the steps. The hop budget, and which agents there are, follow from the steps.
func whole(from, to *core.Definition) (all []Difference) {
	for _, c := range []struct {
		what    string
		differs bool
	}{
		{"the schema of its orders is another one, for new orders only", !bytes.Equal(from.Order, to.Order)},
		{"the output of the workflow is another one", !bytes.Equal(from.Output, to.Output)},
		{
			"the deadline of the workflow is another one",
			from.Deadline != to.Deadline || from.OnDeadline != to.OnDeadline,
		},
		{"grace or tellAfter is another one", from.Grace != to.Grace || from.ResendAfter != to.ResendAfter},
		{
			"the status messages or alerts are others",
			from.AlertUndone != to.AlertUndone || from.Events != to.Events || !slices.Equal(from.Notify, to.Notify),
		},
	} {
		if c.differs {
			all = append(all, Difference{What: c.what})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(from.Agents)) {
		if n, both := to.Agents[name]; both && n != from.Agents[name] {
			all = append(all, Difference{What: "the times of agent " + name + " are others"})
		}
	}
	return all
}

func pointOfNoReturn(d *core.Definition) int {
	return slices.IndexFunc(d.Steps, func(s core.StepDefinition) bool { return s.PointOfNoReturn })
}

func attemptedOrSkipped(s *Step) string {
	switch {
	case s.State == core.Skipped:
		return "skipped"
	case !s.Attempted():
		return "given up without a claim"
	}
	return "attempted"
}

// fixed returns the differences that are refused if the step has begun. The parameter bound is true if the
// step has begun. Its key then stands for the old call. Another input is still allowed if the step provably
// has no lasting effect.
func fixed(d, n *core.StepDefinition, bound bool, s *Step) (all []Difference) {
	undo := func(d *core.StepDefinition) string {
		if d.Undo == nil {
			return "none"
		}
		return d.Undo.Operation
	}
	for _, c := range []struct{ what, was, is string }{
		{"kind", string(d.Kind()), string(n.Kind())},
		{"agent", strings.Join(d.AllAgents(), ", "), strings.Join(n.AllAgents(), ", ")},
		{"operation", d.Operation, n.Operation},
		{"undo", undo(d), undo(n)},
		{"grade", string(d.Grade), string(n.Grade)},
		{"onFailure", string(d.OnFailure), string(n.OnFailure)},
		{"pointOfNoReturn", fmt.Sprint(d.PointOfNoReturn), fmt.Sprint(n.PointOfNoReturn)},
	} {
		if c.was != c.is {
			all = append(all, Difference{
				d.Name, fmt.Sprintf("its %s was %s and is %s", c.what, c.was, c.is),
				bound,
			})
		}
	}
	if d.Answer != nil && n.Answer != nil && !sameAnswers(d.Answer, n.Answer) {
		all = append(all, Difference{
			d.Name,
			"what it may be answered with, or what is a refusal, is different", bound,
		})
	}
	all = append(all, anyDifferences(d, n, bound, s)...)
	if d.Each != nil && n.Each != nil && !sameChildren(d.Each, n.Each) {
		all = append(all, Difference{
			d.Name, "its children are of another workflow, or get other orders",
			bound,
		})
	}
	if d.Wait == nil && d.Answer == nil && !bytes.Equal(d.Input, n.Input) {
		what := "its input is another one"
		refused := bound && !s.WithoutEffect()
		if refused {
			what += "; if its service shows that it did not happen, resolve it as not-happened first"
		}
		if !refused && s != nil && s.Corrected != nil {
			what += ", and takes the place of the one that an operator has given"
		}
		all = append(all, Difference{d.Name, what, refused})
	}
	return all
}

func sameInput(d, n *core.StepDefinition) bool {
	return d.Kind() == n.Kind() && d.Operation == n.Operation && bytes.Equal(d.Input, n.Input)
}

// anyDifferences returns the differences between two Anys. Before the decision, enough may change.
func anyDifferences(d, n *core.StepDefinition, bound bool, s *Step) (all []Difference) {
	if d.Any == nil || n.Any == nil {
		return nil
	}
	if !slices.Equal(d.Any.Members, n.Any.Members) {
		all = append(all, Difference{d.Name, "its members are others", bound})
	}
	if d.Any.Enough != n.Any.Enough {
		all = append(all, Difference{d.Name, "its enough is another one", bound && s.Passed()})
	}
	return all
}

// WithoutEffect reports whether the step provably has no lasting effect. There are three cases:
//
//   - The service has proven it (P22a, a proven refusal permits undo).
//   - The step failed without a claim.
//   - The step is Compensated, and the operator stated NotHappened or Undone after its last claim.
func (s *Step) WithoutEffect() bool {
	return s.NoEffect != 0 || !s.Attempted() && s.FailureCode != "" || s.State == core.Compensated &&
		s.Resolved != nil && s.Resolved.Fact != core.Happened && s.Resolved.At > s.Claim.At
}

// free returns the differences that are allowed at every step.
func free(d, n *core.StepDefinition) (all []Difference) {
	add := func(what string, differs bool) {
		if differs {
			all = append(all, Difference{Step: d.Name, What: "its " + what})
		}
	}
	add("wait is another one; where it has begun, it ends when it would have", d.Wait != nil &&
		n.Wait != nil && (*d.Wait != *n.Wait || !bytes.Equal(d.Input, n.Input)))
	add(
		"question is another one; where it was asked, who may answer, how many are needed, and until "+
			"when, stays", d.Answer != nil && n.Answer != nil &&
			(!bytes.Equal(d.Input, n.Input) || !sameTimeout(d.Answer, n.Answer)))
	add("attempts are others; answers that were refused count", d.Answer != nil && n.Answer != nil &&
		d.Answer.Attempts != n.Answer.Attempts)
	add("code or message is another one", d.Fail != nil && n.Fail != nil && *d.Fail != *n.Fail)
	add("children have another definition, which holds for those that have not started, and for those that "+
		"start again", d.Each != nil && n.Each != nil && d.Each.Workflow == n.Each.Workflow &&
		d.Each.Definition != n.Each.Definition)
	add("concurrency, or how many children may fail, is another one", d.Each != nil && n.Each != nil &&
		(d.Each.Concurrency != n.Each.Concurrency || d.Each.Tolerate != n.Each.Tolerate))
	add("children wait for other events; an event for one that has started goes to its own ID",
		d.Each != nil && n.Each != nil && !slices.EqualFunc(d.Each.Events, n.Each.Events,
			func(a, b core.PassedEvent) bool { return a.Name == b.Name && bytes.Equal(a.Schema, b.Schema) }))
	add("enough is another one; where the step has begun, it stays", d.Each != nil && n.Each != nil &&
		!bytes.Equal(d.Each.Enough, n.Each.Enough))
	add("deadline is another one; a time span counts from the first claim, or from the last resubmit",
		!sameDeadline(d, n) || d.OnDeadline != n.OnDeadline)
	add("reminders are others; those to come are sent", !sameReminders(d.Remind, n.Remind))
	add("repeat is another one, which holds from the next end of an iteration on", d.Each != nil && n.Each != nil &&
		d.Each.Repeat != nil && n.Each.Repeat != nil && *d.Each.Repeat != *n.Each.Repeat)
	add("condition is another one", d.When != n.When)
	add("place is another one: it came after ["+strings.Join(d.After, ", ")+"] and comes after ["+
		strings.Join(n.After, ", ")+"]", !slices.Equal(d.After, n.After))
	add("timeouts or retries are others", d.Timeout != n.Timeout || d.MaxQueueTime != n.MaxQueueTime ||
		d.PollFor != n.PollFor || d.MaxDuration != n.MaxDuration || d.Retry != n.Retry ||
		d.Undo != nil && n.Undo != nil && (d.Undo.Timeout != n.Undo.Timeout || d.Undo.Retry != n.Undo.Retry))
	add("undo's input is another one", d.Undo != nil && n.Undo != nil &&
		!bytes.Equal(d.Undo.Input, n.Undo.Input))
	return all
}

// sameAnswers reports whether a and n decide the same answers in the same way.
func sameAnswers(a, n *core.Answer) bool {
	return a.Event == n.Event && a.Ask == n.Ask && slices.Equal(a.Values, n.Values) &&
		bytes.Equal(a.Schema, n.Schema) && a.Refuse == n.Refuse
}

// sameChildren reports whether e and n have the same children with the same orders, and collect the same outputs. The
// definitions of the children may differ, because each child refers to its own definition.
func sameChildren(e, n *core.Each) bool {
	return e.Workflow == n.Workflow && e.Collect == n.Collect && (e.Repeat == nil) == (n.Repeat == nil) &&
		bytes.Equal(e.Order, n.Order)
}

// sameTimeout reports whether a and n react in the same way when the time for an answer ends.
func sameTimeout(a, n *core.Answer) bool {
	return a.OnTimeout == n.OnTimeout && bytes.Equal(a.TimeoutValue, n.TimeoutValue)
}

// sameReminders reports whether a and n make the same calls at the same times.
func sameReminders(a, n *core.Remind) bool {
	if a == nil || n == nil {
		return a == n
	}
	return a.After == n.After && a.Every == n.Every && a.AtMost == n.AtMost && a.Agent == n.Agent &&
		a.Operation == n.Operation && a.Timeout == n.Timeout && bytes.Equal(a.Input, n.Input)
}

// order returns a difference for each predecessor in n.After that has not begun. The step n itself has begun.
func order(n *core.StepDefinition, t *Task) (all []Difference) {
	for _, name := range n.After {
		if s := t.Step(name); s == nil || !s.Begun() {
			all = append(all, Difference{n.Name, "it was begun, and comes after " + name +
				" now, which was not", true})
		}
	}
	return all
}

// staysIn reports whether a step keeps its state in another definition. A step of another kind does not, and neither
// does one that waits for another event: what came for the one is no answer to the other. Only a step that has not
// begun, or one of a Compensated task, can differ so.
func (s *Step) staysIn(d, n *core.StepDefinition) bool {
	answers := d.Answer == nil || n.Answer == nil || d.Answer.Event == n.Answer.Event
	return d.Kind() == n.Kind() && answers && s.fits(n)
}

// MovedTo returns the task with another definition, and with the steps in the order of that definition.
//
// Steps keep their states, but a Failed step that was never claimed becomes Pending, and so does a step that is
// another one now. If a removed step returns, its attempt numbers continue (P1, every claim has a new attempt). The
// present end is settled, but its final status may be undelivered, or be recorded as undelivered later. So the task
// keeps the steps of that status.
func (t *Task) MovedTo(from, to *core.Definition) *Task {
	c := t.Clone()
	removed := maps.Clone(t.Attempts.Removed)
	if removed == nil {
		removed = map[string]int{}
	}
	for i := range t.Steps {
		if s := &t.Steps[i]; s.Attempt > 0 {
			removed[s.Name] = s.Attempt
		}
	}
	c.Steps = make([]Step, len(to.Steps))
	for i := range to.Steps {
		name := to.Steps[i].Name
		c.Steps[i] = Step{Name: name, State: core.Pending, Attempt: removed[name]}
		if s := t.Step(name); s != nil && s.staysIn(&from.Steps[from.Index(name)], &to.Steps[i]) {
			c.Steps[i] = *s
		}
		s := &c.Steps[i]
		if was := from.Index(name); s.Corrected != nil && !sameInput(&from.Steps[was], &to.Steps[i]) {
			s.Corrected = nil // the input of the new definition applies (P51, a call can get another input)
		}
		// The key of a reminder that was sent must not stand for two different calls.
		s.Reminded.Moved = s.Reminded.N > 0
		if s.Attempted() {
			s.moveLate(&from.Steps[from.Index(name)], &to.Steps[i])
		}
		s.Claim.Agent = "" // the next claim chooses an agent

		s.EndState = ""
		if s.State == core.Failed && !s.Attempted() { // failed by a rule or an expression
			s.State = core.Pending
			s.Error = nil
		}
		delete(removed, name)
	}
	c.keepWon(t)
	c.Attempts.Removed = removed
	if len(removed) == 0 {
		c.Attempts.Removed = nil
	}
	c.Attempts.Last = slices.Clone(t.Attempts.Last)
	for i := range c.Attempts.Last {
		a := &c.Attempts.Last[i]
		was := from.Index(a.Step)
		is := to.Index(a.Step)
		if a.Agent == "" && was >= 0 &&
			(is < 0 || to.Steps[is].Agent != from.Steps[was].Agent) {
			a.Agent = from.Steps[was].Agent
		}
	}
	if t.End.Seq > 0 {
		c.EndSteps = t.FinalStatus().Status.Steps
	}
	c.Definition = to.Hash
	return c
}

// keepWon stores the output of each Any whose first member is not there any more, because its status may be sent again
// (P12, effects are emitted again).
func (t *Task) keepWon(before *Task) {
	for i := range t.Steps {
		s := &t.Steps[i]
		output := before.OutputOf(s)
		if len(s.Won) > 0 && !bytes.Equal(output, t.OutputOf(s)) {
			s.Output = output
			s.Won = nil
		}
	}
}
