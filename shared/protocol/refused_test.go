package protocol_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
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
