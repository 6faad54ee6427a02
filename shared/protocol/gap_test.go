package protocol_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// P16, P23a. What the Supervisor decides holds now, not only when its sweep began.
// Broken by: guard lets an older attempt through; a time is not looked at again.
func TestOverdueIsLookedAtAgain(t *testing.T) {
	d := begun(t, step("a", grade(core.Idempotent)))
	d.ignored(overdue("a", 1)) // its time has not come
	d.decide(later("a", 1))
	d.wait(core.Minute)
	d.decide(wake("a", 1))
	d.wait(core.Minute)
	d.ignored(overdue("a", 1)) // the present attempt is overdue, that one is past
	d.expect(nil, "Processing: a Processing/2", "")
	d.ignored(core.DeadlinePassed{Run: 0}) // it has none

	undo := begun(t, step("a"))
	undo.decide(cancel("c1"))
	undo.ignored(overdue("a", 2))
	undo.expect(nil, "Compensating: a Compensating/2", "")
}

// Invariant 4. A step that waits for its undo has the attempt of its do: an undo of that attempt was never
// asked for. Broken by: guard does not compare the operation.
func TestReplyOfTheOtherOperation(t *testing.T) {
	d := begun(t, step("a", grade(core.Idempotent)))
	d.decide(failed("a", 1))
	d.expect(nil, "Compensating: a UndoWait/1", "")
	d.ignored(undone("a", 1))
	d.expect(nil, "Compensating: a UndoWait/1", "")
}

// A code that is too long is cut between two characters: what is stored is what was reported (P12).
func TestLongCodesAreCutBetweenCharacters(t *testing.T) {
	d := begun(t, step("a", grade(core.Idempotent)))
	r := later("a", 1)
	r.Code = "x" + strings.Repeat("é", 100)
	d.decide(r)
	if got, want := d.task.Step("a").Error.Code, "x"+strings.Repeat("é", 63); got != want {
		t.Errorf("the code is %q, want %q", got, want)
	}
}

// P23a. Broken by: deadline does not compare the run.
func TestDeadlineOfAnEarlierRun(t *testing.T) {
	d := newDesk(t, workflow(step("a")))
	d.def.OnDeadline = core.OnFailureUndo
	d.submit.Deadline = d.now.Add(core.Hour)
	d.decide(d.submit)
	d.decideAll(failed("a", 1), undone("a", 2), core.Command{Name: core.Resubmit, ID: "r1", Deadline: d.now.Add(core.Minute)})
	d.wait(core.Hour)
	d.ignored(core.DeadlinePassed{Run: 0})
	d.expect(nil, "Processing: a Processing/3", "")
	d.decide(core.DeadlinePassed{Run: 1})
	if d.task.ProcessState != core.Compensating {
		t.Errorf("it is %s", d.task.ProcessState)
	}
}

// P23a. Broken by: the deadline undoes past a point of no return.
func TestDeadlinePastNoReturnStops(t *testing.T) {
	d := newDesk(t, workflow(step("a"), step("b", after("a"), noReturn)))
	d.def.OnDeadline = core.OnFailureUndo
	d.submit.Deadline = d.now.Add(core.Minute)
	d.decide(d.submit)
	d.decide(done("a", 1))
	d.wait(core.Minute)
	d.decide(core.DeadlinePassed{})
	if d.task.ProcessState != core.Error || d.task.Phase != core.Forward ||
		d.task.Step("a").State != core.Processed {
		t.Errorf("it is %s (%s), its first step %s", d.task.ProcessState, d.task.Phase,
			d.task.Step("a").State)
	}
}

// P23a, P18. Broken by: renewDeadline keeps the old one.
func TestResubmitRemovesTheDeadline(t *testing.T) {
	d := newDesk(t, workflow(step("a")))
	d.def.OnDeadline = core.OnFailureStop
	d.submit.Deadline = d.now.Add(core.Minute)
	d.decide(d.submit)
	d.wait(core.Minute)
	d.decide(core.DeadlinePassed{})
	d.decide(core.Command{Name: core.Resubmit, ID: "r1"})
	if d.task.Deadline.At != 0 || d.task.ProcessState != core.Processing {
		t.Errorf("it is %s with the deadline %s", d.task.ProcessState, d.task.Deadline.At)
	}
}

// P11. An end that was left is not reported any more. Broken by: left keeps the resend time.
func TestEndThatWasLeftIsNotReported(t *testing.T) {
	for name, leave := range map[string]core.Event{
		"resubmit": core.Command{Name: core.Resubmit, ID: "r1"},
		"undo":     core.Command{Name: core.UndoCommand, ID: "u1"}, "cancel": cancel("c1"),
	} {
		d := begun(t, step("a", stopping))
		d.decide(failed("a", 1)) // unreported
		d.decide(leave)
		if d.task.End.ResendAt != 0 {
			t.Errorf("%s: to be reported at %s", name, d.task.End.ResendAt)
		}
	}
}

