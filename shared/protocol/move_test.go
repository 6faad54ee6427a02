package protocol_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// moving returns a desk whose order has stopped at b, and has reported this. a is Processed, and c has not
// begun.
func moving(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t, workflow(step("a"), step("b", after("a")), step("c", after("b"))))
	d.task = fixture("Error-forward", "Processed", core.Failed)
	d.task.End.ResendAt = 0
	d.task.Due = 0
	d.task.Attention = true
	d.task.Steps = append(d.task.Steps, protocol.Step{Name: "c", State: core.Pending})
	d.now = noon + 100_000
	return d
}

func target(hash string, steps ...core.StepDefinition) *core.Definition {
	d := workflow(steps...)
	d.Hash = hash
	return d
}

// P49: the finished part of an order must be the same in the new definition. Each refusal names the
// difference.
func TestMoveIsRefusedWithTheDifferences(t *testing.T) {
	change := func(f func(a, b, c *core.StepDefinition)) []core.StepDefinition {
		a := step("a")
		b := step("b", after("a"))
		c := step("c", after("b"))
		f(&a, &b, &c)
		return []core.StepDefinition{a, b, c}
	}
	for name, x := range map[string]struct {
		steps []core.StepDefinition
		want  string // "" where it is accepted
	}{
		"agent": {
			change(func(a, _, _ *core.StepDefinition) { a.Agent = "c-agent" }),
			"step a: its agent",
		},
		"operation": {
			change(func(a, _, _ *core.StepDefinition) { a.Operation = "other" }),
			"step a: its operation",
		},
		"input": {change(func(_, b, _ *core.StepDefinition) {
			b.Input = json.RawMessage(`"other"`)
		}), "step b: its input"},
		"undo": {change(func(a, _, _ *core.StepDefinition) { a.Undo = nil }), "step a: its undo"},
		"grade": {
			change(func(a, _, _ *core.StepDefinition) { a.Grade = core.Plain }),
			"step a: its grade",
		},
		"onFailure": {change(func(_, b, _ *core.StepDefinition) {
			b.OnFailure = core.OnFailureStop
		}), "step b: its onFailure"},
		"no return": {
			change(func(_, b, _ *core.StepDefinition) { b.PointOfNoReturn = true }),
			"step b: its pointOfNoReturn",
		},
		"removed": {
			[]core.StepDefinition{step("a"), step("c", after("a"))},
			"step b: it is removed, and was attempted",
		},
		"not begun": {append(change(func(a, _, _ *core.StepDefinition) {
			a.After = []string{"new"}
		}), step("new")), "step a: it was begun, and comes after new now"},
		"timeout": {change(func(a, _, _ *core.StepDefinition) { a.Timeout *= 2 }), ""},
		"undo input": {change(func(a, _, _ *core.StepDefinition) {
			a.Undo.Input = json.RawMessage(`"other"`)
		}), ""},
		"of a step that was not begun": {change(func(_, _, c *core.StepDefinition) {
			c.Operation = "other"
			c.Input = json.RawMessage(`"other"`)
		}), ""},
		"a new one behind": {append(change(func(_, _, _ *core.StepDefinition) {}),
			step("new", after("c"))), ""},
		"one that was not is removed": {[]core.StepDefinition{step("a"), step("b", after("a"))}, ""},
	} {
		d := moving(t)
		dec, err := protocol.Decide(d.def, d.order, d.task, core.Command{
			Name: core.Move,
			ID:   "m", Number: 4,
			To: &core.Target{Definition: target("fedcba", x.steps...)},
		}, protocol.At{Now: d.now})
		if err != nil || dec.Verdict == nil {
			t.Fatalf("%s: %v", name, err)
		}
		if v := dec.Verdict; v.Accepted != (x.want == "") || !strings.Contains(v.Reason, x.want) ||
			v.Command != "move" {
			t.Errorf("%s: %+v, want %q", name, *v, x.want)
		}
		if v := dec.Verdict; !v.Accepted && (dec.Task.Definition != d.task.Definition ||
			dec.Task.Commands.Number != 5) {
			t.Errorf("%s: it was refused, and the task pins %s", name, dec.Task.Definition)
		}
	}
}

