package core_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// moving is a desk whose order has stopped, told, at b; a is Processed, c was not begun.
func moving(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t, workflow(step("a"), step("b", after("a")), step("c", after("b"))))
	d.task = fixture("Error-forward", "Processed", core.Failed)
	d.task.Tell, d.task.Due, d.task.Attention = 0, 0, true
	d.task.Steps = append(d.task.Steps, core.Step{Name: "c", State: core.Pending})
	d.now = noon + 100_000
	return d
}

func target(hash string, steps ...core.StepDefinition) *core.Definition {
	d := workflow(steps...)
	d.Hash = hash
	return d
}

// P49: what was done stands and must be the same in the new definition; each clause is refused by its name.
func TestMoveIsRefusedWithTheDifferences(t *testing.T) {
	change := func(f func(a, b, c *core.StepDefinition)) []core.StepDefinition {
		a, b, c := step("a"), step("b", after("a")), step("c", after("b"))
		f(&a, &b, &c)
		return []core.StepDefinition{a, b, c}
	}
	for name, x := range map[string]struct {
		steps []core.StepDefinition
		want  string // "" where it is accepted
	}{
		"agent":      {change(func(a, _, _ *core.StepDefinition) { a.Agent = "c-agent" }), "step a: its agent"},
		"operation":  {change(func(a, _, _ *core.StepDefinition) { a.Operation = "other" }), "step a: its operation"},
		"input":      {change(func(_, b, _ *core.StepDefinition) { b.Input = json.RawMessage(`"other"`) }), "step b: its input"},
		"undo":       {change(func(a, _, _ *core.StepDefinition) { a.Undo = nil }), "step a: its undo"},
		"grade":      {change(func(a, _, _ *core.StepDefinition) { a.Grade = core.Plain }), "step a: its grade"},
		"onFailure":  {change(func(_, b, _ *core.StepDefinition) { b.OnFailure = core.OnFailureStop }), "step b: its onFailure"},
		"no return":  {change(func(_, b, _ *core.StepDefinition) { b.PointOfNoReturn = true }), "step b: its pointOfNoReturn"},
		"removed":    {[]core.StepDefinition{step("a"), step("c", after("a"))}, "step b: it is removed, and was attempted"},
		"not begun":  {append(change(func(a, _, _ *core.StepDefinition) { a.After = []string{"new"} }), step("new")), "step a: it was begun, and comes after new now"},
		"timeout":    {change(func(a, _, _ *core.StepDefinition) { a.Timeout *= 2 }), ""},
		"undo input": {change(func(a, _, _ *core.StepDefinition) { a.Undo.Input = json.RawMessage(`"other"`) }), ""},
		"of a step that was not begun": {change(func(_, _, c *core.StepDefinition) {
			c.Operation, c.Input = "other", json.RawMessage(`"other"`)
		}), ""},
		"a new one behind":            {append(change(func(_, _, _ *core.StepDefinition) {}), step("new", after("c"))), ""},
		"one that was not is removed": {[]core.StepDefinition{step("a"), step("b", after("a"))}, ""},
	} {
		d := moving(t)
		dec, err := core.Decide(d.def, d.order, d.task, core.Move{ID: "m", Command: 4, To: core.Target{Definition: target("fedcba", x.steps...)}}, core.At{Now: d.now})
		if err != nil || dec.Verdict == nil {
			t.Fatalf("%s: %v", name, err)
		}
		if v := dec.Verdict; v.Accepted != (x.want == "") || !strings.Contains(v.Reason, x.want) {
			t.Errorf("%s: %+v, want %q", name, *v, x.want)
		}
		if v := dec.Verdict; !v.Accepted && (dec.Task.Definition != d.task.Definition || dec.Task.Command != 4) {
			t.Errorf("%s: it was refused, and the task pins %s", name, dec.Task.Definition)
		}
	}
}

