package protocol_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

var corrected = json.RawMessage(`{"amount":12}`)

// stopped returns a desk whose order stopped because b was refused for good. No call of b can begin any more.
func stopped(t *testing.T, changes ...func(*core.StepDefinition)) *desk {
	t.Helper()
	d := begun(t, step("a"), step("b", append(changes, after("a"), stopping)...),
		step("c", after("b"), stopping))
	d.decideAll(done("a", 1), failed("b", 1))
	d.settle(d.decide(core.Settle{}))
	d.wait(core.Hour)
	return d
}

func correcting(d *desk, step string, input json.RawMessage) core.Command {
	return core.Command{
		Name: core.Resubmit,
		ID:   "r", Number: d.task.Commands.Number, Step: step, Input: input,
		Sender: core.Sender{By: "ann", Reason: "wrong amount"},
	}
}

// P51: only a call that is still to be made, and whose key cannot have had an effect, can get another input.
func TestAnotherInputIsRefused(t *testing.T) {
	prove := func(d *desk) {
		d.decide(core.Command{Name: core.Resolve, ID: "f", Number: d.task.Commands.Number, Step: "b", Fact: core.NotHappened})
	}
	for name, x := range map[string]struct {
		before func(*desk)
		step   string
		input  json.RawMessage
		want   string // "" where it is accepted
	}{
		"in doubt":      {func(*desk) {}, "b", corrected, "not proven to have had no effect"},
		"proven":        {prove, "b", corrected, ""},
		"not asked yet": {func(*desk) {}, "c", corrected, ""},
		"done":          {prove, "a", corrected, "step a is Processed"},
		"unknown":       {prove, "x", corrected, "no such step"},
		"too large": {
			prove, "b", json.RawMessage(`"` + strings.Repeat("x", core.MaxInput-1) + `"`),
			"the limit is 32768",
		},
		"largest": {
			prove, "b", json.RawMessage(`"` + strings.Repeat("x", core.MaxInput-2) + `"`),
			"",
		},
		"with a token": {
			prove, "b", json.RawMessage(`"00000000.MC9hL2Fubg.dXllGwql4haxUySnKXUr6A"`),
			"holds a token",
		},
		"undone by hand": {func(d *desk) {
			d.decide(core.Command{Name: core.Resolve, ID: "f", Number: 0, Step: "b", Fact: core.Undone})
		}, "b", corrected, "happened and was undone"},
		"asked after it": {func(d *desk) {
			prove(d)
			d.decide(core.Command{Name: core.Resubmit, ID: "g", Number: 1})
			d.decide(failed("b", 2))
		}, "b", corrected, "not proven"},
		"its fact is before": {
			func(d *desk) { prove(d); d.task.Steps[1].NoEffect = 0 }, "b", corrected,
			"not proven",
		},
		"in the undo": {func(d *desk) {
			d.decide(core.Command{Name: core.UndoCommand, ID: "u", Number: 0})
			d.decideAll(undoFailed("b", 2), wake("b", 2))
			d.wait(core.Minute)
			d.decideAll(wake("b", 2), undoFailed("b", 3))
		}, "c", corrected, "being undone"},
	} {
		d := stopped(t)
		x.before(d)
		v := d.command(t, correcting(d, x.step, x.input), 0).Verdict
		if v.Accepted != (x.want == "") || !strings.Contains(v.Reason, x.want) {
			t.Errorf("%s: %+v, want %q", name, v, x.want)
		}
	}
	d := stopped(t, grade(core.Plain))
	d.decide(core.Command{Name: core.Resolve, ID: "f", Number: 0, Step: "b", Fact: core.Undone})
	require.True(t, d.command(t, correcting(d, "b", corrected), 0).Verdict.Accepted)
	d = begun(t, step("a", stopping),
		func() core.StepDefinition { w := waitStep("w", core.Minute); w.After = []string{"a"}; return w }())
	d.decide(failed("a", 1))
	v := d.command(t, correcting(d, "w", corrected), 0).Verdict
	require.False(t, v.Accepted, "of a wait: %+v", v)
	require.Contains(t, v.Reason, "calls no agent")
}

// P51, P28: an input that would use space of the reserve is refused, and nothing changes.
func TestAnotherInputKeepsTheReserve(t *testing.T) {
	d := stopped(t)
	d.decide(core.Command{Name: core.Resolve, ID: "f", Number: 0, Step: "b", Fact: core.NotHappened})
	room := protocol.SizeLimit(protocol.Reserve(d.def) + 1000)
	long := json.RawMessage(`"` + strings.Repeat("x", 999) + `"`)
	dec := d.command(t, correcting(d, "b", long), room)
	require.False(t, dec.Verdict.Accepted, "%+v", dec.Verdict)
	require.Contains(t, dec.Verdict.Reason, "does not fit")
	require.Nil(t, dec.Task.Step("b").Corrected)
	require.Equal(t, 2, dec.Task.Commands.Number)
	require.True(t, d.command(t, correcting(d, "b", corrected), room).Verdict.Accepted)
}

// P51: the input that is shown is the new one. That of another step is evaluated, which needs the order.
func TestTheCorrectedInputIsShown(t *testing.T) {
	d := stopped(t)
	d.decide(core.Command{Name: core.Resolve, ID: "f", Number: 0, Step: "b", Fact: core.NotHappened})
	d.decide(correcting(d, "b", corrected))
	shown, err := protocol.InputOf(d.def, d.order, d.task, 1)
	require.NoError(t, err)
	require.Equal(t, string(corrected), string(shown))
	_, err = protocol.InputOf(d.def, nil, d.task, 0)
	require.ErrorIs(t, err, core.ErrOrderNeeded)
}
