package mutants

const (
	decide  = "shared/core/decide.go"
	advance = "shared/core/advance.go"
	reply   = "shared/core/reply.go"
	overdue = "shared/core/overdue.go"
	tell    = "shared/core/tell.go"
	index   = "shared/core/index.go"
	table   = "shared/core/table.go"
	room    = "shared/core/room.go"
)

// cell is where a mutant of the transition table stands.
const cell = "stepTable[k][s][m] = row.rule"

// ofCore are mutants of what the core does with replies, times and waits.
var ofCore = []Mutant{
	// Which event counts.
	{Name: "I4-reply-of-an-earlier-run-counts", File: decide, Func: "deciding.guard",
		Old: "case run < r.t.Run:\n\t\treturn i, earlierRun, nil", New: "case run < r.t.Run && kind > undoLater:\n\t\treturn i, earlierRun, nil\n\tcase run < r.t.Run && attempt > s.Attempt:\n\t\treturn i, earlierRun, nil"},
	{Name: "I4-failure-of-a-stale-attempt-counts", File: decide, Func: "deciding.guard", Old: "attempt < s.Attempt && kind != doDone:", New: "attempt < s.Attempt && kind != doDone && kind != doFailed && kind != doLater:"},
	{Name: "P15-undo-of-a-stale-attempt-counts", File: decide, Func: "deciding.guard", Old: "kind != doDone:", New: "kind != doDone && kind != undoDone:"},
	{Name: "P15-done-of-an-older-attempt-ignored", File: decide, Func: "deciding.guard", Old: "attempt < s.Attempt && kind != doDone:", New: "attempt < s.Attempt:"},
	{Name: "P16-overdue-of-a-stale-attempt-counts", File: decide, Func: "deciding.guard", Old: "kind != doDone:", New: "kind != doDone && kind != overdue:"},
	{Name: "I4-reply-of-the-other-operation-counts", File: decide, Func: "deciding.guard", Old: "s.Undo != (e.Operation == UndoOp):", New: "false:"},
	{Name: "P8-stale-load-drops-the-message", File: decide, Func: "deciding.guard", Old: `return i, "", ErrStale`, New: `return i, "it is ahead of the document", nil`},
	{Name: "P15-handed-back-step-hears-no-done", File: table, Func: "init", Old: cell, New: cell + "\nif k == doDone && s == Pending { stepTable[k][s][m] = because(notAsked) }"},
	{Name: "P15-done-is-not-recorded-in-error", File: table, Func: "init", Old: cell, New: cell + "\nif k == doDone && s == Processing && (m == errForward || m == errUndo) { stepTable[k][s][m] = because(noTimes) }"},
	{Name: "P15-undo-done-in-its-wait-ignored", File: table, Func: "init", Old: cell, New: cell + "\nif k == undoDone && s == UndoWait { stepTable[k][s][m] = because(notAsked) }"},
	{Name: "I6-an-end-is-left-by-a-reply", File: table, Func: "init", Old: cell, New: cell + "\nif k == undoFailed && s == Compensated && m == compensated { stepTable[k][s][m] = deed((*deciding).undoRefused) }"},
	{Name: "I17-supervisor-takes-up-a-finished-step", File: table, Func: "init", Old: cell, New: cell + "\nif k == overdue && s == Processed && m == going { stepTable[k][s][m] = deed(func(r *deciding, i int, _ Event) (string, error) { r.handBack(i, 0); return \"\", nil }) }"},
	{Name: "P16-wake-claims-forward-during-undo", File: table, Func: "init", Old: cell, New: cell + "\nif k == wakeStep && s == Pending && m == undoing { stepTable[k][s][m] = deed((*deciding).wakeForward) }"},
	{Name: "P16-wake-of-a-waiting-undo-ignored", File: table, Func: "init", Old: cell, New: cell + "\nif k == wakeStep && s == UndoWait { stepTable[k][s][m] = because(notNow) }"},
	{Name: "I11-late-done-goes-forward-during-undo", File: reply, Func: "deciding.stepDone", Old: "r.advance()", New: "was := r.t.ProcessState; r.t.ProcessState = Processing; r.advanceForward(); if r.t.ProcessState == Processing { r.t.ProcessState = was }; r.advance()"},

	// Failures and budgets.
	{Name: "I12-budget-of-one-failure-more", File: reply, Func: "deciding.stepLater", Old: "s.FailureCount < retry.Budget()", New: "s.FailureCount <= retry.Budget()"},
	{Name: "P16-budget-of-one-timeout-more", File: overdue, Func: "deciding.doOverdue", Old: "s.FailureCount < retry.Budget()", New: "s.FailureCount <= retry.Budget()"},
	{Name: "I20-retries-are-not-counted", File: reply, Func: "deciding.stepLater", Old: "s.FailureCount++", New: ""},
	{Name: "I20-timeouts-are-not-counted", File: overdue, Func: "deciding.doOverdue", Old: "s.FailureCount++", New: ""},
	{Name: "I20-undo-is-tried-for-ever", File: reply, Func: "deciding.undoAgain", Old: "case s.UndoFailures < retry.MaxFailures:", New: "case true:"},
	{Name: "I13-a-failure-counts-twice", File: reply, Func: "deciding.stepFailed", Old: "FailureCount++", New: "FailureCount += 2"},
	{Name: "P19-stop-undoes-all-the-same", File: reply, Func: "deciding.mustStop", Old: "r.def.Steps[i].OnFailure == OnFailureStop || r.pastNoReturn()", New: "r.pastNoReturn()"},
	{Name: "P19-past-no-return-undoes-all-the-same", File: reply, Func: "deciding.mustStop", Old: " || r.pastNoReturn()", New: ""},
	{Name: "P22-no-return-only-once-it-is-done", File: reply, Func: "deciding.pastNoReturn", Old: "s.Attempted()", New: "s.State == Processed"},
	{Name: "P22a-passed-in-spite-of-the-proof", File: reply, Func: "deciding.pastNoReturn", Old: " && s.NoEffect == 0", New: ""},
	{Name: "P22a-every-failure-is-a-proof", File: reply, Func: "deciding.refused", Old: "!e.NoEffect || ", New: ""},
	{Name: "P22a-proof-after-overdue-is-ignored", File: reply, Func: "deciding.refusedLate", Old: "|| !r.refused(i, ev.(Reply))", New: "|| true"},
	{Name: "P22a-proof-is-recorded-again", File: reply, Func: "deciding.refusedLate", Old: "s.NoEffect != 0 || ", New: ""},
	{Name: "P22a-claim-keeps-the-proof", File: advance, Func: "deciding.take", Old: ", r.cause, 0", New: ", r.cause, s.NoEffect"},
	{Name: "P22a-done-keeps-the-proof", File: reply, Func: "deciding.finish", Old: "s.NoEffect = Processed, output, r.at.Now, 0", New: "s.NoEffect = Processed, output, r.at.Now, s.NoEffect"},
	{Name: "P22a-alert-changes-with-a-later-proof", File: tell, Func: "deciding.alert", Old: "if s.NoEffect > t.Ended {", New: "if false {"},
	{Name: "P22a-fact-makes-a-proof-later", File: reply, Func: "deciding.proven", Old: "r.t.Steps[i].NoEffect != 0", New: "false"},
	{Name: "P22a-proof-of-an-agent-that-made-no-call-is-ignored", File: reply, Func: "deciding.stepLater", Old: "r.refused(i, e)", New: "if !Uncalled(e.Code) { r.refused(i, e) }"},
	{Name: "P22a-later-proof-looks-as-old-as-the-error", File: reply, Func: "deciding.proven", Old: "at = latest(at, r.t.Ended+1)", New: "_ = 0"},
	{Name: "P22a-request-does-not-name-the-point", File: advance, Func: "deciding.request", Old: "PointOfNoReturn: d.PointOfNoReturn,", New: ""},
	{Name: "P19-failure-during-undo-stops-the-undo", File: reply, Func: "deciding.policy", Old: "case Compensating:\n\t\tr.advance()", New: "case Compensating:"},
	{Name: "I16-lock-is-never-released", File: reply, Func: "Step.release", Old: `s.LockedBy, s.Cause, s.CompleteBy, s.StopBy, s.WakeAt = "", "", 0, 0, 0`, New: `s.Cause, s.CompleteBy, s.StopBy, s.WakeAt = "", 0, 0, 0`},

	// What the Supervisor does.
	{Name: "P16-overdue-before-its-time", File: overdue, Func: "deciding.doOverdue", Old: "if !passed(s.CompleteBy, r.at.Now) {", New: "if s.CompleteBy == 0 {"},
	{Name: "P16-undo-overdue-before-its-time", File: overdue, Func: "deciding.undoOverdue", Old: "if !passed(s.CompleteBy, r.at.Now) {", New: "if s.CompleteBy == 0 {"},
	{Name: "I5-given-up-and-nobody-is-woken", File: overdue, Func: "deciding.doOverdue", Old: "r.compensate(WhyFailure, i)\n\tr.askFor(s)", New: "r.compensate(WhyFailure, i)"},
	{Name: "I5-overdue-during-undo-and-nobody-is-woken", File: overdue, Func: "deciding.doOverdue", Old: "r.askFor(s)\n\t\t}", New: "_ = s\n\t\t}"},
	{Name: "P9a-asking-again-moves-the-wait", File: overdue, Func: "deciding.waitOverdue", Old: "r.askFor(s)", New: "r.askFor(s); s.WakeAt = s.CompleteBy"},
	{Name: "P9a-asking-again-leaves-no-time", File: overdue, Func: "deciding.waitOverdue", Old: "r.askFor(s)", New: "r.askFor(s); s.CompleteBy = 0"},
	{Name: "P9a-backoff-is-not-waited-for", File: overdue, Func: "deciding.wakeForward", Old: "case r.at.Now < s.WakeAt:", New: "case false:"},
	{Name: "P9a-backoff-of-an-undo-is-not-waited-for", File: advance, Func: "deciding.undoNext", Old: "r.at.Now < s.WakeAt:", New: "false:"},
	{Name: "P9a-no-grace", File: reply, Func: "deciding.put", Old: "wakeAt.Add(r.def.Grace)", New: "0"},
	{Name: "P23a-deadline-is-not-looked-at", File: overdue, Func: "SweepEvents", Old: "t.ProcessState == Processing && passed(t.Deadline, now)", New: "false"},
	{Name: "P23a-deadline-undoes-past-no-return", File: overdue, Func: "deciding.deadline", Old: " || r.pastNoReturn()", New: ""},
	{Name: "P23a-deadline-wakes-nobody", File: overdue, Func: "deciding.deadline", Old: "r.emit(SendWake{OrderID: r.t.OrderID, Run: r.t.Run})", New: ""},
	{Name: "P23a-deadline-of-an-earlier-run", File: overdue, Func: "deciding.deadline", Old: "case ev.(DeadlinePassed).Run != r.t.Run:", New: "case false:"},
	{Name: "P32-time-in-a-queue-is-a-failure", File: overdue, Func: "deciding.doOverdue", Old: "if e.Backlog {", New: "if false {"},
	{Name: "P32-time-in-a-queue-is-a-failed-undo", File: overdue, Func: "deciding.undoOverdue", Old: "if e.Backlog && r.t.ProcessState == Compensating {", New: "if false {"},
	{Name: "P32-allowance-does-not-double", File: overdue, Func: "deciding.backlog", Old: "max(s.Allowance, 1)*2", New: "max(s.Allowance, 1)"},
	{Name: "P32-a-queue-is-waited-for-for-ever", File: overdue, Func: "deciding.backlog", Old: "if s.Queued >= d.MaxQueueTime {", New: "if false {"},
	{Name: "P32-waits-are-not-learnt", File: advance, Func: "deciding.take", Old: ", 2*r.at.Waits[d.Agent])", New: ")"},
	{Name: "P45-no-call-is-a-failure", File: reply, Func: "deciding.stepLater", Old: "&& Uncalled(e.Code)", New: "&& Uncalled(e.Code) && false"},
	{Name: "P45-no-call-is-a-failed-undo", File: reply, Func: "deciding.undoRefused", Old: "&& Uncalled(e.Code)", New: "&& Uncalled(e.Code) && false"},
	{Name: "P45-expired-credentials-are-a-failure", File: reply, Func: "Uncalled", Old: " || code == CodeUnauthorized", New: ""},
	{Name: "P45-a-permanent-failure-is-handed-back", File: reply, Func: "deciding.undoRefused", Old: "e.Outcome == OutcomeRetryLater &&", New: ""},
	{Name: "P45-hand-back-spends-hops", File: reply, Func: "deciding.hold", Old: "r.t.Hops = max(0, r.t.Hops-1)", New: "r.t.Hops += 0"},
	{Name: "P45-waits-for-an-agent-for-ever", File: reply, Func: "deciding.hold", Old: "held >= d.MaxQueueTime", New: "held < 0"},
	{Name: "P45-asks-again-at-once", File: reply, Func: "deciding.hold", Old: "min(max(held, minHold), maxHold)", New: "min(held, maxHold)"},
	{Name: "P45-waits-do-not-grow", File: reply, Func: "deciding.hold", Old: "min(max(held, minHold), maxHold)", New: "minHold"},
	{Name: "P45-hides-its-retry-after", File: reply, Func: "deciding.hold", Old: "max(wait, min(e.RetryAfter, maxRetryAfter))", New: "max(wait, 0)"},
	{Name: "P45-counted-failure-keeps-the-wait", File: reply, Func: "Step.release", Old: "s.endHold()", New: ""},
	{Name: "P45-a-resubmit-gives-no-new-time", File: command, Func: "deciding.resume", Old: "s.endHold()", New: ""},
	{Name: "P45-an-undo-gets-no-new-time", File: command, Func: "deciding.turnAround", Old: "s.endHold()", New: ""},
	{Name: "P32-hand-back-spends-hops", File: overdue, Func: "deciding.backlog", Old: "r.t.Hops = max(0, r.t.Hops-1)", New: "r.t.Hops += 0"},

	// Room in the document.
	{Name: "P28-texts-are-not-cut", File: room, Func: "deciding.makeRoom", Old: "if room.fits(r.t) {\n\t\treturn\n\t}\n\tvar", New: "if true {\n\t\treturn\n\t}\n\tvar"},
	{Name: "P28-outputs-take-the-reserve", File: room, Func: "deciding.holds", Old: "return r.at.Room.keepsReserve(r.def, c)", New: "return r.at.Room.fits(c)"},
	{Name: "P28-output-that-does-not-fit-is-kept", File: room, Func: "deciding.holds", Old: "return r.at.Room.keepsReserve(r.def, c)", New: "return c != nil"},
	{Name: "P24-done-that-does-not-fit-fails-during-undo", File: room, Func: "deciding.unstorable", Old: "if r.t.ProcessState != Processing {", New: "if false {"},
	{Name: "P28-earlier-output-fails-a-later-attempt", File: room, Func: "deciding.unstorable", Old: "if e.Attempt < s.Attempt {", New: "if false {"},
	{Name: "P22a-done-that-does-not-fit-keeps-the-proof", File: room, Func: "deciding.unstorable", Old: "s.NoEffect = 0", New: ""},
	{Name: "P22a-earlier-done-that-does-not-fit-is-not-recorded", File: room, Func: "deciding.unstorable", Old: "if contradicted {", New: "if contradicted && false {"},
	{Name: "P28-reserve-without-the-proof", File: room, Func: "longestStep", Old: ", NoEffect: far - 6", New: ""},
	{Name: "P28-reserve-leaves-a-member-out", File: room, Func: "longestStep", Old: ", Since: far", New: ""},
	{Name: "P5-reasons-take-the-reserve", File: "shared/core/command.go", Func: "deciding.answer", Old: "!r.at.Room.keepsReserve(r.def, r.t)", New: "false"},
	{Name: "P28-workflow-output-takes-the-reserve", File: tell, Func: "deciding.keepOutput", Old: "if !r.at.Room.keepsReserve(r.def, r.t) {", New: "if false {"},

	// Claims, forward and undo.
	{Name: "I14-undo-uses-the-attempt-of-the-do", File: advance, Func: "deciding.take", Old: "s.Attempt++", New: "if op == Do { s.Attempt++ }"},
	{Name: "P2-key-of-each-attempt", File: advance, Func: "deciding.request", Old: "Key: Key(r.t.OrderID, r.t.Run, s.Name)", New: "Key: Key(r.t.OrderID, r.t.Run, s.Name) + string(rune('0'+s.Attempt%10))"},
	{Name: "P2-key-without-the-run", File: advance, Func: "deciding.request", Old: "Key: Key(r.t.OrderID, r.t.Run, s.Name)", New: "Key: Key(r.t.OrderID, 0, s.Name)"},
	{Name: "P6-new-stop-by-at-each-emission", File: advance, Func: "deciding.request", Old: "StopBy: s.StopBy", New: "StopBy: r.at.Now.Add(r.timeout(i) + s.Allowance)"},
	{Name: "P20-steps-do-not-wait-for-each-other", File: advance, Func: "deciding.ready", Old: "p != Processed && p != Skipped", New: "p == Skipped && p == Processed"},
	{Name: "P20-join-of-the-first", File: advance, Func: "deciding.ready", Old: "return false\n\t\t}\n\t}\n\treturn true", New: "continue\n\t\t}\n\t\treturn true\n\t}\n\treturn len(r.def.after[i]) == 0"},
	{Name: "P20-handed-back-step-is-claimed-at-once", File: advance, Func: "deciding.ready", Old: " || s.Attempted()", New: ""},
	{Name: "I7-processed-while-a-step-runs", File: advance, Func: "deciding.advanceForward", Old: "s != Processed && s != Skipped {", New: "s != Processed && s != Skipped && s != Processing {"},
	{Name: "P23-hop-budget-binds-nothing", File: advance, Func: "deciding.claim", Old: "r.t.Hops >= r.def.HopBudget", New: "false"},
	{Name: "P23-hop-budget-binds-undo", File: advance, Func: "deciding.claimUndo", Old: "s := &r.t.Steps[i]", New: "s := &r.t.Steps[i]\n\tif r.t.Hops >= r.def.HopBudget { s.State = UndoWait; s.release(); r.enterError(Undoing, i); return }"},
	{Name: "I10-undo-of-completed-steps-only", File: advance, Func: "deciding.candidate", Old: "s.Attempted() && s.State != Compensated", New: "(s.State == Processed || s.State == UndoWait || s.State == Compensating)"},
	{Name: "P7-handed-back-step-is-not-undone", File: advance, Func: "deciding.candidate", Old: "s.State != Compensated &&", New: "s.State != Compensated && s.State != Pending &&"},
	{Name: "I9-undo-in-the-order-of-the-dos", File: advance, Func: "deciding.candidate", Old: "s.First > r.t.Steps[found].First", New: "s.First < r.t.Steps[found].First"},
	{Name: "P21-no-quiet-time", File: advance, Func: "deciding.undoNext", Old: "case r.at.Now <= quiet:", New: "case false:"},
	{Name: "P21-quiet-time-without-the-skew", File: advance, Func: "deciding.undoNext", Old: "s.QuietBy.Add(r.def.Agents[d.Agent].ClockSkew)", New: "s.QuietBy"},
	{Name: "P21-undo-while-the-do-is-in-flight", File: advance, Func: "deciding.undoNext", Old: "case s.State == Processing:\n\t\treturn false\n\tcase r.at.Now <= quiet:", New: "case s.State != Processing && r.at.Now <= quiet:"},
	{Name: "P21-idempotent-is-taken-for-fenced", File: advance, Func: "deciding.undoNext", Old: "d.Grade == Fenced", New: "d.Grade != Plain"},
	{Name: "P21-plain-is-taken-for-fenced", File: advance, Func: "deciding.undoNext", Old: "d.Grade == Fenced", New: "d.Grade != Idempotent"},
	{Name: "P22-no-undo-while-the-do-is-in-flight", File: advance, Func: "deciding.undoNext", Old: "if s.State == Processing {\n\t\t\treturn false\n\t\t}", New: ""},
	{Name: "P21-quiet-time-of-the-last-attempt-only", File: advance, Func: "deciding.claim", Old: "s.QuietBy = latest(s.QuietBy, s.StopBy)", New: "s.QuietBy = s.StopBy",
		Equivalent: "A step's allowance never shrinks within a run and its timeout is fixed, so a later claim has a later stopBy unless the Scheduler's clock goes back by more than the time between two claims; such a clock is outside of the declared skew, which is the assumption of P21."},

	// The index.
	{Name: "I21-due-is-pushed-too-late", File: index, Func: "reindex", Old: "t.Due = earliest(t.Due, live)", New: "t.Due = latest(t.Due, live)"},
	{Name: "I21-due-is-not-moved-back", File: index, Func: "reindex", Old: "t.Due = earliest(t.Due, live)", New: ""},
	{Name: "P9-error-with-a-step-in-flight-is-not-due", File: index, Func: "Live", Old: "s.InFlight() || going && waiting(s)", New: "going && (s.InFlight() || waiting(s))"},
	{Name: "P9-waiting-steps-are-not-due", File: index, Func: "Live", Old: "going && waiting(s)", New: "going && false"},
	{Name: "P9-error-keeps-the-times-of-waits", File: tell, Func: "deciding.stop", Old: "s.WakeAt, s.CompleteBy = 0, 0", New: ""},
	{Name: "P9-untold-end-is-not-due", File: index, Func: "Live", Old: "live := t.Tell", New: "var live Time"},
	{Name: "P9-deadline-is-not-due", File: index, Func: "Live", Old: "live = earliest(live, t.Deadline)", New: ""},
	{Name: "P9-new-task-is-not-due", File: decide, Func: "start", Old: "reindex(t, false)", New: ""},
	{Name: "P9-error-is-not-in-attention", File: index, Func: "reindex", Old: "t.Attention = t.ProcessState == Error && live == 0", New: "t.Attention = false"},
	{Name: "P9-no-push-forward", File: index, Func: "Push", Old: "reindex(c, true)", New: "reindex(c, false)"},

	// Ends and what is told.
	{Name: "P11-end-without-a-tell-time", File: tell, Func: "deciding.entered", Old: "t.Tell = r.tellTime()", New: ""},
	{Name: "P11-told-by-whoever-comes", File: tell, Func: "ToldBy", Old: "return status && alert", New: "return true"},
	{Name: "P11-told-without-the-alert", File: tell, Func: "ToldBy", Old: "return status && alert", New: "return status"},
	{Name: "P11-told-by-any-status", File: tell, Func: "ToldBy", Old: "status || e.Status.Seq == t.EndSeq", New: "true"},
	{Name: "P11-supervisor-tells-the-status", File: tell, Func: "deciding.announce", Old: "r.supervisor && r.t.EndSeq > 0", New: "false"},
	{Name: "P11-settled-stays-untold", File: index, Func: "Settled", Old: "c.Tell = 0", New: ""},
	{Name: "P11-told-again-at-once-for-ever", File: overdue, Func: "deciding.tellAgain", Old: "r.t.Tell = r.at.Now.Add(r.tellAfter())", New: ""},
	{Name: "P12-redelivery-is-silent", File: decide, Func: "deciding.again", Old: `r.def != nil && r.cause != ""`, New: "false"},
	{Name: "P12-redelivery-asks-forward-during-undo", File: tell, Func: "deciding.claimStands", Old: "s.State == Processing && r.t.ProcessState == Processing", New: "s.State == Processing"},
	{Name: "P12-redelivery-does-not-ask-again", File: tell, Func: "deciding.reemit", Old: "r.ask(i)", New: "_ = i"},
	{Name: "P12-redelivery-does-not-tell-the-end", File: tell, Func: "deciding.reemit", Old: "r.announce()", New: ""},
	{Name: "I18-step-finished-is-told-out-of-order", File: tell, Func: "deciding.nextFinish", Old: "s.FinishSeq < r.t.Steps[found].FinishSeq", New: "s.FinishSeq > r.t.Steps[found].FinishSeq"},
	{Name: "I18-status-numbers-stand-still", File: tell, Func: "deciding.entered", Old: "t.StatusSeq++", New: "t.StatusSeq += 0"},
	{Name: "P27-restart-forgets-waits", File: tell, Func: "Restart", Old: "case (forward || undo) && waiting(s) && s.CompleteBy != 0:", New: "case (forward || undo) && false:"},
	{Name: "P27-restart-forgets-untold-ends", File: tell, Func: "Restart", Old: "if t.Tell != 0 {", New: "if false {"},
	{Name: "P27-restart-forgets-requests", File: tell, Func: "Restart", Old: "case r.claimStands(s):\n\t\t\tr.ask(i)", New: "case r.claimStands(s):"},
}
