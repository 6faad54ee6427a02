package protocol_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

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
	if d.accepted(cancel("first")) {
		t.Error("a cancel was refused, and is accepted now")
	}
	if v := d.task.Verdict("first"); v == nil || v.Accepted || v.Command != "cancel" || v.Reason == "" {
		t.Errorf("its sender reads %+v", v)
	}
	if !d.accepted(cancel("another")) {
		t.Errorf("another cancel is refused: %s", d.task.Verdict("another").Reason)
	}
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
		if d.accepted(cancel(id)) {
			t.Errorf("cancel %s is accepted", id)
		}
	}
	if !d.accepted(core.Command{Name: core.UndoCommand, ID: "u", Number: d.task.Commands.Number}) {
		t.Error("the operator cannot undo it")
	}
	d.decideAll(undone("p", 2), undone("a", 2))
	if !d.accepted(core.Command{Name: core.Resubmit, ID: "r", Number: d.task.Commands.Number}) ||
		len(d.task.Commands.Refused) > 0 {
		t.Fatalf("the next run remembers %v", d.task.Commands.Refused)
	}
	if !d.accepted(core.Command{Name: core.Cancel, ID: "next", Run: 1}) {
		t.Error("the next run takes no cancel")
	}
}

// P5. A command with a number that was refused stays refused under its ID, however many verdicts came since.
func TestRefusedCommandStaysRefused(t *testing.T) {
	for _, n := range []int{1, 9, 16, 17, 40} {
		for name, ahead := range map[string]int{
			"the present number":             0,
			"a number that is still to come": 1,
		} {
			d := newDesk(t, workflow(step("a", stopping)))
			d.decide(d.submit)
			first := core.Command{Name: core.UndoCommand, ID: "first", Number: ahead}
			d.refused(first)
			before := d.task.Commands.Number
			for i := range n {
				d.refused(core.Command{Name: core.UndoCommand, ID: fmt.Sprintf("u%d", i), Number: d.task.Commands.Number})
			}
			if d.task.Commands.Number != before+n/(16+ahead) {
				t.Errorf("after %d refusals the number went from %d to %d", n, before, d.task.Commands.Number)
			}
			d.decide(failed("a", 1))
			if ahead > 0 && d.task.Commands.Number < first.Number { // the number comes
				d.wait(core.Hour)
				d.decide(core.Command{
					Name: core.Resolve,
					ID:   "fact", Number: d.task.Commands.Number, Step: "a",
					Fact: core.NotHappened,
				})
			}
			if d.accepted(first) {
				t.Errorf("%s, after %d refusals: it is accepted", name, n)
			}
		}
	}
}

// P5. A forged command, whose number is ahead of the task, stays refused when that number comes, also if the
// task has no place left to remember its ID. A number that is too far ahead changes nothing.
func TestRefusedNumberAheadStaysRefusedWithoutAPlace(t *testing.T) {
	for _, c := range []struct{ forged, number, want int }{
		{16, 3, 0},
		{17, 3, 4},
		{40, 3, 4},
		{17, 1_000_000, 1_000_001},
		{17, 1_000_001, 0},
		{40, math.MaxInt, 0},
	} {
		d := begun(t, step("a", stopping))
		for i := range c.forged {
			d.refused(core.Command{Name: core.UndoCommand, ID: fmt.Sprint("forged-", i), Number: c.number})
		}
		if d.task.Commands.Number != c.want {
			t.Errorf("after %d commands with the number %d the task's is %d, want %d", c.forged, c.number,
				d.task.Commands.Number, c.want)
		}
		d.decide(failed("a", 1))
		for d.task.Commands.Number < min(c.number, 20) { // the number comes
			d.decideAll(core.Command{
				Name:   core.Resubmit,
				ID:     fmt.Sprint("r", d.task.Commands.Number),
				Number: d.task.Commands.Number,
			},
				failed("a", d.task.Steps[0].Attempt+1))
		}
		for i := range c.forged {
			if d.accepted(core.Command{Name: core.UndoCommand, ID: fmt.Sprint("forged-", i), Number: c.number}) {
				t.Fatalf("command %d of %d with the number %d was refused, and is accepted now", i, c.forged,
					c.number)
			}
		}
	}
}