// A plan of a move names each part of its definition that is another one (P49), but for
// what the other parts imply, and for what starts orders.
func TestEachPartOfADefinitionIsCompared(t *testing.T) {
	implied := []string{"Name", "Schema", "Hash", "Expr", "Workflow", "Child", "Tokens", "Schedule"}
	whole := func() *core.Definition {
		return workflow(step("call"), waitStep("wait", core.Hour),
			core.StepDefinition{Name: "answer", Answer: &core.Answer{}},
			core.StepDefinition{Name: "fail", Fail: &core.Fail{}},
			core.StepDefinition{Name: "each", Each: &core.Each{}})
	}
	changed := whole()
	var each func(at string, v reflect.Value)
	each = func(at string, v reflect.Value) {
		other := reflect.New(v.Type()).Elem()
		switch {
		case v.Kind() == reflect.Pointer:
			if !v.IsNil() {
				each(at, v.Elem())
			}
			return
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				if f := v.Type().Field(i); f.IsExported() && !slices.Contains(implied, f.Name) {
					each(at+"."+f.Name, v.Field(i))
				}
			}
			return
		case v.Type() == reflect.TypeFor[[]core.StepDefinition]():
			for i := range v.Len() {
				each(changed.Steps[i].Name, v.Index(i))
			}
			return
		case !v.IsZero(): // other is the zero value
		case v.Kind() == reflect.Slice:
			other = reflect.MakeSlice(v.Type(), 1, 1)
		case v.Kind() == reflect.Bool:
			other.SetBool(true)
		case v.Kind() == reflect.String:
			other.SetString("x")
		case v.CanFloat():
			other.SetFloat(1)
		default:
			other.SetInt(1)
		}
		was := reflect.ValueOf(v.Interface())
		v.Set(other)
		found := protocol.Differences(whole(), changed, &protocol.Task{})
		if len(found) == 0 || slices.ContainsFunc(found,
			func(d protocol.Difference) bool { return d.What == "" }) {
			t.Errorf("the differences are %+v where %s is another one", found, at)
		}
		v.Set(was)
	}
	each("", reflect.ValueOf(changed))
}