// P19, P22. After the claim of a point of no return every failing step stops the order, whatever its own
// policy is. Broken by: mustStop looks at the step's policy only.
func TestPastNoReturnNothingIsUndone(t *testing.T) {
	for name, events := range map[string][]core.Event{
		"failed":  {failed("beside", 1)},
		"overdue": {overdue("beside", 1)},
	} {
		d := begun(t, step("beside", failures(1)), step("final", noReturn))
		d.wait(core.Hour)
		d.decideAll(events...)
		if d.task.ProcessState != core.Error || d.task.Phase != core.Forward {
			t.Errorf("%s: %s", name, states(d.task))
		}
	}
}

// P19. A step that fails while the order is undone lets the undo go on: the quiet time of its own,
// and then those before it. Broken by: policy does not advance.
func TestFailureDuringUndo(t *testing.T) {
	for name, end := range map[string]core.Reply{"failed": failed("b", 1), "retry later": later("b", 1)} {
		d := begun(t, step("a"), step("b", grade(core.Idempotent)))
		d.decide(cancel("c1"))
		d.expect(nil, "Compensating: a Processing/1, b Processing/1", "")
		dec := d.decide(end)
		if s := d.task.Step("b"); s.State != core.UndoWait || len(dec.Effects) == 0 {
			t.Errorf("%s: %s, %s", name, states(d.task), brief(dec.Effects))
		}
	}
}

// P20, P22. A step without an effect is passed over once no agent is at work on it, not before.
// Broken by: undoNext does not look whether it is Processing.
func TestUndoNoneWaitsForItsAgent(t *testing.T) {
	d := begun(t, step("look", func(s *core.StepDefinition) { s.Undo = nil }))
	d.decide(cancel("c1"))
	d.expect(nil, "Compensating: look Processing/1", "")
	d.decide(done("look", 1))
	d.expect(nil, "Cancelled: look Compensated/1", "")
}

// P32. Time in a queue counts neither against an undo nor against the hop budget.
// Broken by: undoOverdue does not look at the backlog; backlog keeps the hop.
func TestBacklogIsNotCounted(t *testing.T) {
	d := begun(t, step("a"))
	d.decide(failed("a", 1))
	d.wait(core.Minute)
	d.sweep("a")
	if s := d.task.Step("a"); s.State != core.UndoWait || s.Failures.Undo != 0 || s.Failures.Queued == 0 {
		t.Errorf("%s, %d failures, queued %s", states(d.task), s.Failures.Undo, s.Failures.Queued)
	}

	d = begun(t, step("a"))
	hops := d.task.Hops
	d.wait(30 * core.Second)
	d.sweep("a")
	if s := d.task.Step("a"); d.task.Hops != hops-1 || s.Failures.Do != 0 || s.State != core.Pending {
		t.Errorf("%s, %d failures, %d hops after %d", states(d.task), s.Failures.Do, d.task.Hops, hops)
	}
	if s := d.task.Step("a"); s.Claim.Allowance <= 20*core.Second {
		t.Errorf("the backlog has granted it %s", s.Claim.Allowance)
	}
	if d.decide(done("a", 1)); d.task.Step("a").Claim.Allowance != 0 {
		t.Errorf("done, and its allowance is still stored: %s", d.task.Step("a").Claim.Allowance)
	}
}

// P32. A restart loses the request, and says nothing about how long requests wait: a step that many restarts hit is
// asked again as soon as before. Broken by: backlog doubles the allowance for a lost queue.
func TestRestartsDoNotLengthenTheAllowance(t *testing.T) {
	d := begun(t, step("a"))
	allowance := d.task.Step("a").Claim.Allowance
	for attempt := range 3 {
		d.wait(30 * core.Second)
		d.decide(core.Overdue{Step: "a", Attempt: attempt + 1, Queue: core.QueuePassed})
		require.Equal(t, core.Pending, d.task.Step("a").State)
		require.Equal(t, allowance, d.task.Step("a").Claim.Allowance)
		require.Zero(t, d.task.Step("a").Failures.Do)
		d.decide(core.Wake{Step: "a", Attempt: attempt + 1})
	}
	require.Equal(t, 90*core.Second, d.task.Step("a").Failures.Queued)
}

// P32. A request that a restart has sent again comes to its agent too late, because of the restart. One that was
// claimed afterwards has waited. Broken by: notNow doubles the allowance after a restart.
func TestARequestThatIsLateByARestartGetsNoMoreTime(t *testing.T) {
	d := begun(t, step("a"))
	allowance := d.task.Step("a").Claim.Allowance
	d.wait(30 * core.Second)
	d.since = d.now
	d.decide(coded(later("a", 1), core.CodeQueue))
	require.Equal(t, 2, d.task.Step("a").Attempt)
	require.Equal(t, allowance, d.task.Step("a").Claim.Allowance)
	d.wait(30 * core.Second)
	d.decide(coded(later("a", 2), core.CodeQueue))
	require.Equal(t, 3, d.task.Step("a").Attempt)
	require.Equal(t, 2*allowance, d.task.Step("a").Claim.Allowance)
}

