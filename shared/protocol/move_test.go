package protocol_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
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

// A plan of a move names each part of its definition that is another one (P49), but for
// what the other parts imply, and for what starts orders.
func TestEachPartOfADefinitionIsCompared(t *testing.T) {
	implied := []string{"Name", "Schema", "Hash", "Expr", "Workflow", "Child", "Tokens", "Schedule", "HopBudget", "Agents"}
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
		case v.Type() == reflect.TypeFor[json.RawMessage]():
			other.SetBytes([]byte("1"))
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
		require.NotEmpty(t, found)
		require.False(t, slices.ContainsFunc(found,
			func(d protocol.Difference) bool { return d.What == "" }))
		v.Set(was)
	}
	each("", reflect.ValueOf(changed))
}

// The differences of a plan are in the order of the definitions, those that refuse the move among them.
func TestDifferencesAreNamed(t *testing.T) {
	d := moving(t)
	to := target("fedcba", step("new"), step("a"))
	to.Output = json.RawMessage(`{"x":1}`)
	to.HopBudget++ // as a new step brings it
	require.Equal(t, []protocol.Difference{{What: "the workflow's output changed"}},
		slices.DeleteFunc(protocol.Differences(d.def, to, d.task), func(x protocol.Difference) bool { return x.Step != "" }))
	to.Deadline = core.Hour
	to.Grace++
	to.Events = true
	d.def.Steps[0].When = `order.kind == "x"`
	to.Agents["a-agent"] = core.AgentDefinition{ClockSkew: core.Hour}
	var got []string
	for _, x := range protocol.Differences(d.def, to, d.task) {
		got = append(got, fmt.Sprintf("%s|%s|%v", x.Step, x.What, x.Refused))
	}
	want := []string{
		`a|its when changed from "order.kind == \"x\"" to none|false`,
		"b|it is removed, and was attempted|true", "c|it is removed|false", "new|it is new|false",
		"|the workflow's deadline changed|false",
		"|the workflow's events changed from none to true|false", "|the workflow's grace changed|false",
		"|the workflow's output changed|false", "|the times of agent a-agent changed|false",
	}
	require.Equal(t, want, got)
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
	require.NoError(t, err)
	require.True(t, dec.Verdict.Accepted, "%v %+v", err, dec.Verdict)
	require.Empty(t, dec.Task.Step("a").Claim.Agent)
	for i, want := range []string{d.def.Steps[0].Agent, "", d.def.Steps[2].Agent} {
		require.Equal(t, want, dec.Task.Attempts.Last[i].Agent, "%+v", i)
		require.Empty(t, d.task.Attempts.Last[i].Agent)
	}
}

func (d *desk) command(t *testing.T, ev core.Event, room protocol.SizeLimit) protocol.Decision {
	t.Helper()
	dec, err := protocol.Decide(d.def, d.order, d.task, ev, protocol.At{Now: d.now, By: "s", SizeLimit: room})
	require.NoError(t, err)
	require.NotNil(t, dec.Verdict, "%v, %+v", err, dec.Verdict)
	return dec
}

// P49, P28: every stored task accepts every event, so one that leaves no reserve for the new steps is not
// moved.
func TestMoveKeepsTheReserve(t *testing.T) {
	d := moving(t)
	steps := []core.StepDefinition{step("a"), step("b", after("a")), step("c", after("b"))}
	room := protocol.SizeLimit(protocol.Reserve(target("three", steps...)) + 1000)
	v := d.command(t, core.Command{
		Name: core.Move,
		ID:   "m", Number: 4,
		To: &core.Target{Definition: target("three", steps...)},
	}, room).Verdict
	require.True(t, v.Accepted, "three steps: %+v", v)
	dec := d.command(t, core.Command{
		Name: core.Move,
		ID:   "m", Number: 4,
		To: &core.Target{Definition: target("four", append(steps, step("d", after("c")))...)},
	}, room)
	v = dec.Verdict
	require.False(t, v.Accepted, "four steps: %+v", v)
	require.Contains(t, v.Reason, "reserve for the steps")
	require.Equal(t, d.task.Definition, dec.Task.Definition)
	require.Len(t, dec.Task.Steps, 3)
}

// P49: every decision is made with the definition that the task pins.
func TestAnotherDefinitionDecidesNothing(t *testing.T) {
	d := moving(t)
	same := target("fedcba", step("a"), step("b", after("a")), step("c", after("b")))
	_, err := protocol.Decide(same, d.order, d.task, core.Command{Name: core.Resubmit, ID: "m", Number: 4},
		protocol.At{Now: d.now})
	require.ErrorIs(t, err, core.ErrUnfit)
}

// child returns a desk whose order is a child that has stopped at b, and has reported this.
func child(t *testing.T) *desk {
	t.Helper()
	d := moving(t)
	d.task.Parent = &core.Parent{OrderID: "p", Step: "all", Index: 2, Attempt: 1}
	return d
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
		require.NoError(t, err)
		if got := dec.Task; got.Definition != cmp.Or(x.pins, d.def.Hash) || got.Run != inRun+1 ||
			got.ProcessState != core.Processing || got.Step("a").State != core.Processing {
			t.Errorf("%s: it pins %s: %s", name, got.Definition, states(got))
		}
	}
}

// P11: an undone child that its parent starts again with another definition reports the end that it leaves to the bus, if
// the definition with which it has ended says so.
func TestAMovedChildReportsTheEndThatItLeaves(t *testing.T) {
	d := child(t)
	d.def.Events = true
	d.task.ProcessState = core.Compensated
	d.task.Phase = ""
	d.task.Attention = false
	d.task.ReplyTo = ""
	d.task.End = protocol.End{At: noon, Seq: 1, ResendAt: d.now}
	again := *d.task.Parent
	again.Attempt++
	dec := d.decide(core.AskChild{
		OrderID: orderID, Parent: again, Ask: core.AskStart, Workflow: "test", Definition: "fedcba",
		To: target("fedcba", step("a"), step("new", after("a"))),
	})
	status, is := dec.Effects[0].(core.SendStatus)
	require.True(t, is, brief(dec.Effects))
	require.Equal(t, core.Events, status.ReplyTo)
	require.Equal(t, core.StatusUndone, status.Status.Kind)
}