// The differences of a plan are in the order of the definitions, those that refuse the move among them.
func TestDifferencesAreNamed(t *testing.T) {
	d := moving(t)
	to := target("fedcba", step("new"), step("a"))
	to.Output = json.RawMessage(`{"x":1}`)
	var got []string
	for _, x := range protocol.Differences(d.def, to, d.task) {
		got = append(got, fmt.Sprintf("%s|%s|%v", x.Step, x.What, x.Refused))
	}
	want := []string{
		"b|it is removed, and was attempted|true", "c|it is removed|false", "new|it is new|false",
		"|the output of the workflow is another one|false",
		"|the deadline, the limits, the status messages, the alerts or the times of agents are others|false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A moved task keeps its finished steps, in the sequence of the new definition. Attempts continue if the name
// of a step returns (P1).
func TestMoveRebuildsTheSteps(t *testing.T) {
	d := moving(t)
	d.task.Steps[2].Attempt = 2 // attempts of an earlier run
	old := d.def
	without := target("one", step("a"), step("b", after("a")))
	dec, err := protocol.Decide(d.def, d.order, d.task,
		core.Command{Name: core.Move, ID: "m1", Number: 4, To: &core.Target{Definition: without}},
		protocol.At{Now: d.now, By: "s"})
	if err != nil || !dec.Verdict.Accepted || len(dec.Task.Steps) != 2 ||
		dec.Task.Attempts.Removed["c"] != 2 ||
		dec.Task.Definition != "one" || dec.Task.Commands.Number != 5 {
		t.Fatalf("%v %+v", err, dec.Task)
	}
	if dec.Task.ProcessState != core.Error || !dec.Task.Attention {
		t.Errorf("it is %s", dec.Task.ProcessState)
	}
	if _, err := protocol.Decide(old, d.order, dec.Task, core.Settle{}, protocol.At{Now: d.now}); err == nil {
		t.Error("it is decided by the definition that it no longer pins")
	}
	d.commit(dec.Task)
	d.def = without
	back := target("two", step("c", after("b")), step("a"), step("b", after("a")))
	dec, err = protocol.Decide(d.def, d.order, d.task, core.Command{
		Name: core.Resubmit,
		ID:   "m2", Number: 5,
		To: &core.Target{Definition: back},
	}, protocol.At{Now: d.now, By: "s"})
	if err != nil || !dec.Verdict.Accepted || dec.Verdict.Command != "resubmit" ||
		dec.Task.Commands.Number != 6 ||
		dec.Task.Attempts.Removed != nil {
		t.Fatalf("%v %+v", err, dec.Task)
	}
	if c := dec.Task.Steps[0]; c.Name != "c" || c.Attempt != 2 || c.State != core.Pending {
		t.Errorf("c is %+v", c)
	}
	if b := dec.Task.Step("b"); b.State != core.Processing || dec.Task.ProcessState != core.Processing ||
		dec.Task.Definition != "two" {
		t.Errorf("b is %s, the task %s on %s", b.State, dec.Task.ProcessState, dec.Task.Definition)
	}
}

// An attempted step is reported with the agent that was asked, whatever agent the new definition names.
func TestMoveKeepsTheAgentsOfAttempts(t *testing.T) {
	d := moving(t)
	d.task = fixture("Compensated", "Compensated", core.Compensated)
	d.task.Steps = append(d.task.Steps, protocol.Step{Name: "c", State: core.Pending})
	d.task.End.ResendAt = 0
	d.task.Due = 0
	d.task.Steps[0].Claim.Agent = "east-agent"
	d.task.Attempts.Last = []protocol.Attempt{{Step: "a", Number: 1, Outcome: core.OutcomeFailed}, {
		Step:   "b",
		Number: 1, Outcome: core.OutcomeFailed,
	}, {Step: "c", Number: 1, Outcome: core.OutcomeFailed}}
	other := step("a")
	other.Agent = "courier"
	dec, err := protocol.Decide(d.def, d.order, d.task,
		core.Command{
			Name: core.Move,
			ID:   "m1", Number: d.task.Commands.Number,
			To: &core.Target{Definition: target("one", other, step("b", after("a")))},
		}, protocol.At{
			Now: d.now,
			By:  "s",
		})
	if err != nil || !dec.Verdict.Accepted {
		t.Fatalf("%v %+v", err, dec.Verdict)
	}
	if got := dec.Task.Step("a").Claim.Agent; got != "" {
		t.Errorf("the next attempt would be one of %s, which the new definition does not name", got)
	}
	for i, want := range []string{d.def.Steps[0].Agent, "", d.def.Steps[2].Agent} {
		if got := dec.Task.Attempts.Last[i]; got.Agent != want {
			t.Errorf("attempt %d of %s is said to be of %q, want %q", i, got.Step, got.Agent, want)
		}
		if d.task.Attempts.Last[i].Agent != "" {
			t.Error("the task was changed before its decision is stored")
		}
	}
}

// P49: a move needs a task with nothing in flight and a reported end, the present command number, and the
// same workflow. A fact allows another input.
func TestMoveIsRefusedByTheState(t *testing.T) {
	same := []core.StepDefinition{step("a"), step("b", after("a")), step("c", after("b"))}
	other := target("fedcba", same...)
	other.Name = "other"
	input := target("fedcba", step("a"), step("b", after("a")), step("c", after("b")))
	input.Steps[1].Input = json.RawMessage(`"other"`)
	for name, x := range map[string]struct {
		change func(*protocol.Task)
		to     core.Target
		number int
		want   string
	}{
		"in flight": {func(t *protocol.Task) {
			t.Steps[1].State = core.Processing
		}, core.Target{Definition: target("fedcba", same...)}, 4, "in flight"},
		"an undo": {func(t *protocol.Task) {
			t.ProcessState = core.Compensating
			t.Phase = ""
		}, core.Target{Definition: target("fedcba", same...)}, 4, "this one is Compensating"},
		"unreported": {func(t *protocol.Task) {
			t.End.ResendAt = noon
		}, core.Target{Definition: target("fedcba", same...)}, 4, "not been reported"},
		"other workflow": {func(*protocol.Task) {}, core.Target{Definition: other}, 4, "of the workflow other"},
		"unknown": {
			func(*protocol.Task) {},
			core.Target{Absent: "no such definition"},
			4,
			"no such definition",
		},
		"old number": {
			func(*protocol.Task) {},
			core.Target{Definition: target("fedcba", same...)},
			3,
			"another command",
		},
		"a fact": {func(t *protocol.Task) {
			t.Steps[1].Resolved = &core.Resolved{
				Fact: core.NotHappened, Command: 4,
				At: noon,
			}
			t.Steps[1].NoEffect = noon
		}, core.Target{Definition: input}, 4, ""},
		"a proof by the service": {
			func(t *protocol.Task) { t.Steps[1].NoEffect = noon },
			core.Target{Definition: input},
			4, "",
		},
		"a fact that a late reply has contradicted": {func(t *protocol.Task) {
			t.Steps[1].State = core.Processed
			t.Steps[1].Resolved = &core.Resolved{Fact: core.NotHappened, Command: 4, At: noon}
		}, core.Target{Definition: input}, 4, "its input"},
		"a fact in the undo": {func(t *protocol.Task) {
			t.Phase = core.Undoing
			t.Steps[1].State = core.Compensated
			t.Steps[1].Claim.Undo = true
			t.Steps[1].Resolved = &core.Resolved{Fact: core.Undone, Command: 4, At: noon}
		}, core.Target{Definition: input}, 4, ""},
		"undone by its service": {func(t *protocol.Task) {
			t.Phase = core.Undoing
			t.Steps[1].State = core.Compensated
			t.Steps[1].Claim.Undo = true
			t.Steps[1].Resolved = &core.Resolved{Fact: core.NotHappened, Command: 4, At: noon - 95_000}
		}, core.Target{Definition: input}, 4, "its input"},
	} {
		d := moving(t)
		x.change(d.task)
		dec, err := protocol.Decide(d.def, d.order, d.task, core.Command{Name: core.Move, ID: "m", Number: x.number, To: &x.to},
			protocol.At{Now: d.now})
		if err != nil || dec.Verdict.Accepted != (x.want == "") ||
			!strings.Contains(dec.Verdict.Reason, x.want) || dec.Verdict.Command != "move" {
			t.Errorf("%s: %v %+v, want %q", name, err, dec.Verdict, x.want)
		}
	}
}

func (d *desk) command(t *testing.T, ev core.Event, room protocol.SizeLimit) protocol.Decision {
	t.Helper()
	dec, err := protocol.Decide(d.def, d.order, d.task, ev, protocol.At{Now: d.now, By: "s", SizeLimit: room})
	if err != nil || dec.Verdict == nil {
		t.Fatalf("%v, %+v", err, dec.Verdict)
	}
	return dec
}

// P49, P12a: the same Move a second time gets the same verdict and changes nothing; one with an old number is
// refused.
func TestMoveThatComesTwice(t *testing.T) {
	d := moving(t)
	move := core.Command{
		Name: core.Move,
		ID:   "m", Number: 4,
		To: &core.Target{Definition: target("fedcba", step("a"), step("b", after("a")),
			step("c", after("b")))},
	}
	d.commit(d.command(t, move, 0).Task)
	d.def = move.To.Definition
	if again := d.command(t, move, 0); again.Changed || !again.Verdict.Accepted ||
		len(again.Effects) > 0 {
		t.Errorf("the same message: %+v", again)
	}
	move.ID = "other"
	if late := d.command(t, move, 0); late.Verdict.Accepted || late.Task.Commands.Number != 5 {
		t.Errorf("another one with the old number: %+v", late.Verdict)
	}
}

// P49, P28: every stored task accepts every event, so one that leaves no reserve for the new steps is not
// moved.
func TestMoveKeepsTheReserve(t *testing.T) {
	d := moving(t)
	steps := []core.StepDefinition{step("a"), step("b", after("a")), step("c", after("b"))}
	room := protocol.SizeLimit(protocol.Reserve(target("three", steps...)) + 1000)
	if v := d.command(t, core.Command{
		Name: core.Move,
		ID:   "m", Number: 4,
		To: &core.Target{Definition: target("three", steps...)},
	}, room).Verdict; !v.Accepted {
		t.Errorf("three steps: %+v", v)
	}
	dec := d.command(t, core.Command{
		Name: core.Move,
		ID:   "m", Number: 4,
		To: &core.Target{Definition: target("four", append(steps, step("d", after("c")))...)},
	}, room)
	if v := dec.Verdict; v.Accepted || !strings.Contains(v.Reason, "reserve for the steps") ||
		dec.Task.Definition != d.task.Definition || len(dec.Task.Steps) != 3 {
		t.Errorf("four steps: %+v", v)
	}
}

// P49: a task that goes forward continues with the new definition at once, and an expression that failed is
// evaluated again.
func TestMoveGoesOn(t *testing.T) {
	d := moving(t)
	d.task.ProcessState = core.Processing
	d.task.Phase = ""
	d.task.Attention = false
	b := &d.task.Steps[1]
	b.State = core.Pending
	b.CompleteBy = d.now + 60_000
	b.Wait.At = d.now + 50_000
	dec := d.command(t, core.Command{
		Name: core.Move,
		ID:   "m", Number: 4,
		To: &core.Target{Definition: target("fedcba", step("a"), step("b", after("a")),
			step("d", after("a")))},
	}, 0)
	if !dec.Verdict.Accepted || dec.Task.Step("d").State != core.Processing ||
		dec.Task.Step("d").Claim.Cause != "move/4" || dec.Task.Step("b").State != core.Pending {
		t.Errorf("%+v, %s", dec.Verdict, states(dec.Task))
	}
	d = moving(t)
	d.task.Steps[2].State = core.Failed
	d.task.Reason.Step = "c"
	d.task.Reason.Code = "expression"
	dec = d.command(t, core.Command{
		Name: core.Move,
		ID:   "m", Number: 4,
		To: &core.Target{Definition: target("fedcba", step("a"), step("b", after("a")),
			step("c", after("b")))},
	}, 0)
	if c := dec.Task.Step("c"); !dec.Verdict.Accepted || c.State != core.Pending || c.Error != nil {
		t.Errorf("a step whose expression failed is %+v", c)
	}
}

// P49: a Skipped step must stay the same, like an attempted one. The next run of a Compensated task is
// entirely new.
func TestMoveOfSkippedAndUndoneSteps(t *testing.T) {
	d := moving(t)
	d.task.Steps[2].State = core.Skipped
	short := core.Target{Definition: target("fedcba", step("a"), step("b", after("a")))}
	v := d.command(t, core.Command{Name: core.Move, ID: "m", Number: 4, To: &short}, 0).Verdict
	if v.Accepted || !strings.Contains(v.Reason, "step c: it is removed, and was skipped") {
		t.Errorf("a skipped step is removed: %+v", v)
	}
	d = moving(t)
	d.task.ProcessState = core.Compensated
	d.task.Phase = ""
	d.task.Undo.Why = protocol.WhyFailure
	d.task.Attention = false
	for i := range 2 {
		d.task.Steps[i].State = core.Compensated
		d.task.Steps[i].Claim.Undo = true
		d.task.Steps[i].Output = json.RawMessage(`"old"`)
	}
	a := step("a")
	a.When = "condition"
	a.Operation = "other"
	to := target("fedcba", a, step("c", after("a")))
	to.Expr = &expressions{when: map[int]func(core.Environment) (bool, error){
		0: func(core.Environment) (bool, error) { return false, nil },
	}}
	dec := d.command(t, core.Command{Name: core.Resubmit, ID: "m", Number: 4, To: &core.Target{Definition: to}},
		0)
	if !dec.Verdict.Accepted || dec.Task.Run != inRun+1 || dec.Task.Step("a").State != core.Skipped ||
		dec.Task.Attempts.Removed["b"] != inAttempt {
		t.Fatalf("%+v, %s", dec.Verdict, states(dec.Task))
	}
	for _, r := range requests(dec.Effects) {
		if strings.Contains(string(r.Input), "old") {
			t.Errorf("the new run sees what the old one answered: %s", r.Input)
		}
	}
	if dec.Task.Step("a").Output != nil {
		t.Error("the skipped step keeps the output of the old run")
	}
}

// P49, P18: Resubmit with a definition is refused as a whole.
func TestResubmitWithADefinitionIsOneCommand(t *testing.T) {
	d := moving(t)
	to := target("fedcba", step("a"), step("b", after("a")), step("c", after("b")))
	for name, a := range to.Agents {
		a.KeyRetention = core.Second
		to.Agents[name] = a
	}
	dec := d.command(t, core.Command{Name: core.Resubmit, ID: "m", Number: 4, To: &core.Target{Definition: to}},
		0)
	if dec.Verdict.Accepted || dec.Task.Definition != d.task.Definition || dec.Task.Commands.Number != 5 {
		t.Errorf("%+v: it pins %s", dec.Verdict, dec.Task.Definition)
	}
}

// P12: an end that was reported before the Move is not reported again, whatever comes a second time.
func TestMoveDoesNotReportAgain(t *testing.T) {
	d := moving(t)
	d.task.End.Seq = 1
	d.task.Reason.Step = "b"
	dec := d.command(t, core.Command{
		Name: core.Move,
		ID:   "m", Number: 4,
		To: &core.Target{Definition: target("fedcba", step("a"), step("b", after("a")),
			step("d", after("b")))},
	}, 0)
	d.commit(dec.Task)
	d.def = target("fedcba", step("a"), step("b", after("a")), step("d", after("b")))
	again, err := protocol.Decide(d.def, d.order, d.task,
		reply("b", inRun, inAttempt, core.Do, core.OutcomeFailed), protocol.At{Now: d.now})
	if err != nil || again.Changed || len(again.Effects) > 0 {
		t.Errorf("%v, it reports again: %s", err, brief(again.Effects))
	}
}

// P49: every decision is made with the definition that the task pins.
func TestAnotherDefinitionDecidesNothing(t *testing.T) {
	d := moving(t)
	same := target("fedcba", step("a"), step("b", after("a")), step("c", after("b")))
	if _, err := protocol.Decide(same, d.order, d.task, core.Command{Name: core.Resubmit, ID: "m", Number: 4},
		protocol.At{Now: d.now}); !errors.Is(err, core.ErrUnfit) {
		t.Errorf("%v", err)
	}
}

// child returns a desk whose order is a child that has stopped at b, and has reported this.
func child(t *testing.T) *desk {
	t.Helper()
	d := moving(t)
	d.task.Parent = &core.Parent{OrderID: "p", Step: "all", Index: 2, Attempt: 1}
	return d
}

// P41, P49: a child in Error is moved by its own command, but not past the first point of no return, because
// its parent relies on that it can be undone. What an undone child runs next is decided by its parent.
func TestMoveOfAChild(t *testing.T) {
	final := step("c", after("b"))
	final.PointOfNoReturn = true
	more := target("fedcba", step("a"), step("b", after("a")), step("c", after("b")), step("d", after("c")))
	for name, x := range map[string]struct {
		change func(*desk)
		to     *core.Definition
		want   string // "" if it is accepted
	}{
		"in Error": {func(*desk) {}, more, ""},
		"a first one of no return": {
			func(*desk) {},
			target("fedcba", step("a"), step("b", after("a")), final),
			"step c: it is a point of no return, and the definition of the order has none: step all of p " +
				"could not",
		},
		"one there was": {func(d *desk) {
			d.def = target(d.def.Hash, step("a"), step("b", after("a")), final)
		}, target("fedcba", step("a"), step("b", after("a")), final, step("d", after("a"))), ""},
		"one of no return, without a parent": {func(d *desk) {
			d.task.Parent = nil
		}, target("fedcba", step("a"), step("b", after("a")), final), ""},
		"undone": {func(d *desk) {
			d.task.ProcessState = core.Compensated
			d.task.Phase = ""
			d.task.Attention = false
		}, more, "the order is child 2 of step all of p"},
	} {
		for _, resubmit := range []bool{false, true} {
			d := child(t)
			x.change(d)
			to := core.Target{Definition: x.to}
			ev := core.Event(core.Command{Name: core.Move, ID: "m", Number: 4, To: &to})
			if resubmit {
				ev = core.Command{Name: core.Resubmit, ID: "m", Number: 4, To: &to}
			}
			dec := d.command(t, ev, 0)
			if v := dec.Verdict; v.Accepted != (x.want == "") || !strings.Contains(v.Reason, x.want) ||
				(dec.Task.Definition == x.to.Hash) != v.Accepted {
				t.Errorf("%s, resubmit %v: %+v, it pins %s; want %q", name, resubmit, *v, dec.Task.Definition,
					x.want)
			}
		}
	}
}

// P41: an undone child that its parent starts again runs the definition that the parent names now, unless it
// cannot be pinned to it.
func TestAnUndoneChildStartsAgainWithTheDefinitionOfItsParent(t *testing.T) {
	to := target("fedcba", step("a"), step("new", after("a")))
	other := *to
	other.Name = "other"
	secret := *to
	secret.Tokens = true
	for name, x := range map[string]struct {
		to   *core.Definition
		pins string
	}{
		"another": {to, "fedcba"}, "none": {nil, ""}, "of another workflow": {&other, ""},
		"without a key for its tokens": {&secret, ""},
	} {
		d := child(t)
		d.task.ProcessState = core.Compensated
		d.task.Phase = ""
		d.task.Attention = false
		again := *d.task.Parent
		again.Attempt++
		dec, err := protocol.Decide(d.def, d.order, d.task,
			core.AskChild{
				OrderID: orderID, Parent: again, Ask: core.AskStart,
				Workflow: "test", Definition: "fedcba", To: x.to,
			}, protocol.At{Now: d.now, By: "s"})
		if err != nil {
			t.Fatal(err)
		}
		if got := dec.Task; got.Definition != cmp.Or(x.pins, d.def.Hash) || got.Run != inRun+1 ||
			got.ProcessState != core.Processing || got.Step("a").State != core.Processing {
			t.Errorf("%s: it pins %s: %s", name, got.Definition, states(got))
		}
	}
}

// P40, P49: the move of a parent may change the definition of its children, but neither their parent step nor
// their orders.
func TestMoveOfAParent(t *testing.T) {
	for name, x := range map[string]struct {
		change func(*core.Each)
		want   string // "" if it is accepted
	}{
		"definition": {func(e *core.Each) { e.Definition = "food" }, ""},
		"workflow": {func(e *core.Each) {
			e.Workflow = "letter"
			e.Definition = "food"
		}, "its children are of another workflow"},
		"order": {func(e *core.Each) {
			e.Order = json.RawMessage(`"other"`)
		}, "its children are of another workflow, or get other orders"},
		"collect": {func(e *core.Each) { e.Collect = true }, "its children"},
	} {
		d := family(t, `["a","b"]`, func(e *core.Each) { e.Concurrency = 1 })
		d.decide(d.submit)
		def := *d.def
		each := *d.def.Steps[0].Each
		def.Hash = "fedcba"
		def.Steps = slices.Clone(def.Steps)
		x.change(&each)
		def.Steps[0].Each = &each
		def.Link()
		dec := d.decide(core.Command{
			Name: core.Move,
			ID:   "m", Number: d.task.Commands.Number,
			To: &core.Target{Definition: &def},
		})
		if v := dec.Verdict; v.Accepted != (x.want == "") || !strings.Contains(v.Reason, x.want) {
			t.Errorf("%s: %+v", name, *v)
		}
		if x.want != "" {
			continue
		}
		d.def = &def
		dec = d.decide(core.ChildEnded{
			Parent: core.Parent{OrderID: orderID, Step: "all", Attempt: 1},
			State:  core.ChildProcessed,
		})
		if ask, ok := dec.Effects[0].(core.AskChild); !ok || ask.Definition != "food" ||
			ask.Parent.Index != 1 {
			t.Errorf("%s: the next child is %+v", name, dec.Effects)
		}
	}
}

// P57, P49: another repeat holds from the next end of an iteration on. A wait between two iterations that has begun
// stays as it is.
func TestMoveInALoop(t *testing.T) {
	loop := func() *desk {
		def := workflow(core.StepDefinition{
			Name: "all", OnFailure: core.OnFailureUndo,
			Each: &core.Each{
				Workflow: "parcel", Definition: "feed", Order: json.RawMessage(`"template"`), Concurrency: 1,
				Repeat: &core.Repeat{Until: "index == 9", AtMost: 5, Every: core.Minute},
			},
		})
		def.Expr = &expressions{until: 9}
		return newDesk(t, def)
	}
	ended := func(d *desk, index int) {
		d.decide(core.ChildEnded{
			Parent: core.Parent{OrderID: orderID, Step: "all", Index: index, Attempt: 1},
			State:  core.ChildProcessed, Output: json.RawMessage(`{}`),
		})
	}
	move := func(d *desk, change func(r *core.Repeat, x *expressions)) {
		def := *d.def
		each := *d.def.Steps[0].Each
		repeat := *each.Repeat
		x := &expressions{until: 9}
		change(&repeat, x)
		each.Repeat = &repeat
		def.Hash = "fedcba"
		def.Steps = slices.Clone(def.Steps)
		def.Steps[0].Each = &each
		def.Expr = x
		def.Link()
		dec := d.decide(core.Command{
			Name: core.Move, ID: "m", Number: d.task.Commands.Number, To: &core.Target{Definition: &def},
		})
		require.True(t, dec.Verdict.Accepted, dec.Verdict.Reason)
		d.def = &def
	}
	begin := func() *desk { // the second iteration is open
		d := loop()
		d.decide(d.submit)
		ended(d, 0)
		d.wait(core.Minute)
		d.decide(wake("all", 1))
		require.Equal(t, 2, d.task.Steps[0].Children.Next)
		return d
	}
	for name, x := range map[string]struct {
		change func(*core.Repeat, *expressions)
		want   core.State // of the order after the end of the second iteration
		output string
	}{
		"until": {
			func(r *core.Repeat, x *expressions) { r.Until, x.until = "index == 1", 1 }, core.Processed,
			`{"count":2,"exhausted":false,"last":{}}`,
		},
		"at most as many as have begun": {
			func(r *core.Repeat, _ *expressions) { r.AtMost, r.OnExhausted = 2, core.OnExhaustedKeep }, core.Processed,
			`{"count":2,"exhausted":true,"last":{}}`,
		},
		"fewer than have begun": {func(r *core.Repeat, _ *expressions) { r.AtMost = 1 }, core.Compensating, ""},
		"more":                  {func(r *core.Repeat, _ *expressions) { r.AtMost = 9 }, core.Processing, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := begin()
			move(d, x.change)
			require.Equal(t, core.Processing, d.task.ProcessState, "the move alone ends nothing")
			ended(d, 1)
			require.Equal(t, x.want, d.task.ProcessState)
			require.Equal(t, x.output, string(d.task.Steps[0].Output))
		})
	}
	t.Run("every", func(t *testing.T) {
		d := begin()
		move(d, func(r *core.Repeat, _ *expressions) { r.Every = core.Hour })
		ended(d, 1)
		require.Equal(t, d.now.Add(core.Hour), d.task.Steps[0].Wait.Until)
		begun := d.task.Steps[0].Wait.Until
		move(d, func(r *core.Repeat, _ *expressions) { r.Every = core.Second })
		require.Equal(t, begun, d.task.Steps[0].Wait.Until, "a wait that has begun stays")
		d.wait(core.Hour)
		d.decide(wake("all", 1))
		require.Equal(t, 3, d.task.Steps[0].Children.Next)
	})
}