// P18. An operator can state a fact only for a step in doubt. Broken by: unresolvable does not look at the
// step's state.
func TestResolveOnlyWhatIsInDoubt(t *testing.T) {
	d := begun(t, step("a"), step("b", stopping, after("a")), step("c"))
	d.decideAll(done("a", 1), failed("b", 1))
	d.wait(core.Hour)
	for _, name := range []string{"a", "c", "missing"} { // Processed, in flight, unknown
		d.refused(core.Command{
			Name: core.Resolve,
			ID:   "x-" + name, Number: d.task.Commands.Number, Step: name,
			Fact: core.NotHappened,
		})
	}
	if dec := d.decide(core.Command{
		Name: core.Resolve,
		ID:   "x-b", Number: d.task.Commands.Number, Step: "b",
		Fact: core.NotHappened,
	}); !dec.Verdict.Accepted {
		t.Errorf("refused: %s", dec.Verdict.Reason)
	}
}

// P12, I18. Broken by: one reply finishes two steps.
func TestOneReplyFinishesOneStep(t *testing.T) {
	d := newDesk(t, workflow(step("a"), step("b")))
	d.def.Notify = append(d.def.Notify, core.StatusStepFinished)
	d.decide(d.submit)
	for _, name := range []string{"b", "a"} {
		dec := d.decide(done(name, 1))
		if n := len(slices.DeleteFunc(slices.Clone(dec.Effects), func(e core.Effect) bool {
			s, ok := e.(core.SendStatus)
			return !ok || s.Status.Kind != core.StatusStepFinished
		})); n != 1 {
			t.Errorf("%s: %s", name, brief(dec.Effects))
		}
	}
}

// P12, I18. Steps that were done while the order was in Error are reported by the Resubmit, after its
// "started", and a redelivered one sends them in the same order, byte for byte.
func TestStepsDoneInErrorAreReportedByTheResubmit(t *testing.T) {
	d := newDesk(t, workflow(step("a", stopping), step("b"), step("c")))
	d.def.Notify = append(d.def.Notify, core.StatusStarted, core.StatusStepFinished)
	d.decideAll(d.submit, failed("a", 1))
	d.commit(protocol.Settled(d.task))
	for _, name := range []string{"c", "b"} {
		if effects := d.decide(done(name, 1)).Effects; len(effects) > 0 {
			t.Errorf("in Error %s was reported: %s", name, brief(effects))
		}
	}
	if d.task.StatusSeq != d.task.End.Seq {
		t.Errorf("the last number is %d, that of the end %d", d.task.StatusSeq, d.task.End.Seq)
	}
	resubmit := core.Command{Name: core.Resubmit, ID: "r1", Number: d.task.Commands.Number}
	first := d.decide(resubmit)
	var reported []string
	last := 0
	for _, e := range first.Effects {
		if s, ok := e.(core.SendStatus); ok {
			reported = append(reported, string(s.Status.Kind)+s.Status.Step)
			if s.Status.Seq != last+1 && last > 0 {
				t.Errorf("%s has number %d after %d", s.Status.Kind, s.Status.Seq, last)
			}
			last = s.Status.Seq
		}
	}
	if got := strings.Join(reported, " "); got != "started step-finishedb step-finishedc" {
		t.Errorf("reported %s", got)
	}
	if again := d.ignored(resubmit); snapshot(again) != snapshot(first.Effects) {
		t.Errorf("reported again as\n%s, first as\n%s", snapshot(again), snapshot(first.Effects))
	}
	for _, e := range d.decide(done("a", 2)).Effects {
		if s, ok := e.(core.SendStatus); ok && (s.Status.Step == "b" || s.Status.Step == "c") {
			t.Errorf("reported once more: %+v", s.Status)
		}
	}
}

// P18, P23a. A deadline that has passed takes up nothing; the refusal changes nothing but its verdict.
func TestResubmitWithADeadlineThatHasPassed(t *testing.T) {
	for _, in := range []core.Duration{-core.Hour, 0, 1} {
		d := begun(t, step("a", stopping))
		d.decide(failed("a", 1))
		dec := d.decide(core.Command{Name: core.Resubmit, ID: "r1", Number: 0, Deadline: d.now.Add(in)})
		if dec.Verdict.Accepted != (in > 0) || (d.task.ProcessState == core.Processing) != (in > 0) {
			t.Errorf("deadline in %s: %+v, %s", in, dec.Verdict, d.task.ProcessState)
		}
		if in <= 0 && (d.task.Commands.Number != 1 || d.task.Deadline.At != 0 ||
			!strings.Contains(dec.Verdict.Reason, d.now.String())) {
			t.Errorf("deadline in %s: command %d, deadline %s, %q", in, d.task.Commands.Number,
				d.task.Deadline.At,
				dec.Verdict.Reason)
		}
	}
}