// A task that is moved keeps what was done, in the new order, and attempts go on where a name returns (P1).
func TestMoveRebuildsTheSteps(t *testing.T) {
	d := moving(t)
	d.task.Steps[2].Attempt = 2 // of an earlier run
	old := d.def
	without := target("one", step("a"), step("b", after("a")))
	dec, err := core.Decide(d.def, d.order, d.task, core.Move{ID: "m1", Command: 4, To: core.Target{Definition: without}}, core.At{Now: d.now, By: "s"})
	if err != nil || !dec.Verdict.Accepted || len(dec.Task.Steps) != 2 || dec.Task.Removed["c"] != 2 || dec.Task.Definition != "one" || dec.Task.Command != 5 {
		t.Fatalf("%v %+v", err, dec.Task)
	}
	if dec.Task.EndCause != "" || dec.Task.ProcessState != core.Error || !dec.Task.Attention {
		t.Errorf("it is %s, told again by %q", dec.Task.ProcessState, dec.Task.EndCause)
	}
	if _, err := core.Decide(old, d.order, dec.Task, core.Settle{}, core.At{Now: d.now}); err == nil {
		t.Error("it is decided by the definition that it no longer pins")
	}
	d.commit(dec.Task)
	d.def = without
	back := target("two", step("c", after("b")), step("a"), step("b", after("a")))
	dec, err = core.Decide(d.def, d.order, d.task, core.Resubmit{ID: "m2", Command: 5, To: &core.Target{Definition: back}}, core.At{Now: d.now, By: "s"})
	if err != nil || !dec.Verdict.Accepted || dec.Verdict.Command != "resubmit" || dec.Task.Command != 6 || dec.Task.Removed != nil {
		t.Fatalf("%v %+v", err, dec.Task)
	}
	if c := dec.Task.Steps[0]; c.Name != "c" || c.Attempt != 2 || c.State != core.Pending {
		t.Errorf("c is %+v", c)
	}
	if b := dec.Task.Step("b"); b.State != core.Processing || dec.Task.ProcessState != core.Processing || dec.Task.Definition != "two" {
		t.Errorf("b is %s, the task %s on %s", b.State, dec.Task.ProcessState, dec.Task.Definition)
	}
}

// P49: nothing in flight, its end told, the number seen, the same workflow; a fact lets an input differ.
func TestMoveIsRefusedByTheState(t *testing.T) {
	same := []core.StepDefinition{step("a"), step("b", after("a")), step("c", after("b"))}
	other := target("fedcba", same...)
	other.Name = "other"
	input := target("fedcba", step("a"), step("b", after("a")), step("c", after("b")))
	input.Steps[1].Input = json.RawMessage(`"other"`)
	for name, x := range map[string]struct {
		change func(*core.Task)
		to     core.Target
		number int
		want   string
	}{
		"in flight":      {func(t *core.Task) { t.Steps[1].State = core.Processing }, core.Target{Definition: target("fedcba", same...)}, 4, "in flight"},
		"untold":         {func(t *core.Task) { t.Tell = noon }, core.Target{Definition: target("fedcba", same...)}, 4, "not been told"},
		"other workflow": {func(*core.Task) {}, core.Target{Definition: other}, 4, "of the workflow other"},
		"unknown":        {func(*core.Task) {}, core.Target{Absent: "no such definition"}, 4, "no such definition"},
		"old number":     {func(*core.Task) {}, core.Target{Definition: target("fedcba", same...)}, 3, "another command"},
		"a fact": {func(t *core.Task) {
			t.Steps[1].Resolved, t.Steps[1].NoEffect = &core.Resolved{Fact: core.NotHappened, Command: 4, At: noon}, noon
		}, core.Target{Definition: input}, 4, ""},
		"a proof by the service": {func(t *core.Task) { t.Steps[1].NoEffect = noon }, core.Target{Definition: input}, 4, ""},
		"a fact that a late reply has contradicted": {func(t *core.Task) {
			t.Steps[1].State, t.Steps[1].Resolved = core.Processed, &core.Resolved{Fact: core.NotHappened, Command: 4, At: noon}
		}, core.Target{Definition: input}, 4, "its input"},
		"a fact in the undo": {func(t *core.Task) {
			t.Phase, t.Steps[1].State, t.Steps[1].Undo = core.Undoing, core.Compensated, true
			t.Steps[1].Resolved = &core.Resolved{Fact: core.Undone, Command: 4, At: noon}
		}, core.Target{Definition: input}, 4, ""},
		"undone by its service": {func(t *core.Task) {
			t.Phase, t.Steps[1].State, t.Steps[1].Undo = core.Undoing, core.Compensated, true
			t.Steps[1].Resolved = &core.Resolved{Fact: core.NotHappened, Command: 4, At: noon - 95_000}
		}, core.Target{Definition: input}, 4, "its input"},
	} {
		d := moving(t)
		x.change(d.task)
		dec, err := core.Decide(d.def, d.order, d.task, core.Move{ID: "m", Command: x.number, To: x.to}, core.At{Now: d.now})
		if err != nil || dec.Verdict.Accepted != (x.want == "") || !strings.Contains(dec.Verdict.Reason, x.want) {
			t.Errorf("%s: %v %+v, want %q", name, err, dec.Verdict, x.want)
		}
	}
}
