package protocol_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// The traces H1 to H33 play the holes of an earlier draft, which the rules in docs/explanation give as reasons. A
// comment names the fault with which the test fails. If a trace is about an actor, the test plays the decisions of
// the core in it.

// H1. Broken by: take does not raise Attempt.
func TestH1UndoHasAnAttemptOfItsOwn(t *testing.T) {
	d := begun(t, step("a", grade(core.Idempotent)))
	d.decide(cancel("c1"))
	d.decide(done("a", 1))
	d.wait(core.Minute)
	d.expect(d.decide(wake("a", 1)).Effects, "Compensating: a Compensating/2", "undo a/2")
	d.ignored(done("a", 1))   // the duplicate
	d.ignored(undone("a", 1)) // and were it taken for an undo
	d.ignored(reply("a", 0, 2, core.Do, core.OutcomeDone))
	d.expect(d.decide(undone("a", 2)).Effects, "Cancelled: a Compensated/2", "cancelled#1")
}

// H2. Broken by: undoNext does not ask whether the step is quiet (P21).
func TestH2UndoWaitsUntilNoCopyCanAct(t *testing.T) {
	for _, g := range []core.Grade{core.Idempotent, core.Plain} {
		d := begun(t, step("a", grade(g)))
		stopBy := d.task.Steps[0].Claim.StopBy
		d.expect(d.decide(failed("a", 1)).Effects, "Compensating: a UndoWait/1", "wake a/1")
		d.now = stopBy.Add(core.Second)
		d.ignored(wake("a", 1)) // the quiet time itself still counts
		d.wait(1)
		d.expect(d.decide(wake("a", 1)).Effects, "Compensating: a Compensating/2", "undo a/2")
	}
}

// H3. Broken by: restart does not raise Run, so that a service answers from memory.
func TestH3StartedAgainItHasNewKeys(t *testing.T) {
	d := begun(t, step("a"))
	first := d.task.Steps[0]
	d.decideAll(failed("a", 1), undone("a", 2))
	dec := d.decide(core.Command{Name: core.Resubmit, ID: "r1", Number: 0})
	d.expect(dec.Effects, "Processing: a Processing/3", "undone#1, do a/3")
	if key := requests(dec.Effects)[0].Key; key != "o1/1/a" || d.task.Run != 1 || first.Attempt != 1 {
		t.Errorf("key %q, run %d", key, d.task.Run)
	}
	d.ignored(done("a", 1)) // a late reply of the first run
}

// H4. Broken by: resume raises Run.
func TestH4ResumedItKeepsItsKeys(t *testing.T) {
	d := begun(t, step("a", stopping))
	d.decide(failed("a", 1))
	dec := d.decide(core.Command{Name: core.Resubmit, ID: "r1", Number: 0})
	d.expect(dec.Effects, "Processing: a Processing/2", "failed#1, do a/2")
	if key := requests(dec.Effects)[0].Key; key != "o1/0/a" || d.task.Run != 0 {
		t.Errorf("key %q, run %d", key, d.task.Run)
	}
}

// H5. Broken by: a resubmit in Error (undo) resumes forward.
func TestH5UndoInDoubtIsNeverResumedForward(t *testing.T) {
	d := undoError(t)
	d.expect(d.decide(core.Command{Name: core.Resubmit, ID: "r1", Number: 0}).Effects, "Compensating: a Compensating/4",
		"failed#1, undo a/4")
}

// undoError returns a task whose undo failed as often as allowed.
func undoError(t *testing.T) *desk {
	t.Helper()
	d := begun(t, step("a"))
	d.decideAll(failed("a", 1), undoFailed("a", 2))
	d.wait(3 * core.Second)
	d.decide(wake("a", 2))
	d.expect(d.decide(undoFailed("a", 3)).Effects, "Error undo: a UndoWait/3", "failed#1, alert undo")
	return d
}