// P5. Every refusal names its command, and states the reason in words.
func TestEveryRefusalNamesItsCommand(t *testing.T) {
	processed := begun(t, step("a"))
	processed.decide(done("a", 1))
	cancelledOne := begun(t, step("a"))
	cancelledOne.decideAll(cancel("c0"), undone("a", 2))
	going := begun(t, step("a"))
	stopped := begun(t, step("a", stopping))
	stopped.decide(failed("a", 1))
	for name, c := range map[string]struct {
		d  *desk
		ev core.Event
	}{
		"undo of one that goes on": {
			going,
			core.Command{Name: core.UndoCommand, ID: "x", Number: going.task.Commands.Number},
		},
		"undo of another number":       {stopped, core.Command{Name: core.UndoCommand, ID: "x", Number: 9}},
		"resubmit of one that goes on": {going, core.Command{Name: core.Resubmit, ID: "x", Number: going.task.Commands.Number}},
		"resubmit of another number":   {stopped, core.Command{Name: core.Resubmit, ID: "x", Number: 9}},
		"resubmit of a processed one": {
			processed,
			core.Command{Name: core.Resubmit, ID: "x", Number: processed.task.Commands.Number},
		},
		"resubmit with a past deadline": {stopped, core.Command{Name: core.Resubmit, ID: "x", Number: 0, Deadline: 1}},
		"resubmit of a cancelled one": {
			cancelledOne,
			core.Command{Name: core.Resubmit, ID: "x", Number: cancelledOne.task.Commands.Number},
		},
		"resolve of one that goes on": {going, core.Command{
			Name: core.Resolve,
			ID:   "x", Number: going.task.Commands.Number,
			Step: "a",
			Fact: core.Happened,
		}},
		"resolve of another number": {
			stopped,
			core.Command{Name: core.Resolve, ID: "x", Number: 9, Step: "a", Fact: core.Happened},
		},
		"resolve of no step": {
			stopped,
			core.Command{Name: core.Resolve, ID: "x", Number: 0, Step: "z", Fact: core.Happened},
		},
		"cancel of a processed one": {processed, core.Command{Name: core.Cancel, ID: "x"}},
	} {
		kind, _, _ := strings.Cut(name, " ")
		dec, err := c.d.try(c.ev)
		if err != nil || dec.Verdict == nil {
			t.Errorf("%s: %+v, %v", name, dec, err)
			continue
		}
		if v := dec.Verdict; v.Accepted || v.ID != "x" || v.Command != kind || len(v.Reason) < 20 ||
			v.At != c.d.now {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// An operator who goes on with an undo that stopped keeps the reason that the task had.
func TestUndoKeepsItsReason(t *testing.T) {
	d := begun(t, step("a", func(s *core.StepDefinition) { s.Undo.Retry.MaxFailures = 1 }))
	d.decideAll(cancel("c1"), undoFailed("a", 2))
	if d.task.ProcessState != core.Error || d.task.Undo.Why != protocol.WhyCancel {
		t.Fatalf("%s, %s", d.task.ProcessState, d.task.Undo.Why)
	}
	d.decide(core.Command{Name: core.UndoCommand, ID: "u1", Number: d.task.Commands.Number})
	if d.task.Undo.Why != protocol.WhyCancel {
		t.Errorf("it compensates because of %s", d.task.Undo.Why)
	}
}

// P3. A request's trace is a W3C traceparent: the trace is the run's, the span the attempt's.
func TestTraceOfARequest(t *testing.T) {
	form := regexp.MustCompile(`^00-([0-9a-f]{32})-([0-9a-f]{16})-01$`)
	d := newDesk(t, workflow(step("a"), step("b")))
	traces := map[string]bool{}
	spans := map[string]bool{}
	take := func(effects []core.Effect) {
		for _, e := range effects {
			if r, ok := e.(core.SendRequest); ok {
				parts := form.FindStringSubmatch(r.Trace)
				if parts == nil {
					t.Fatalf("trace %q", r.Trace)
				}
				traces[parts[1]] = true
				spans[parts[2]] = true
			}
		}
	}
	take(d.decide(d.submit).Effects)
	d.decide(later("a", 1))
	d.wait(core.Minute)
	take(d.decide(wake("a", 1)).Effects)
	if len(traces) != 1 || len(spans) != 3 {
		t.Errorf("%d traces, %d spans", len(traces), len(spans))
	}
}
