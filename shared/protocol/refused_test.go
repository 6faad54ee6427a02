package protocol_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// returning returns a workflow whose point of no return can be proven to have had no effect.
func returning(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t, workflow(step("a"),
		step("p", after("a"), stopping, func(s *core.StepDefinition) { s.PointOfNoReturn = true })))
	d.decideAll(d.submit, done("a", 1))
	return d
}

// proveNoEffect has the point of no return fail without an effect.
func proveNoEffect(d *desk) {
	refusal := failed("p", 1)
	refusal.NoEffect = true
	d.decide(refusal)
}

// flood has a task refuse many commands of each kind and many answers, each under an ID of its own.
func flood(d *desk, n int) {
	for i := range n {
		d.decide(core.Command{Name: core.Cancel, ID: fmt.Sprintf("flood-c%d", i), Run: d.task.Run})
		d.decide(core.Command{Name: core.Resubmit, ID: fmt.Sprintf("flood-r%d", i), Number: d.task.Commands.Number, Deadline: 1})
		d.decide(core.Answered{
			ID: fmt.Sprintf("flood-a%d", i), Name: "none", By: "ann",
			Value: json.RawMessage(`1`),
		})
	}
}

// accepted reports whether a command is accepted.
func (d *desk) accepted(ev core.Event) bool {
	d.Helper()
	return d.decide(ev).Verdict.Accepted
}

// P17, H30. A cancel that was refused past the point of no return stays refused, also after its verdict has
// left the list and that point is proven to have had no effect.
func TestRefusedCancelStaysRefused(t *testing.T) {
	d := returning(t)
	d.refused(cancel("first"))
	flood(d, 9)
	proveNoEffect(d)
	require.False(t, d.accepted(cancel("first")), "a cancel was refused, and is accepted now")
	if v := d.task.Verdict("first"); v == nil || v.Accepted || v.Command != "cancel" || v.Reason == "" {
		t.Errorf("its sender reads %+v", v)
	}
	require.True(t, d.accepted(cancel("another")), "another cancel is refused")
}

// P17. A task that remembers as many refused cancels as it can takes no other one in that run; the operator's
// undo is not affected.
func TestAFullListOfRefusedCancelsTakesNoOther(t *testing.T) {
	d := returning(t)
	for i := range 20 {
		d.refused(cancel(fmt.Sprintf("c%d", i)))
	}
	proveNoEffect(d)
	for _, id := range []string{"c0", "c19", "another"} {
		require.False(t, d.accepted(cancel(id)), "cancel %s is accepted", id)
	}
	require.True(t, d.accepted(core.Command{Name: core.UndoCommand, ID: "u", Number: d.task.Commands.Number}))
	d.decideAll(undone("p", 2), undone("a", 2))
	require.True(t, d.accepted(core.Command{Name: core.Resubmit, ID: "r", Number: d.task.Commands.Number}))
	require.Empty(t, d.task.Commands.Refused)
	require.True(t, d.accepted(core.Command{Name: core.Cancel, ID: "next", Run: 1}))
}

// P5. A command with a number that was refused stays refused, however many verdicts came since, because the refusal
// raises the task's number above its own. A number that is too far ahead raises nothing.
func TestRefusedCommandStaysRefused(t *testing.T) {
	for _, c := range []struct {
		name         string
		number, want int
	}{
		{"the present number", 0, 1},
		{"a number that is still to come", 3, 4},
		{"the furthest number", 1_000_000, 1_000_001},
		{"a number too far ahead", 1_000_001, 0},
		{"the last number", math.MaxInt, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := begun(t, step("a", stopping))
			first := core.Command{Name: core.UndoCommand, ID: "first", Number: c.number}
			d.refused(first)
			require.Equal(t, c.want, d.task.Commands.Number)
			for i := range 9 { // their verdicts push that of first out
				d.refused(core.Command{Name: core.UndoCommand, ID: fmt.Sprint("u", i), Number: d.task.Commands.Number})
			}
			require.Equal(t, c.want+9, d.task.Commands.Number)
			d.decide(failed("a", 1))
			require.False(t, d.accepted(first))
			require.True(t, d.accepted(core.Command{Name: core.UndoCommand, ID: "new", Number: d.task.Commands.Number}))
		})
	}
}