// H6. Broken by: the quiet time does not contain the clock skew. (That a call ends by stopBy is
// the agent's part; only a fence helps against one that does not.)
func TestH6QuietTimeContainsTheClockSkew(t *testing.T) {
	d := begun(t, step("a", grade(core.Idempotent)))
	stopBy := d.task.Steps[0].Claim.StopBy
	d.decide(failed("a", 1))
	if got, want := d.task.Steps[0].Wait.At, stopBy.Add(core.Second)+1; got != want {
		t.Errorf("the undo may begin at %s, want %s", got, want)
	}
	fenced := begun(t, step("a"))
	fenced.expect(fenced.decide(failed("a", 1)).Effects, "Compensating: a Compensating/2", "undo a/2")
}

// H7. Broken by: request leaves out Grade, or take does not raise Attempt: the agent's ledger
// distinguishes a copy from a new attempt by them (P31).
func TestH7RequestsOfAPlainServiceAreDistinguished(t *testing.T) {
	d := newDesk(t, workflow(step("a", grade(core.Plain))))
	first := requests(d.decide(d.submit).Effects)[0]
	duplicate := requests(d.ignored(d.submit))[0]
	d.decide(later("a", 1))
	d.wait(core.Minute)
	second := requests(d.decide(wake("a", 1)).Effects)[0]
	if first.Grade != core.Plain || snapshot(first) != snapshot(duplicate) {
		t.Errorf("%+v\n%+v", first, duplicate)
	}
	if second.Key != first.Key || second.Attempt != first.Attempt+1 {
		t.Errorf("key %q, attempt %d", second.Key, second.Attempt)
	}
}

// H8. Broken by: candidate passes over steps that are Pending (P7).
func TestH8HandedBackStepIsUndone(t *testing.T) {
	d := begun(t, step("a"))
	d.decide(later("a", 1))
	d.expect(d.decide(cancel("c1")).Effects, "Compensating: a Compensating/2", "undo a/2")
}

// H9. Broken by: pastNoReturn asks for Processed instead of Attempted.
func TestH9PointOfNoReturnCountsFromItsClaim(t *testing.T) {
	d := begun(t, step("a"), step("b", noReturn, after("a")))
	d.decide(done("a", 1))
	d.refused(cancel("c1"))
	d.decide(later("b", 1)) // handed back, it is still claimed
	d.refused(cancel("c2"))
	d.wait(core.Minute)
	d.decideAll(wake("b", 1), failed("b", 2))
	d.expect(nil, "Error forward: a Processed/1, b Failed/2", "")
	d.refused(core.Command{Name: core.UndoCommand, ID: "u1", Number: 0})
	d.refused(cancel("c3"))
}

// H10, P6. Broken by: askFor, or anything but a claim, moves StopBy; or CompleteBy goes past it.
func TestH10NothingMovesStopBy(t *testing.T) {
	d := begun(t, step("a"), step("b"))
	stopBy := d.task.Steps[0].Claim.StopBy
	if want := noon.Add(30 * core.Second); stopBy != want || d.task.Steps[0].CompleteBy != want {
		t.Fatalf("stopBy %s, completeBy %s, want both %s", stopBy, d.task.Steps[0].CompleteBy, want)
	}
	d.decide(later("b", 1))
	d.wait(10 * core.Second)
	d.sweep() // the wait of b is renewed
	for _, r := range requests(d.ignored(d.submit)) {
		if r.Step == "a" && (r.StopBy != stopBy || r.CompleteBy != stopBy) {
			t.Errorf("stopBy moved to %s", r.StopBy)
		}
	}
}

// H11. Broken by: request computes StopBy from the clock.
func TestH11ReemissionIsTheSameByteForByte(t *testing.T) {
	d := newDesk(t, workflow(step("a"), step("b")))
	first := snapshot(d.decide(d.submit).Effects)
	d.wait(core.Hour)
	d.by = "scheduler-2"
	d.waits = map[string]core.Duration{"a-agent": core.Minute}
	if again := snapshot(d.ignored(d.submit)); again != first {
		t.Errorf("\n got %s\nwant %s", again, first)
	}
}

