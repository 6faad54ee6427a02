package mutants

const (
	handling = "functions/agent/worker/handling.go"
	answer   = "functions/agent/worker/answer.go"
	engine   = "functions/agent/worker/worker.go"
	ledger   = "functions/agent/worker/ledger.go"
	plain    = "functions/agent/worker/plain.go"
)

// ofWorker are mutants of the agents' engine.
var ofWorker = []Mutant{
	{Name: "P25-late-request-is-carried-out", File: handling, Func: "handling.inTime", Old: "h.w.Clock.Now().Before(h.stop())", New: "true"},
	{Name: "P25-late-start-inside-the-skew", File: handling, Func: "handling.stop", Old: "Add(-h.req.ClockSkew)", New: "Add(0)"},
	{Name: "P25-late-answer-is-sent", File: answer, Func: "handling.answer", Old: "case left <= 0:", New: "case false:"},
	{Name: "P25-late-retry-is-made", File: handling, Func: "handling.once", Old: "if !h.inTime() {", New: "if false {"},
	{Name: "P25-a-call-may-last-past-stop-by", File: handling, Func: "handling.limit", Old: "limit = min(limit, h.stop().Sub(now))", New: "_ = now"},
	{Name: "P6-a-call-may-last-longer-than-its-timeout", File: handling, Func: "handling.limit", Old: "limit := h.req.Timeout.Std()", New: "limit := h.stop().Sub(now)"},
	{Name: "P13-request-is-deleted-without-its-reply", File: answer, Func: "handling.answer", Old: "return w.giveBack(afterUnsent)", New: "return gone"},
	{Name: "I19-unreadable-request-is-dropped", File: engine, Func: "Worker.quarantine", Old: "return w.giveBack(afterUnsent)", New: "return gone"},
	{Name: "P3-reply-is-of-the-first-attempt", File: answer, Func: "handling.reply", Old: "Attempt: r.Attempt", New: "Attempt: 1"},
	{Name: "P32-wait-is-not-told", File: answer, Func: "handling.reply", Old: "if r.ClaimedAt != 0 {", New: "if false {"},
	{Name: "P3-wait-is-negative", File: answer, Func: "handling.reply", Old: "max(0, core.TimeOf(h.received).Sub(r.ClaimedAt))", New: "core.TimeOf(h.received).Sub(r.ClaimedAt)"},
	{Name: "P24-no-check-before-a-second-attempt", File: handling, Func: "handling.checked", Old: "(h.req.Attempt > 1 || h.doubt != nil)", New: "h.doubt != nil"},
	{Name: "P24-no-check-before-an-own-retry", File: handling, Func: "handling.checked", Old: "(h.req.Attempt > 1 || h.doubt != nil)", New: "h.req.Attempt > 1"},
	{Name: "P28-output-of-any-size", File: handling, Func: "encode", Old: "if len(out) > MaxOutput {", New: "if false {"},
	{Name: "P28-output-of-any-depth", File: handling, Func: "encode", Old: "nesting.Check(out)", New: "nesting.Check(nil)"},
	{Name: "I13-a-shutdown-is-a-failure", File: handling, Func: "handling.run", Old: "h.failed != nil && errors.Is(ctx.Err(), context.Canceled) && !h.failed.Permanent", New: "false"},
	{Name: "P31-plain-without-a-ledger", File: handling, Func: "handling.run", Old: "h.req.Grade == core.Plain && w.Ledger == nil", New: "false"},
	{Name: "P31-plain-own-retry-without-proof", File: handling, Func: "handling.judge", Old: "t.again = false // nobody can be asked, and it must not be called again", New: "_ = 0"},

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
	{Name: "P31-fact-is-applied-again", File: ledger, Func: "enter", Old: "fact.Command > e.Command", New: "fact.Command >= e.Command"},
	{Name: "P31-fact-is-ignored", File: ledger, Func: "enter", Old: "if fact != nil && fact.Command > e.Command {", New: "if false {"},
	{Name: "P31-stranger-withdraws-a-call", File: ledger, Func: "leave", Old: "case e.State != StateStarted || !mine:", New: "case e.State != StateStarted:"},
	{Name: "I8-refused-undo-counts-as-undone", File: ledger, Func: "leave", Old: "next.State = StateDone // the do stands as before", New: "next.State = StateFenced"},
	{Name: "P31-failure-without-proof-frees-the-key", File: plain, Func: "outcomeOf", Old: "return unknown", New: "return withdrawn"},
	{Name: "P31-refusal-without-proof-is-kept", File: plain, Func: "outcomeOf", Old: "return unknown", New: "return refused"},
	{Name: "P31-called-before-the-ledger-has-it", File: plain, Func: "handling.enter", Old: "if !errors.Is(err, port.ErrConflict) {", New: "if !errors.Is(err, port.ErrConflict) {\n\t\t\treturn next, do, nil"},
	{Name: "P31-lost-move-calls-all-the-same", File: plain, Func: "handling.enter", Old: "err = h.store(ctx, next)", New: "if err = h.store(ctx, next); errors.Is(err, port.ErrConflict) { err = nil }"},
	{Name: "P31-a-slow-ledger-leaves-doubt", File: plain, Func: "handling.store", Old: "context.WithoutCancel(ctx)", New: "ctx"},
	{Name: "P31-called-when-the-time-is-over", File: plain, Func: "handling.plain", Old: " || ctx.Err() != nil", New: ""},
	{Name: "P31-outcome-is-not-written", File: plain, Func: "handling.plain", Old: "h.leave(ctx, happened, out, Failure{})", New: ""},
	{Name: "P31-check-is-believed-of-what-never-began", File: plain, Func: "handling.inDoubt", Old: "(do == sayNothing || h.undoBegun(ctx))", New: "true"},
	{Name: "P25-plain-call-after-a-slow-ledger", File: plain, Func: "handling.plain", Old: "if !h.inTime() || h.hurried() || ctx.Err() != nil {", New: "if ctx.Err() != nil {"},
	{Name: "P32-plain-call-without-its-time", File: plain, Func: "handling.plain", Old: " || h.hurried() || ctx.Err() != nil", New: " || ctx.Err() != nil"},
	{Name: "P31-the-ledger-takes-the-time-of-the-call", File: handling, Func: "handling.limit", Old: "limit += ledgerTime", New: "_ = 0"},
}
