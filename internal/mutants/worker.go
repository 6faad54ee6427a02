package mutants

const (
	handling = "functions/agent/worker/handling.go"
	answer   = "functions/agent/worker/answer.go"
	engine   = "functions/agent/worker/worker.go"
	ledger   = "functions/agent/worker/ledger.go"
	plain    = "functions/agent/worker/plain.go"
	pump     = "functions/agent/worker/pump.go"
	holds    = "functions/agent/worker/holds.go"
	guard    = "functions/agent/worker/guard.go"
)

// ofWorker are mutants of the agents' engine.
var ofWorker = []Mutant{
	{Name: "P25-late-request-is-carried-out", File: handling, Func: "handling.inTime", Old: "h.w.Clock.Now().Before(h.stop())", New: "true"},
	{Name: "P25-late-start-inside-the-skew", File: handling, Func: "handling.stop", Old: "Add(-h.req.ClockSkew)", New: "Add(0)"},
	{Name: "P25-late-answer-is-sent", File: answer, Func: "handling.answer", Old: "case left <= 0:", New: "case false:"},
	{Name: "P25-late-retry-is-made", File: handling, Func: "handling.once", Old: "if !h.inTime() {", New: "if false {"},
	{Name: "P25-a-call-may-last-past-stop-by", File: handling, Func: "handling.limit", Old: "limit = min(limit, h.stop().Sub(now))", New: "_ = now"},
	{Name: "P6-a-call-may-last-longer-than-its-timeout", File: handling, Func: "handling.limit", Old: "limit := h.req.Timeout.Std()", New: "limit := h.stop().Sub(now)"},
	{Name: "P13-request-is-deleted-without-its-reply", File: answer, Func: "handling.answer", Old: "return w.giveBack(0)", New: "return gone"},
	{Name: "I19-unreadable-request-is-dropped", File: engine, Func: "Worker.quarantine", Old: "return w.giveBack(0)", New: "return gone"},
	{Name: "P3-reply-is-of-the-first-attempt", File: answer, Func: "handling.reply", Old: "Attempt: r.Attempt", New: "Attempt: 1"},
	{Name: "P32-wait-is-not-told", File: answer, Func: "handling.reply", Old: "if r.ClaimedAt != 0 {", New: "if false {"},
	{Name: "P3-wait-is-negative", File: answer, Func: "handling.reply", Old: "max(0, core.TimeOf(h.received).Sub(r.ClaimedAt))", New: "core.TimeOf(h.received).Sub(r.ClaimedAt)"},
	{Name: "P24-no-check-before-a-second-attempt", File: handling, Func: "handling.checked", Old: "(h.req.Attempt > 1 || h.doubt != nil)", New: "h.doubt != nil"},
	{Name: "P24-no-check-before-an-own-retry", File: handling, Func: "handling.checked", Old: "(h.req.Attempt > 1 || h.doubt != nil)", New: "h.req.Attempt > 1"},
	{Name: "P28-output-of-any-size", File: handling, Func: "encode", Old: "if len(out) > MaxOutput {", New: "if false {"},
	{Name: "P28-output-of-any-depth", File: handling, Func: "encode", Old: "nesting.Check(out)", New: "nesting.Check(nil)"},
	{Name: "I13-a-shutdown-is-a-failure", File: handling, Func: "handling.run", Old: "h.failed != nil && errors.Is(ctx.Err(), context.Canceled) && !h.failed.Permanent", New: "false"},
	{Name: "P31-context-ends-by-the-agents-clock", File: handling, Func: "handling.limit", Old: "time.Until(end)", New: "end.Sub(now)"},
	{Name: "P31-plain-without-a-ledger", File: handling, Func: "handling.run", Old: "h.req.Grade == core.Plain && w.Ledger == nil", New: "false"},
	{Name: "P31-plain-own-retry-without-proof", File: handling, Func: "handling.judge", Old: "t.again = false // nobody can be asked, and it must not be called again", New: "_ = 0"},
	{Name: "P13-refusal-is-deleted-without-its-reply", File: handling, Func: "handling.refuse", Old: "return h.answer(ctx)", New: "h.answer(ctx)\n\treturn gone"},
	{Name: "P25-a-reply-is-sent-past-stop-by", File: answer, Func: "handling.answer", Old: "min(w.SendTimeout, left)", New: "w.SendTimeout"},
	{Name: "P13-a-reply-is-not-sent-when-ending", File: engine, Func: "Worker.send", Old: "context.WithoutCancel(ctx)", New: "ctx"},
	{Name: "P24-output-of-an-undo-is-sent", File: handling, Func: "handling.once", Old: "case h.req.Operation == core.UndoOp && (err == nil || classify(err).Happened):", New: "case h.req.Operation == core.UndoOp && err != nil && classify(err).Happened:"},
	{Name: "P24-undo-fails-by-its-output", File: handling, Func: "handling.once", Old: "(err == nil || classify(err).Happened)", New: "err == nil"},
	{Name: "P28-do-is-done-without-its-output", File: handling, Func: "handling.once", Old: "h.req.Operation == core.UndoOp && (err == nil || classify(err).Happened)", New: "err == nil && h.req.Operation == core.UndoOp || err != nil && classify(err).Happened"},
	{Name: "P31-done-with-a-bad-output-stays-in-doubt", File: plain, Func: "outcomeOf", Old: "case f.Happened:", New: "case false:"},
	{Name: "P25-called-after-a-long-check", File: handling, Func: "handling.checked", Old: "case !h.inTime():", New: "case false:"},
	{Name: "I13-called-without-time", File: handling, Func: "handling.run", Old: "limit <= 0 || ctx.Err() != nil", New: "false"},
	{Name: "I13-a-shutdown-opens-the-breaker", File: handling, Func: "handling.judge", Old: " && !errors.Is(context.Cause(ctx), context.Canceled)", New: ""},
	{Name: "P31-a-sick-ledger-opens-the-breaker", File: handling, Func: "handling.judge", Old: " && f.Code != codeLedger", New: ""},
	{Name: "P6-an-own-retry-that-does-not-fit", File: handling, Func: "handling.judge", Old: "h.w.Retry.longest(h.try, f.RetryAfter) < left", New: "left > 0"},
	{Name: "P32-held-back-until-the-queue-gives-up", File: handling, Func: "handling.heldBack", Old: " || h.times > maxHeldBack", New: ""},
	{Name: "P32-held-back-past-its-time", File: handling, Func: "handling.heldBack", Old: "return wait, back.Before(h.stop())", New: "return wait, true || back.IsZero()"},
	{Name: "P32-held-back-all-to-one-moment", File: handling, Func: "handling.heldBack", Old: "h.spread()*", New: "0*"},
	{Name: "P7-held-back-after-a-call", File: handling, Func: "handling.heldBack", Old: " || h.try > 0", New: ""},
	{Name: "P6-a-wait-asked-for-is-cut-short", File: guard, Func: "retryPolicy", Old: "return longerBy(t.wait, r.Jitter)", New: "return t.wait"},
	{Name: "P31-outcome-is-written-once", File: plain, Func: "handling.leave", Old: "if err = h.w.Ledger.Move(ctx, next); err == nil {", New: "if err = h.w.Ledger.Move(ctx, next); true {"},

	// The pump.
	{Name: "I13-drain-does-not-wait", File: pump, Func: "running.drain", Old: "if within(ended, r.Drain) {", New: "if within(ended, 0) {"},
	{Name: "I13-drain-waits-for-ever", File: pump, Func: "running.drain", Old: "if within(ended, r.Drain) {", New: "if <-ended; true {"},
	{Name: "I13-drain-says-nothing-of-the-rest", File: pump, Func: "running.drain", Old: "if within(ended, time.Second) {", New: "if within(ended, time.Second) || true {"},
	{Name: "I13-ends-before-it-has-deleted", File: pump, Func: "Pump.Run", Old: "attendants.Wait()", New: "_ = 0"},
	{Name: "I13-given-back-at-once", File: pump, Func: "running.handle", Old: "r.Queue.Extend(ctx, d.Receipt, v.After)", New: "r.Queue.Extend(ctx, d.Receipt, 0)"},
	{Name: "I13-given-back-and-still-held", File: pump, Func: "running.handle", Old: "r.held.remove(d.Receipt)", New: "_ = 0"},
	{Name: "I13-taken-and-not-held", File: pump, Func: "running.receive", Old: "r.held.add(deliveries[i].Receipt)", New: "_ = 0"},
	{Name: "I13-a-failed-receive-takes-room", File: pump, Func: "running.receive", Old: "for range free - len(deliveries) {", New: "for range min(free-len(deliveries), len(deliveries)) {"},
	{Name: "I13-more-at-a-time-than-allowed", File: pump, Func: "running.receive", Old: "defer func() { <-room }()", New: "<-room"},
	{Name: "I13-held-by-less-than-its-timeout", File: holds, Func: "holds.keep", Old: "h.queue.Extend(ctx, receipt, h.visibility)", New: "h.queue.Extend(ctx, receipt, h.visibility/3)"},
	{Name: "I13-extended-too-late", File: holds, Func: "holds.keep", Old: "pause(ctx, h.visibility/3)", New: "pause(ctx, h.visibility)"},
	{Name: "I13-extended-at-once", File: holds, Func: "holds.due", Old: "> 1 {", New: "> 0 {"},
	{Name: "I13-a-lost-request-is-extended-again", File: holds, Func: "holds.keep", Old: "h.remove(receipt)", New: "_ = 0"},

	// The ledger.
	{Name: "P31-a-duplicate-calls-again", File: ledger, Func: "enterDo", Old: "return e, move, sayNothing", New: "return start(e, attempt), true, callService"},
	{Name: "P31-done-calls-again", File: ledger, Func: "enterDo", Old: "case StateDone:\n\t\treturn e, move, sayDone", New: "case StateDone:\n\t\treturn start(e, attempt), true, callService"},
	{Name: "P31-in-doubt-answers-done", File: ledger, Func: "enterDo", Old: "return e, move, sayNothing", New: "return e, move, sayDone"},
	{Name: "P31-failure-of-an-old-attempt-counts", File: ledger, Func: "enterDo", Old: "if attempt <= e.Attempt {", New: "if attempt >= 0 {"},
	{Name: "P31-failed-attempt-calls-again", File: ledger, Func: "enterDo", Old: "if attempt <= e.Attempt {", New: "if attempt < e.Attempt {"},
	{Name: "I11-do-after-undo-calls", File: ledger, Func: "enterDo", Old: "case StateFenced:\n\t\treturn e, move, sayFailed", New: "case StateFenced:\n\t\treturn start(e, attempt), true, callService"},
	{Name: "I11-undo-of-nothing-leaves-no-fence", File: ledger, Func: "enterUndo", Old: "Version: e.Version}, true, sayDone", New: "Version: e.Version}, move, sayDone"},
	{Name: "I8-undo-in-doubt-answers-done", File: ledger, Func: "enterUndo", Old: "return e, move, sayInDoubt", New: "return e, move, sayDone"},
	{Name: "P31-undo-is-called-twice", File: ledger, Func: "enterUndo", Old: "return e, move, sayInDoubt", New: "return e, move, callService"},
	{Name: "P31-undo-does-not-say-that-it-began", File: ledger, Func: "enterUndo", Old: "return e, true, callService", New: "return e, move, callService"},
	{Name: "P31-fact-is-applied-again", File: ledger, Func: "state", Old: "fact.Command <= e.Command", New: "fact.Command < e.Command"},
	{Name: "P31-fact-is-ignored", File: ledger, Func: "state", Old: "if fact == nil || fact.Command <= e.Command {", New: "if true {"},
	{Name: "P31-stranger-withdraws-a-call", File: ledger, Func: "leave", Old: "case e.State != StateStarted || !mine:", New: "case e.State != StateStarted:"},
	{Name: "I8-refused-undo-counts-as-undone", File: ledger, Func: "leave", Old: "next.State = StateDone // the do stands as before", New: "next.State = StateFenced"},
	{Name: "P31-failure-without-proof-frees-the-key", File: plain, Func: "outcomeOf", Old: "return unknown", New: "return withdrawn"},
	{Name: "P31-refusal-without-proof-is-kept", File: plain, Func: "outcomeOf", Old: "return unknown", New: "return refused"},
	{Name: "P31-called-before-the-ledger-has-it", File: plain, Func: "handling.enter", Old: "if !errors.Is(err, port.ErrConflict) {", New: "if !errors.Is(err, port.ErrConflict) {\n\t\t\treturn next, do, nil"},
	{Name: "P31-lost-move-calls-all-the-same", File: plain, Func: "handling.enter", Old: "err = h.store(ctx, next)", New: "if err = h.store(ctx, next); errors.Is(err, port.ErrConflict) { err = nil }"},
	{Name: "P31-a-slow-ledger-leaves-doubt", File: plain, Func: "handling.store", Old: "context.WithoutCancel(ctx)", New: "ctx"},
	{Name: "P31-called-when-the-time-is-over", File: plain, Func: "handling.recorded", Old: " || ctx.Err() != nil", New: ""},
	{Name: "P31-outcome-is-not-written", File: plain, Func: "handling.recorded", Old: "h.leave(ctx, happened, out, Failure{})", New: ""},
	{Name: "P31-check-is-believed-of-what-never-began", File: plain, Func: "handling.inDoubt", Old: "(do == sayNothing || h.undoBegun(ctx))", New: "true"},
	{Name: "P25-plain-call-after-a-slow-ledger", File: plain, Func: "handling.recorded", Old: "if !h.inTime() || h.hurried() || ctx.Err() != nil {", New: "if ctx.Err() != nil {"},
	{Name: "P32-plain-call-without-its-time", File: plain, Func: "handling.recorded", Old: " || h.hurried() || ctx.Err() != nil", New: " || ctx.Err() != nil"},

	// Points of no return.
	{Name: "P22a-repeated-call-counts-as-the-only-one", File: ledger, Func: "enterDo", Old: "again.State = StateRepeated", New: "_ = 0"},
	{Name: "P22a-copy-of-an-older-attempt-calls", File: ledger, Func: "enterDo", Old: "knowsKeys && attempt >= e.Attempt", New: "knowsKeys"},
	{Name: "P22a-refusal-for-now-is-forgotten", File: ledger, Func: "enterDo", Old: "case StateFailed, StateLater:\n\t\tif attempt <= e.Attempt {", New: "case StateLater:\n\t\treturn start(e, attempt), true, callService\n\tcase StateFailed:\n\t\tif attempt <= e.Attempt {"},
	{Name: "P22a-call-of-another-handling-counts-as-refused", File: ledger, Func: "refuse", Old: "!began || next.Attempt != attempt", New: "next.Attempt != attempt"},
	{Name: "P22a-refusal-for-now-is-kept-as-final", File: plain, Func: "handling.failedBefore", Old: "Permanent: e.State != StateLater", New: "Permanent: true"},
	{Name: "P22a-back-to-none", File: plain, Func: "handling.leave", Old: "if next.State == StateNone && h.pivot() {", New: "if false {"},
	{Name: "P22a-refusal-in-doubt-counts-as-proof", File: plain, Func: "handling.prove", Old: "h.doubt != nil || ", New: ""},
	{Name: "P22a-proof-is-not-stored", File: plain, Func: "handling.prove", Old: "if err = h.w.Ledger.Move(ctx, next); err == nil {", New: "if err = h.w.Ledger.Move(ctx, next); true {"},
	{Name: "P22a-plain-point-of-no-return-is-called-again", File: plain, Func: "handling.enter", Old: "h.pivot() && h.req.Grade != core.Plain", New: "h.pivot()"},
	{Name: "P22a-own-retries-prove-nothing", File: plain, Func: "handling.recorded", Old: "if !h.began || h.doubt != nil {", New: "if true {"},
	{Name: "P22a-own-retry-in-doubt-is-not-entered", File: plain, Func: "handling.recorded", Old: "if !h.began || h.doubt != nil {", New: "if !h.began {"},
	{Name: "P22a-no-ledger-for-a-point-of-no-return", File: handling, Func: "handling.byLedger", Old: "h.req.Grade == core.Plain || h.pivot()", New: "h.req.Grade == core.Plain"},
	{Name: "P22a-refused-without-a-call-is-not-proven", File: handling, Func: "handling.refuse", Old: "h.prove(ctx)", New: "_ = 0"},
	{Name: "P22a-shutdown-loses-the-proof", File: handling, Func: "handling.run", Old: " && !h.proven", New: ""},
	{Name: "P22a-reply-does-not-say-it", File: answer, Func: "handling.reply", Old: "reply.NoEffect = h.proven", New: "_ = 0"},
	{Name: "P31-the-ledger-takes-the-time-of-the-call", File: handling, Func: "handling.limit", Old: "limit += ledgerTime", New: "_ = 0"},
}