// H12. Broken by: resubmitted does not ask forgotten, or a fact frees a step for ever.
func TestH12ForgottenKeyIsNotAskedAgain(t *testing.T) {
	def := workflow(step("a", stopping))
	def.Agents["a-agent"] = core.AgentDefinition{KeyRetention: core.Day, QueueAllowance: core.Second}
	d := newDesk(t, def)
	d.decideAll(d.submit, failed("a", 1))
	d.wait(core.Day - def.Steps[0].Timeout) // a call may land as late as its timeout
	if dec, _ := d.try(core.Command{Name: core.Resubmit, ID: "x", Number: 0}); !dec.Verdict.Accepted {
		t.Fatalf("keyRetention has not passed: %s", dec.Verdict.Reason)
	}
	d.wait(1)
	d.refused(core.Command{Name: core.Resubmit, ID: "r1", Number: 0})
	d.decide(core.Command{Name: core.Resolve, ID: "r2", Number: 1, Step: "a", Fact: core.NotHappened})
	d.expect(d.decide(core.Command{Name: core.Resubmit, ID: "r3", Number: 2}).Effects, "Processing: a Processing/2",
		"failed#1, do a/2")
	d.decide(failed("a", 2)) // The step is in doubt once more.
	d.wait(2 * core.Day)
	d.refused(core.Command{Name: core.Resubmit, ID: "r4", Number: 3})
}

// H13. Broken by: submittedAgain does not know a tombstone. (That the order's row stays when the
// task is gone is the store's part, P26.)
func TestH13OldSubmitStartsNothing(t *testing.T) {
	d := begun(t, step("a"))
	d.decide(done("a", 1))
	d.settle(d.decide(core.Settle{}))
	d.wait(30 * core.Day)
	if again := brief(d.ignored(d.submit)); again != "" {
		t.Errorf("it led to %s", again)
	}
	d.expect(nil, "Processed: a Processed/1", "")
	tomb := newDesk(t, d.def)
	tomb.decide(cancel("c1"))
	tomb.wait(30 * core.Day)
	tomb.ignored(tomb.submit)
}

// H14. Broken by: askFor leaves no CompleteBy.
func TestH14SupervisorDiesAfterItsCommit(t *testing.T) {
	d := begun(t, step("a", failures(1)))
	d.wait(31 * core.Second)
	d.expect(d.sweep(), "Compensating: a UndoWait/1", "wake a/1") // never sent
	if bucket, at := protocol.Index(d.task); bucket != "due" || at != d.now.Add(d.def.Grace) {
		t.Fatalf("indexed in %q at %s", bucket, at)
	}
	d.wait(d.def.Grace)
	d.expect(d.sweep(), "Compensating: a UndoWait/1", "wake a/1")
	d.expect(d.decide(wake("a", 1)).Effects, "Compensating: a Compensating/2", "undo a/2")
}

// H15. Broken by: Live looks at steps in flight only while the task is not in Error.
func TestH15ErrorWithABranchInFlightStaysDue(t *testing.T) {
	d := begun(t, step("a", stopping), step("b", grade(core.Idempotent)))
	d.settle(d.decide(failed("a", 1)))
	if bucket, at := protocol.Index(d.task); bucket != "due" || at != d.task.Steps[1].CompleteBy {
		t.Fatalf("b is in flight and the task indexed in %q at %s", bucket, at)
	}
	d.decide(core.Command{Name: core.UndoCommand, ID: "u1", Number: 0})
	d.expect(nil, "Compensating: a Failed/1, b Processing/1", "") // waits for b, which is not lost
	d.wait(31 * core.Second)
	d.expect(d.sweep(), "Compensating: a Failed/1, b UndoWait/1", "wake b/1")
	d.wait(core.Minute)
	d.expect(d.decide(wake("b", 1)).Effects, "Compensating: a Failed/1, b Compensating/2", "undo b/2")

	alone := begun(t, step("a", stopping), step("b"))
	alone.settle(alone.decide(failed("a", 1)))
	alone.decide(done("b", 1))
	if bucket, at := protocol.Index(alone.task); bucket != "attention" || at != alone.task.End.At {
		t.Errorf("nothing is in flight any more, indexed in %q at %s", bucket, at)
	}
}

