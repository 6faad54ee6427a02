package protocol

import (
	"bytes"
	"cmp"
	"encoding/json"
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
		all = append(all, ofStep(d, n, bound, s)...)
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

// parts are the parts of a stored definition whose fields are compared one by one. The first one is the definition.
var parts = []string{"", "wait", "answer", "fail", "each", "each.repeat", "any", "undo", "remind"}

// kept are the fields that a step keeps once it has begun, because its key then stands for the old call.
var kept = []string{
	"agent", "agents", "operation", "grade", "undo", "undo.operation", "onFailure", "pointOfNoReturn",
	"answer.event", "answer.ask", "answer.values", "answer.schema", "answer.refuse", "any.members",
	"each.workflow", "each.order", "each.collect", "each.repeat",
}

// notes say what another value means for a step that has begun.
var notes = map[string]string{
	"wait.for":          "; where it has begun, it ends when it would have",
	"wait.spread":       "; where it has begun, it ends when it would have",
	"answer.attempts":   "; answers that were refused count",
	"each.definition":   ", which holds for children that have not started, and for those that start again",
	"each.events":       "; an event for a child that has started goes to its own ID",
	"each.enough":       "; where the step has begun, it stays",
	"deadline":          "; a time span counts from the first claim, or from the last resubmit",
	"deadlineAt":        "; a time span counts from the first claim, or from the last resubmit",
	"remind":            "; reminders to come are sent",
	"each.repeat.every": ", from the next end of an iteration on",
}

// flatten adds the fields of a part of a stored definition, by their names behind that of the part.
func flatten(all map[string]string, part string, stored json.RawMessage) {
	var members map[string]json.RawMessage
	if !slices.Contains(parts, part) || json.Unmarshal(stored, &members) != nil {
		all[part] = string(stored)
		return
	}
	all[part] = "given"
	// The loop may go in any order, because no member depends on another one.
	for name, value := range members {
		flatten(all, strings.TrimPrefix(part+"."+name, "."), value)
	}
}

func fields(definition any) map[string]string {
	all := map[string]string{}
	stored, _ := core.Marshal(definition) // Marshal cannot fail for a definition
	flatten(all, "", stored)
	return all
}

// differing returns the fields that have different values in two definitions, or in two of their steps, with a text. It
// leaves out the fields of a part that only one of them has.
func differing(from, to any) (names, texts []string) {
	was := fields(from)
	is := fields(to)
	all := maps.Clone(was)
	maps.Copy(all, is)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		dot := max(0, strings.LastIndexByte(name, '.'))
		if part := name[:dot]; was[part] != "" && is[part] != "" && was[name] != is[name] {
			names = append(names, name)
			texts = append(texts, strings.TrimPrefix(name[dot:], ".")+change(was[name], is[name]))
		}
	}
	return names, texts
}

// change shows the earlier and the later value of a field as JSON if both are short. It shows no numbers, because most
// are in milliseconds, and no templates.
func change(was, is string) string {
	const shown = 60
	was = cmp.Or(was, "none")
	is = cmp.Or(is, "none")
	for _, v := range []string{was, is} {
		if len(v) > shown || strings.Contains(v, "{") || strings.ContainsAny(v[:1], "0123456789") {
			return " changed"
		}
	}
	return " changed from " + was + " to " + is
}

// whole returns the differences outside the steps. The hop budget, and which agents there are, follow from the steps.
func whole(from, to *core.Definition) (all []Difference) {
	names, texts := differing(from, to)
	for i, field := range names {
		if !slices.Contains([]string{"schema", "name", "steps", "agents", "hopBudget", "tokens", "schedule"}, field) {
			all = append(all, Difference{What: "the workflow's " + texts[i]})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(from.Agents)) {
		if n, both := to.Agents[name]; both && n != from.Agents[name] {
			all = append(all, Difference{What: "the times of agent " + name + " changed"})
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

// ofStep returns the differences of a step. The parameter bound is true if the step has begun. Another input of a call
// is still allowed if the step provably has no lasting effect, and another enough of an Any before its decision.
func ofStep(d, n *core.StepDefinition, bound bool, s *Step) (all []Difference) {
	if d.Kind() != n.Kind() {
		return []Difference{{d.Name, fmt.Sprintf("its kind changed from %s to %s", d.Kind(), n.Kind()), bound}}
	}
	names, texts := differing(d, n)
	for i, field := range names {
		text := texts[i] + notes[field]
		refused := bound && slices.Contains(kept, field)
		switch {
		case field == "any.enough":
			refused = bound && s.Passed()
		case field == "input" && d.Answer != nil:
			text += "; where it was asked, who may answer, how many are needed, and until when, stays"
		case field == "input" && d.Wait != nil:
			text += notes["wait.for"]
		case field == "input":
			refused = bound && !s.WithoutEffect()
			if refused {
				text += "; if its service shows that it did not happen, resolve it as not-happened first"
			} else if s != nil && s.Corrected != nil {
				text += ", and takes the place of the one that an operator has given"
			}
		}
		all = append(all, Difference{d.Name, "its " + text, refused})
	}
	return all
}

func sameInput(d, n *core.StepDefinition) bool {
	return d.Kind() == n.Kind() && d.Operation == n.Operation && bytes.Equal(d.Input, n.Input)
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

// moveCommand pins the task to another definition of its workflow (P49, move pins another definition).
func (r *decision) moveCommand(ev core.Event) (refused string) {
	if reason := r.move(*ev.(core.Command).To); reason != "" {
		return reason
	}
	r.accept("")
	return ""
}

// move pins the target's definition, and puts the steps into the order of the definition. If the move is
// refused, move returns the reason and changes nothing.
func (r *decision) move(to core.Target) (refused string) {
	if reason := r.t.MoveRefusal(r.def, to); reason != "" {
		return reason
	}
	return r.pin(to.Definition)
}

// pin pins the task to another definition. If the definition is refused, pin returns the reason and changes
// nothing.
func (r *decision) pin(to *core.Definition) (refused string) {
	t := r.t.MovedTo(r.def, to)
	if !r.at.SizeLimit.Fits(to, t) {
		return fmt.Sprintf("what the order holds, and the reserve for the steps of the new definition, do "+
			"not fit into a document of %d bytes; take steps out of the definition", r.at.SizeLimit)
	}
	before := r.t
	def := r.def
	r.t = t
	r.def = to
	if err := r.pinKey(); err != nil {
		r.t = before
		r.def = def
		return err.Error()
	}
	for i := range t.Steps {
		s := r.step(i)
		s.scheduleReminder()
		was := def.Index(s.Name)
		if was < 0 {
			continue
		}
		if err := s.evaluateLate(&def.Steps[was]); err != nil {
			r.t = before
			r.def = def
			return "step " + s.Name + " of the new definition: " + err.Error()
		}
	}
	return ""
}