// P5. A command with an old number is refused for that, and needs no place.
func TestOldNumbersAreNotRemembered(t *testing.T) {
	d := begun(t, step("a", stopping))
	d.decideAll(failed("a", 1), core.Command{Name: core.Resubmit, ID: "r", Number: 0})
	for i := range 40 {
		d.refused(core.Command{Name: core.UndoCommand, ID: fmt.Sprintf("u%d", i), Number: 0})
	}
	if d.task.Commands.Number != 1 || len(d.task.Commands.Refused) > 0 {
		t.Errorf("the number is %d, and it remembers %v", d.task.Commands.Number, d.task.Commands.Refused)
	}
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
		if d.accepted(event(fmt.Sprintf("e%d", i))) {
			t.Fatal("an answer is accepted that no step takes")
		}
	}
	if len(d.task.Commands.Verdicts) != 1 || d.task.Commands.Verdicts[0].ID != "u" {
		t.Errorf("it keeps the verdicts %+v", d.task.Commands.Verdicts)
	}
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
	if dec := d.decide(core.Command{
		Name: core.Move,
		ID:   "m", Number: 0,
		To: &core.Target{Definition: to},
	}); !dec.Verdict.Accepted {
		t.Fatal(dec.Verdict.Reason)
	}
	d.def = to
	if d.accepted(event("e0")) {
		t.Error("an answer was refused, and is accepted now")
	}
	if !d.accepted(event("new")) {
		t.Error("another answer is refused")
	}
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
	if d.task.ProcessState != core.Error {
		t.Fatalf("it is %s", d.task.ProcessState)
	}
	if d.accepted(event("first", `1`)) {
		t.Fatal("a second event is accepted")
	}
	for i := range 9 {
		d.decide(event(fmt.Sprintf("e%d", i), `"no"`))
	}
	d.decide(core.Command{Name: core.Resubmit, ID: "r", Number: 0}) // the next round
	if d.accepted(event("first", `1`)) {
		t.Error("an answer was refused, and is accepted in the next round")
	}
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
	if err != nil {
		t.Fatal(err)
	}
	again, err := state.DecodeTask(text)
	if err != nil || !slices.Equal(again.Commands.Refused["cancel"], d.task.Commands.Refused["cancel"]) ||
		len(again.Commands.Refused) != len(d.task.Commands.Refused) {
		t.Errorf("%v: stored %v, read %v", err, d.task.Commands.Refused, again.Commands.Refused)
	}
}

// P5. A command whose number was ahead of the task stays refused when a later run reaches that number.
func TestRefusedNumberAheadStaysRefusedInLaterRuns(t *testing.T) {
	d := begun(t, step("a"))
	first := core.Command{Name: core.Resubmit, ID: "first", Number: 1}
	d.refused(first)
	for i := range 9 { // their verdicts push that of first out
		d.refused(core.Command{Name: core.Resubmit, ID: fmt.Sprint("other-", i), Number: 0})
	}
	undo := func() {
		s := &d.task.Steps[0]
		d.decide(reply("a", d.task.Run, s.Attempt, core.Do, core.OutcomeFailed))
		d.decide(reply("a", d.task.Run, d.task.Steps[0].Attempt, core.UndoOp, core.OutcomeDone))
		if d.task.ProcessState != core.Compensated {
			t.Fatalf("the task is %s", d.task.ProcessState)
		}
	}
	undo()
	if !d.accepted(core.Command{Name: core.Resubmit, ID: "second", Number: 0}) {
		t.Fatal("the first resubmit is refused")
	}
	for i := range 9 {
		d.refused(core.Command{Name: core.Resubmit, ID: fmt.Sprint("more-", i), Number: 1})
	}
	undo()
	if d.task.Commands.Number != 1 || d.accepted(first) {
		t.Errorf("number %d: the command was refused, and is accepted now", d.task.Commands.Number)
	}
}