// H16. Broken by: Push removes the due time, or raises the version itself. (That the commit is
// conditional is the Supervisor's part, P10.)
func TestH16PushKeepsTheDueOfATaskThatRuns(t *testing.T) {
	d := begun(t, step("a"))
	old := d.task
	d.decideAll(failed("a", 1), undone("a", 2), core.Command{Name: core.Resubmit, ID: "r1", Number: 0})
	stale, _ := protocol.Push(old)
	if stale.Version != old.Version || old.Version == d.task.Version {
		t.Fatal("the push of an old document would hit the new run")
	}
	d.wait(core.Minute)
	d.decide(reply("a", 1, 3, core.Do, core.OutcomeRetryLater)) // due stays where it was: early
	pushed, moved := protocol.Push(d.task)
	if bucket, at := protocol.Index(pushed); !moved || bucket != "due" || at != protocol.Live(d.task) ||
		pushed.Version != d.task.Version {
		t.Errorf("moved %v, %q at %s, want %s", moved, bucket, at, protocol.Live(d.task))
	}
	if _, moved := protocol.Push(pushed); moved {
		t.Error("a second push moves it again")
	}
}

// H17. Broken by: seen accepts any number.
func TestH17OldUndoDoesNotHitTheNewRun(t *testing.T) {
	d := begun(t, step("a", stopping))
	undo := core.Command{Name: core.UndoCommand, ID: "u1", Number: 0}
	d.decide(failed("a", 1))
	d.decideAll(undo, undone("a", 2), core.Command{Name: core.Resubmit, ID: "r1", Number: 1},
		reply("a", 1, 3, core.Do, core.OutcomeFailed))
	d.expect(nil, "Error forward: a Failed/3", "")
	d.ignored(undo) // a repeated ID gets the stored verdict
	undo.ID = "u2"
	d.refused(undo)
}

// H18. Broken by: decideUnknown ignores a Cancel.
func TestH18CancelBeforeTheOrder(t *testing.T) {
	d := newDesk(t, workflow(step("a")))
	dec := d.decide(cancel("c1"))
	if dec.Verdict == nil || !dec.Verdict.Accepted || !d.task.IsTombstone() {
		t.Fatalf("%+v", dec)
	}
	d.ignored(d.submit)
	if again := d.decide(cancel("c1")); again.Verdict == nil || !again.Verdict.Accepted {
		t.Errorf("%+v", again.Verdict)
	}
	if again := d.decide(cancel("c2")); again.Verdict == nil || !again.Verdict.Accepted {
		t.Errorf("%+v", again.Verdict)
	}
	d.refused(core.Command{Name: core.Resubmit, ID: "r1", Number: 1})
	d.expect(nil, "Cancelled: ", "")
}

// H19. Broken by: claimUndo asks the hop budget too.
func TestH19HopBudgetDoesNotBindUndo(t *testing.T) {
	def := workflow(step("a"), step("b", after("a")))
	def.HopBudget = 1
	d := newDesk(t, def)
	d.decide(d.submit)
	d.expect(d.decide(done("a", 1)).Effects, "Error forward: a Processed/1, b Pending/0",
		"failed#1, alert forward")
	d.expect(d.decide(core.Command{Name: core.UndoCommand, ID: "u1", Number: 0}).Effects,
		"Compensating: a Compensating/2, b Pending/0", "failed#1, undo a/2")
	d.expect(d.decide(undone("a", 2)).Effects, "Compensated: a Compensated/2, b Pending/0", "undone#2")
}