// P5. A command with an old number is refused for that, and needs no place.
func TestOldNumbersAreNotRemembered(t *testing.T) {
	d := begun(t, step("a", stopping))
	d.decideAll(failed("a", 1), core.Command{Name: core.Resubmit, ID: "r", Number: 0})
	for i := range 40 {
		d.refused(core.Command{Name: core.UndoCommand, ID: fmt.Sprintf("u%d", i), Number: 0})
	}
	require.Equal(t, 1, d.task.Commands.Number)
	require.Empty(t, d.task.Commands.Refused)
}

// P36. Refused answers that no step takes leave the verdicts of commands alone, and stay refused after a move
// to a definition that takes them.
func TestRefusedAnswersAreKeptApart(t *testing.T) {
	d := begun(t, step("a", stopping))
	d.refused(core.Command{Name: core.UndoCommand, ID: "u", Number: 0})
	event := func(id string) core.Answered {
		return core.Answered{ID: id, Name: "bought", By: "ann", Value: json.RawMessage(`1`)}
	}
	for i := range 12 {
		require.False(t, d.accepted(event(fmt.Sprintf("e%d", i))), "an answer is accepted that no step takes")
	}
	require.Len(t, d.task.Commands.Verdicts, 1)
	require.Equal(t, "u", d.task.Commands.Verdicts[0].ID)
	if v := d.task.Verdict("e0"); v == nil || v.Accepted || v.Command != "answer" || v.Reason == "" {
		t.Errorf("the sender of the answer reads %+v", v)
	}
	to := workflow(step("a", stopping), core.StepDefinition{
		Name: "w", After: []string{"a"},
		Timeout: core.Hour, OnFailure: core.OnFailureUndo,
		Answer: &core.Answer{Event: "bought", OnTimeout: core.OnFailureUndo},
	})
	to.Hash = "another"
	d.settle(d.decide(failed("a", 1)))
	dec := d.decide(core.Command{
		Name: core.Move,
		ID:   "m", Number: d.task.Commands.Number,
		To: &core.Target{Definition: to},
	})
	require.True(t, dec.Verdict.Accepted, dec.Verdict.Reason)
	d.def = to
	require.False(t, d.accepted(event("e0")), "an answer was refused, and is accepted now")
	require.True(t, d.accepted(event("new")), "another answer is refused")
}

// P36. An answer that its step has refused stays refused when its verdict has left the list of that step.
func TestRefusedAnswerOfAStepStaysRefused(t *testing.T) {
	d := newDesk(t, asked(`{}`, byName, stopping,
		func(s *core.StepDefinition) { s.Answer.Refuse = `value == "no"` }))
	d.decide(d.submit)
	event := func(id, value string) core.Answered {
		return core.Answered{ID: id, Name: "bought", By: "ann", Value: json.RawMessage(value)}
	}
	d.decide(event("yes", `"no"`)) // The answer is refused for good, and the task stops.
	require.Equal(t, core.Error, d.task.ProcessState)
	require.False(t, d.accepted(event("first", `1`)), "a second event is accepted")
	for i := range 9 {
		d.decide(event(fmt.Sprintf("e%d", i), `"no"`))
	}
	d.decide(core.Command{Name: core.Resubmit, ID: "r", Number: 0}) // the next round
	require.False(t, d.accepted(event("first", `1`)), "an answer was refused, and is accepted in the next round")
}

// The number of refusals that a task remembers is bounded, and they are stored.
func TestRefusalsAreBoundedAndStored(t *testing.T) {
	d := returning(t)
	flood(d, 60)
	for command, all := range d.task.Commands.Refused {
		if len(all) > 16 {
			t.Errorf("it remembers %d of %s", len(all), command)
		}
	}
	text, err := state.EncodeTask(d.task)
	require.NoError(t, err)
	again, err := state.DecodeTask(text)
	require.NoError(t, err)
	require.Equal(t, d.task.Commands.Refused["cancel"], again.Commands.Refused["cancel"])
	require.Len(t, again.Commands.Refused, len(d.task.Commands.Refused))
}
