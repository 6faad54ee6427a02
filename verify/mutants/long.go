package mutants

const progressFile, deferredFile, reporterFile = "shared/core/progress.go", "functions/agent/worker/deferred.go", "functions/agent/worker/progress.go"

// ofLongWork are mutants of progress and deferred replies (P43).
var ofLongWork = []Mutant{
	{Name: "P43-progress-passes-stopby", File: progressFile, Func: "deciding.progressed", Old: "min(until, s.StopBy)", New: "until"},
	{Name: "P43-progress-moves-stopby", File: progressFile, Func: "deciding.progressed", Old: "s.CompleteBy = latest(", New: "s.StopBy = until\n\ts.CompleteBy = latest("},
	{Name: "P43-progress-takes-time-away", File: progressFile, Func: "deciding.progressed", Old: "latest(s.CompleteBy, min(until, s.StopBy))", New: "min(until, s.StopBy)"},
	{Name: "P43-every-report-is-stored", File: progressFile, Func: "deciding.progressed", Old: "s.Progress != nil && r.at.Now <", New: "false && r.at.Now <"},
	{Name: "P43-reports-of-short-timeouts-are-dropped", File: progressFile, Func: "deciding.progressed", Old: "min(progressInterval, r.timeout(i)/4)", New: "progressInterval"},
	{Name: "P43-a-report-hides-what-is-deferred-after-it", File: progressFile, Func: "deciding.progressed", Old: " && e.Until <= s.CompleteBy.Add(interval)", New: ""},
	{Name: "P43-progress-after-stopby", File: progressFile, Func: "deciding.progressed", Old: "passed(s.StopBy, r.at.Now)", New: "false"},
	{Name: "P43-progress-of-any-step", File: progressFile, Func: "deciding.progressed", Old: "e.Operation != Do || !r.long(i)", New: "false"},
	{Name: "P43-until-is-ignored", File: progressFile, Func: "deciding.progressed", Old: "until := e.Until", New: "until := Time(0)"},
	{Name: "P43-death-is-found-at-stopby", File: progressFile, Func: "deciding.firstCompleteBy", Old: "if !r.long(i) {", New: "if s != nil {"},
	{Name: "P43-a-long-undo", File: progressFile, Func: "deciding.long", Old: " && !r.t.Steps[i].Undo", New: ""},
	{Name: "P43-progress-of-the-last-attempt-stays", File: "shared/core/reply.go", Func: "Step.release", Old: "0, 0, nil", New: "0, 0, s.Progress"},
	{Name: "P43-progress-of-the-do-is-shown-in-its-undo", File: "shared/core/kind_call.go", Func: "deciding.takeCall", Old: ", nil\n", New: ", s.Progress\n"},
	{Name: "P43-what-has-reported-is-in-a-queue", File: "shared/core/overdue.go", Func: "deciding.doOverdue", Old: "e.Backlog && s.Progress == nil", New: "e.Backlog"},
	{Name: "P43-progress-status-is-never-sent", File: progressFile, Func: "deciding.progressed", Old: "if r.notifies(StatusProgress) {", New: "if false {"},
	{Name: "P43-a-long-note-is-kept", File: progressFile, Func: "ShortNote", Old: "note[:min(len(note), MaxNote)]", New: "note"},
	{Name: "P43-a-plain-service-works-long", File: "shared/workflow/source/meaning.go", Func: "builder.long", Old: "s.Grade == core.Plain || s.PointOfNoReturn", New: "s.PointOfNoReturn"},
	{Name: "P43-an-undo-reports", File: "shared/message/codec.go", Func: "Reply.checkProgress", Old: "case m.Operation != core.Do:", New: "case false:"},
	{Name: "P43-another-agents-progress-counts", File: "functions/scheduler/sender.go", Func: "Scheduler.notAsked", Old: "case core.Progress: // P43\n\t\tstep = e.Step", New: "case core.Progress:"},
	{Name: "P43-silence-is-no-end", File: reporterFile, Func: "handling.watched", Old: "cancel(errNoProgress)", New: "_ = cancel"},
	{Name: "P43-a-report-gives-no-time", File: reporterFile, Func: "reporter.report", Old: "r.ending.Reset(r.timeout)", New: ""},
	{Name: "P43-every-report-is-sent", File: reporterFile, Func: "reporter.report", Old: "min(progressInterval, r.timeout/3)", New: "0"},
	{Name: "P43-a-failed-report-is-hidden", File: reporterFile, Func: "reporter.report", Old: "err != nil {\n\t\treturn err", New: "err != nil {\n\t\treturn nil"},
	{Name: "P43-any-call-is-deferred", File: deferredFile, Func: "handling.long", Old: "h.req.MaxDuration > h.req.Timeout", New: "h.req.Timeout > 0"},
	{Name: "P43-deferred-past-its-stop", File: deferredFile, Func: "handling.defers", Old: "min(report.Until, core.TimeOf(now.Add(h.deferred.within)))", New: "0"},
	{Name: "P43-an-unsent-deferral-is-let-go", File: deferredFile, Func: "handling.defers", Old: "return w.nack(0)", New: "return ack"},
	{Name: "P43-a-late-reply-is-sent", File: deferredFile, Func: "Replies.send", Old: "!r.Clock.Now().Before(id.StopBy.Std())", New: "false"},
	{Name: "P43-a-deferred-failure-was-no-call", File: deferredFile, Func: "Replies.Failed", Old: "!f.Permanent && core.Uncounted(f.Code)", New: "false"},
}