// H20. Broken by: reemit leaves out the end.
func TestH20FinalStatusAfterACrash(t *testing.T) {
	d := begun(t, step("a"))
	first := snapshot(d.decide(done("a", 1)).Effects) // never sent
	d.wait(core.Minute)
	dec := d.decide(done("a", 1))
	if got := snapshot(dec.Effects); got != first || brief(dec.Effects) != "completed#1" || !settles(d.def, dec) {
		t.Errorf("\n got %s\nwant %s", got, first)
	}
}

// H21. Broken by: guard takes an attempt above the document's for an old one (P8).
func TestH21StaleLoadKeepsTheReply(t *testing.T) {
	d := begun(t, step("a"))
	for _, ev := range []core.Event{
		done("a", 2), failed("a", 2), undone("a", 2), wake("a", 2), overdue("a", 2),
		reply("a", 1, 1, core.Do, core.OutcomeDone),
		core.Wake{Step: "a", Run: 1, Attempt: 1},
		core.Command{Name: core.Cancel, OrderID: orderID, ID: "c1", Run: 1},
	} {
		if _, err := d.try(ev); !errors.Is(err, core.ErrStale) {
			t.Errorf("%s: %v", name(ev), err)
		}
	}
}

// H22. Broken by: reemit leaves out the requests. (That no message of a batch is deleted before
// all was sent is the Scheduler's part, P13.)
func TestH22EachMessageOfABatchEmitsItsOwnAgain(t *testing.T) {
	d := begun(t, step("a"), step("b"), step("c", after("a")), step("d", after("b")))
	first := d.decide(done("a", 1)).Effects
	second := d.decide(done("b", 1)).Effects // one commit of both, nothing sent
	d.expect(second, "Processing: a Processed/1, b Processed/1, c Processing/1, d Processing/1", "do d/1")
	if got := d.ignored(done("a", 1)); snapshot(got) != snapshot(first) {
		t.Errorf("got %s, want %s", brief(got), brief(first))
	}
	if got := d.ignored(done("b", 1)); snapshot(got) != snapshot(second) {
		t.Errorf("got %s, want %s", brief(got), brief(second))
	}
}

// H23. Broken by: guard refuses an older attempt of done, or stepRows leave out Pending.
func TestH23LateReplyCounts(t *testing.T) {
	d := begun(t, step("a"), step("b"))
	d.wait(31 * core.Second)
	d.sweep()
	d.expect(d.decide(done("a", 1)).Effects, "Processing: a Processed/1, b Pending/1", "")
	d.wait(core.Hour)
	d.decide(wake("b", 1))
	d.expect(d.decide(done("b", 1)).Effects, "Processed: a Processed/1, b Processed/2", "completed#1")
}

// H24. Broken by: claimLater sets no CompleteBy.
func TestH24BothOverdueAtTheBudget(t *testing.T) {
	d := begun(t, step("a", failures(1)), step("b", failures(1)))
	d.wait(31 * core.Second)
	d.expect(d.sweep(), "Compensating: a Failed/1, b UndoWait/1", "wake b/1")
	require.Equal(t, d.now.Add(d.def.Grace), d.task.Step("b").CompleteBy, "b is asked for again")
	require.Zero(t, d.task.Step("a").CompleteBy, "a follows b")
	d.decide(wake("b", 1))
	d.expect(d.decide(undone("b", 2)).Effects, "Compensating: a Compensating/2, b Compensated/2", "undo a/2")
	d.expect(d.decide(undone("a", 2)).Effects, "Compensated: a Compensated/2, b Compensated/2", "undone#1")
}

// H25. Broken by: stop does not clear the times of waiting steps.
func TestH25ErrorClearsTheTimesOfWaitingSteps(t *testing.T) {
	d := begun(t, step("a", stopping), step("b"))
	d.decide(later("b", 1))
	d.settle(d.decide(failed("a", 1)))
	if b := d.task.Steps[1]; b.Wait.At != 0 || b.CompleteBy != 0 {
		t.Errorf("b waits until %s, rescue at %s", b.Wait.At, b.CompleteBy)
	}
	if bucket, _ := protocol.Index(d.task); bucket != "attention" {
		t.Errorf("it stands in %q", bucket)
	}
	d.ignored(wake("b", 1))
}

// H26. Broken by: askFor moves WakeAt.
func TestH26AskingAgainDoesNotMoveTheWait(t *testing.T) {
	d := begun(t, step("a"))
	d.decide(later("a", 1))
	wakeAt := d.task.Steps[0].Wait.At
	for range 3 {
		d.wait(10 * core.Second)
		d.expect(d.sweep(), "Processing: a Pending/1", "wake a/1")
		if s := d.task.Steps[0]; s.Wait.At != wakeAt || s.CompleteBy != d.now.Add(d.def.Grace) ||
			s.Failures.Do != 1 {
			t.Fatalf("wakeAt %s, completeBy %s, %d failures", s.Wait.At, s.CompleteBy, s.Failures.Do)
		}
	}
	d.expect(d.decide(wake("a", 1)).Effects, "Processing: a Processing/2", "do a/2")
}

// H27. Broken by: Settles answers true for any end.
func TestH27OnlyTheSenderOfTheEndSettles(t *testing.T) {
	d := begun(t, step("a"))
	d.decide(done("a", 1))                                     // crash
	for _, ev := range []core.Event{d.submit, core.Settle{}} { // both report it
		if dec := d.decide(ev); !settles(d.def, dec) || brief(dec.Effects) != "completed#1" {
			t.Errorf("%T settles %v with %s", ev, settles(d.def, dec), brief(dec.Effects))
		}
	}
	d.wait(core.Minute)
	if dec := d.decide(core.ResendDue{}); settles(d.def, dec) || brief(dec.Effects) != "settle" {
		t.Errorf("the Supervisor settles with %s", brief(dec.Effects))
	}
	stopped := begun(t, step("a", stopping))
	dec := stopped.decide(failed("a", 1))
	for i := range dec.Effects { // an Error is reported by status and alert together
		if protocol.Settles(stopped.def, stopped.task, dec.Effects[i:i+1]) {
			t.Errorf("%s alone counts as all", brief(dec.Effects[i:i+1]))
		}
	}
}

// H28. Broken by: stepRows let a Wake claim forward whatever the task's direction.
func TestH28WakeClaimsNothingForwardDuringUndo(t *testing.T) {
	d := begun(t, step("a", grade(core.Idempotent)), step("b", grade(core.Idempotent)))
	d.decide(later("a", 1))
	d.wait(2 * core.Second)
	d.decideAll(wake("a", 1), later("b", 1), failed("a", 2))
	d.expect(nil, "Compensating: a Failed/2, b UndoWait/1", "")
	d.ignored(wake("b", 1))

	direct := begun(t, step("a"), step("b"))
	direct.decide(later("a", 1))
	direct.decide(failed("b", 1)) // b is undone first, a is Pending still
	direct.wait(core.Minute)
	direct.ignored(wake("a", 1))
	direct.expect(nil, "Compensating: a Pending/1, b Compensating/2", "")
}

// H29. Broken by: stepRows ignore a Wake for UndoWait.
func TestH29UndoThatWaitsIsWoken(t *testing.T) {
	d := begun(t, step("a"))
	d.decide(failed("a", 1))
	d.wait(31 * core.Second)
	d.expect(d.sweep(), "Compensating: a UndoWait/2", "wake a/2")
	d.wait(2 * core.Second)
	d.expect(d.decide(wake("a", 2)).Effects, "Compensating: a Compensating/3", "undo a/3")
}

// H30. Broken by: cancelled does not keep CancelAsked.
func TestH30CancelDuringUndoIsKept(t *testing.T) {
	d := begun(t, step("a"))
	d.decide(failed("a", 1))
	first := d.decide(cancel("c1")).Verdict
	d.expect(d.decide(undone("a", 2)).Effects, "Cancelled: a Compensated/2", "cancelled#1")
	d.refused(core.Command{Name: core.Resubmit, ID: "r1", Number: 1})
	if again := d.decide(cancel("c1")).Verdict; snapshot(again) != snapshot(first) || !again.Accepted {
		t.Errorf("the duplicate was answered %+v, the first %+v", again, first)
	}
	over := begun(t, step("a"))
	over.decideAll(failed("a", 1), undone("a", 2))
	over.expect(over.decide(cancel("c1")).Effects, "Cancelled: a Compensated/2",
		"undone#1, cancelled#2")

	next := begun(t, step("a"))
	next.decideAll(failed("a", 1), undone("a", 2), core.Command{Name: core.Resubmit, ID: "r1", Number: 0})
	next.refused(cancel("c1")) // it meant the run before
}

// H31. Broken by: resume claims Failed steps only.
func TestH31ResubmitClaimsHandedBackStepsToo(t *testing.T) {
	d := begun(t, step("a", stopping), step("b"))
	d.decideAll(later("b", 1), failed("a", 1))
	d.commit(protocol.Settled(d.task))
	firsts := []int{d.task.Steps[0].First.Nth, d.task.Steps[1].First.Nth}
	d.expect(d.decide(core.Command{Name: core.Resubmit, ID: "r1", Number: 0}).Effects,
		"Processing: a Processing/2, b Processing/2", "do a/2, do b/2")
	if d.task.Steps[0].First.Nth != firsts[0] || d.task.Steps[1].First.Nth != firsts[1] {
		t.Error("the order of first claims changed")
	}
}

// H32. Broken by: Restart leaves out the unreported end. (That a status in memory is settled when it
// is taken is the embedded runtime's part, P27.)
func TestH32UnreportedEndSurvivesTheProcess(t *testing.T) {
	d := begun(t, step("a"))
	first := snapshot(d.decide(done("a", 1)).Effects) // put into a queue that dies with the process
	if bucket, _ := protocol.Index(d.task); d.task.End.ResendAt == 0 || bucket != "due" {
		t.Fatalf("unreported, and in %q", bucket)
	}
	dec, err := protocol.Decide(d.def, d.order, d.task, nil, protocol.At{Now: d.now})
	if err != nil || snapshot(dec.Effects) != first || !settles(d.def, dec) {
		t.Errorf("%v: %s, settles %v", err, brief(dec.Effects), settles(d.def, dec))
	}
}

// H33. Broken by: guard lets the failure of an older attempt through.
func TestH33FailureOfAnOldAttempt(t *testing.T) {
	d := begun(t, step("a"))
	d.decide(later("a", 1))
	d.wait(core.Minute)
	d.decide(wake("a", 1))
	for _, ev := range []core.Event{failed("a", 1), later("a", 1), overdue("a", 1)} {
		d.ignored(ev)
	}
	d.expect(nil, "Processing: a Processing/2", "")
	if s := d.task.Steps[0]; s.Failures.Do != 1 {
		t.Errorf("%d failures counted", s.Failures.Do)
	}
}

// A decision asks for the order's content only if an expression needs it, and then has decided nothing yet.
func TestOrderIsOnlyAskedForWhereItIsNeeded(t *testing.T) {
	d := newDesk(t, workflow(step("a"),
		step("b", after("a"), func(s *core.StepDefinition) { s.Input = nil })))
	d.order = nil
	if _, err := d.try(d.submit); !errors.Is(err, core.ErrOrderNeeded) {
		t.Fatalf("%v", err)
	}
	d.order = json.RawMessage(`{"n":1}`)
	d.decide(d.submit)
	d.order = nil
	d.decide(done("a", 1)) // b has no template, the workflow no output
	d.expect(nil, "Processing: a Processed/1, b Processing/1", "")
}

// A newer agent or a forger may send an unknown outcome, which must not count as done.
func TestUnknownOutcomeChangesNothing(t *testing.T) {
	d := begun(t, step("a"))
	for _, ev := range []core.Reply{
		reply("a", 0, 1, core.Do, "progress"), reply("a", 0, 1, core.Do, ""),
		reply("a", 0, 1, "check", core.OutcomeDone), reply("a", 0, 1, "", core.OutcomeDone),
		reply("a", 0, 0, core.Do, core.OutcomeDone), reply("a", 0, -1, core.Do, core.OutcomeDone),
		reply("a", -1, 1, core.Do, core.OutcomeDone), done("missing", 1),
	} {
		d.ignored(ev)
	}
	d.expect(nil, "Processing: a Processing/1", "")
}

// A document that does not fit its definition is an error of this one task (ErrUnfit).
func TestUnfitDocument(t *testing.T) {
	for what, harm := range map[string]func(*desk){
		"no definition":    func(d *desk) { d.def = nil },
		"another step":     func(d *desk) { d.task.Steps[0].Name = "b" },
		"fewer steps":      func(d *desk) { d.task.Steps = nil },
		"task state":       func(d *desk) { d.task.ProcessState = "Paused" },
		"Error, no phase":  func(d *desk) { d.task.ProcessState = core.Error },
		"step state":       func(d *desk) { d.task.Steps[0].State = "Waiting" },
		"undo, none there": func(d *desk) { d.task.Steps[0].State = core.Compensating },
		"never claimed":    func(d *desk) { d.task.Steps[0].First.Nth = 0 },
		"a wait now": func(d *desk) {
			d.def = workflow(waitStep("a", core.Hour))
			d.def.Hash = d.task.Definition
		},
		"no wait any more": func(d *desk) {
			d.def = workflow(waitStep("a", core.Hour))
			d.task.Steps[0].State = core.Waiting
			d.def.Steps[0] = step("a")
		},
		"undone, never called": func(d *desk) { neverBegan(d, step("a", goingOn)) },
		"undone, no children": func(d *desk) {
			neverBegan(d, core.StepDefinition{
				Name: "a", Each: &core.Each{},
				OnFailure: core.OnFailureContinue,
			})
		},
	} {
		d := begun(t, step("a"))
		harm(d)
		for _, ev := range []core.Event{done("a", 1), wake("a", 1), overdue("a", 1), cancel("c1"), d.submit} {
			if _, err := protocol.Decide(d.def, d.order, d.task, ev, d.at()); !errors.Is(err, core.ErrUnfit) {
				t.Errorf("%s, %s: %v", what, name(ev), err)
			}
		}
		if _, err := protocol.Decide(d.def, d.order, d.task, nil, protocol.At{Now: d.now}); !errors.Is(err,
			core.ErrUnfit) {
			t.Errorf("%s, restart: %v", what, err)
		}
	}
}

// neverBegan replaces the only step of the order by one that is undone but neither began nor failed.
func neverBegan(d *desk, s core.StepDefinition) {
	d.def = workflow(s)
	d.def.Hash = d.task.Definition
	d.task.Steps[0] = protocol.Step{Name: s.Name, State: core.Compensated}
}

// P12. A repeated report of an Error is the same as the first, whatever has happened to its steps and
// commands since. Broken by: Decide does not remember, or the alert names Command instead of EndCommand.
func TestErrorIsReportedAgainAsItWas(t *testing.T) {
	d := begun(t, step("a", stopping), step("b"))
	first := snapshot(d.decide(failed("a", 1)).Effects)
	d.wait(core.Minute)
	d.decideAll(done("b", 1), core.Command{Name: core.Resolve, ID: "x1", Number: 0, Step: "a", Fact: core.Happened})
	d.expect(nil, "Error forward: a Processed/1, b Processed/1", "")
	if again := snapshot(d.decide(core.Settle{}).Effects); again != first {
		t.Errorf("\n got %s\nwant %s", again, first)
	}
	undo := undoError(t)
	reported := snapshot(undo.ignored(undoFailed("a", 3)))
	undo.decide(cancel("c1"))
	if again := snapshot(undo.ignored(undoFailed("a", 3))); again != reported {
		t.Errorf("\n got %s\nwant %s", again, reported)
	}
}
