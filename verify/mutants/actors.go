package mutants

const (
	handle     = "functions/scheduler/handle.go"
	scheduled  = "functions/scheduler/decide.go"
	learning   = "functions/scheduler/waits.go"
	looping    = "shared/engine/engine.go"
	jobs       = "shared/engine/job.go"
	restart    = "functions/scheduler/restart.go"
	submitting = "functions/scheduler/submit.go"
	submission = "shared/message/submit.go"
	sending    = "shared/engine/send.go"
	sweeping   = "functions/supervisor/supervisor.go"
	supervised = "functions/supervisor/decide.go"
)

const (
	timesFile  = "shared/schedule/next.go"
	recordFile = "shared/schedule/record.go"
	starting   = "functions/supervisor/schedule.go"
)

// ofActors are mutants of Scheduler and Supervisor, and of how both send.
var ofActors = []Mutant{
	// Scheduler: load, decide, commit, send, settle, delete.
	{Name: "P12a-a-fresh-copy-sends-again", File: looping, Func: "Job.ask", Old: "d.Ignored != \"\" && !asked && !j.emitsAgain()", New: "false"},
	{Name: "P12a-a-redelivery-is-a-fresh-copy", File: handle, Func: "Scheduler.read", Old: "Again: d.Received > 1", New: "Again: false"},
	{Name: "P5-an-application-sends-any-command", File: "shared/message/codec.go", Func: "IntakeOf", Old: "if !c.ForApplications() {", New: "if false {"},
	{Name: "P5-an-application-answers-without-a-token", File: "shared/message/envelope.go", Func: "Control.ForApplications", Old: "m.Kind == Answer && m.Token != \"\"", New: "m.Kind == Answer"},
	{Name: "P12a-settle-sends-nothing", File: looping, Func: "Job.decide", Old: "return j.ask(ctx, asked,", New: "return j.ask(ctx, asked && false,"},
	{Name: "P12a-own-write-that-was-lost-sends-nothing", File: looping, Func: "Engine.uncommitted", Old: "j.doubt = true", New: "_ = j.doubt"},
	{Name: "P12a-a-conflict-with-another-writer-sends", File: looping, Func: "Engine.uncommitted", Old: "case errors.Is(err, port.ErrConflict):\n\t\treturn true", New: "case errors.Is(err, port.ErrConflict):\n\t\tj.doubt = true\n\t\treturn true"},
	{Name: "P12a-follow-up-is-not-sent-again", File: looping, Func: "Job.Decide", Old: "err = j.followedBefore(ctx)", New: "err = nil"},
	{Name: "P12a-what-came-without-a-queue-is-dropped", File: submitting, Func: "Scheduler.carry", Old: "if s.cfg.Pause == nil {", New: "if try > 0 {"},
	{Name: "P39-the-sender-says-who-answers", File: scheduled, Func: "item.vouched", Old: "e.Run, e.Step, e.Name, e.By = of.Run, of.Step, \"\", cmp.Or(of.Person, core.ByToken)", New: "e.Run, e.Step, e.Name, e.By = of.Run, of.Step, \"\", cmp.Or(e.By, of.Person, core.ByToken)"},
	{Name: "P39-the-sender-says-the-run", File: scheduled, Func: "item.vouched", Old: "= of.Run, of.Step,", New: "= e.Run, of.Step,"},
	{Name: "P39-a-scheduler-without-keys-decides", File: scheduled, Func: "item.decide", Old: "case j.Definition != nil && j.Definition.Tokens && j.At.Tokens == nil:", New: "case false:"},
	{Name: "P39-a-new-key-is-not-known", File: scheduled, Func: "item.decide", Old: "!j.At.Tokens.Holds(j.Task.TokenKey)", New: "false"},
	{Name: "P39-keys-are-read-each-time", File: "functions/internal/renewed/value.go", Func: "Value.Read", Old: "now.Sub(v.at) < age", New: "now.Sub(v.at) < min(age, 0)"},
	{Name: "P39-keys-are-read-once", File: "functions/internal/renewed/value.go", Func: "Value.Read", Old: "now.Sub(v.at) < age", New: "age > 0"},
	{Name: "P39-an-outage-forgets-the-keys", File: "functions/internal/renewed/value.go", Func: "Value.Read", Old: "case !v.known:", New: "case age > 0:"},
	{Name: "P39-a-short-text-is-a-key", File: "shared/token/token.go", Func: "Parse", Old: ">= minGenerated", New: ">= 0"},
	{Name: "P49-batch-goes-on-by-the-old-definition", File: scheduled, Func: "item.decide", Old: "j.Definition = to.Definition", New: "_ = to"},
	{Name: "P49-latest-is-taken-for-a-hash", File: scheduled, Func: "item.aimed", Old: "it.moveTo == message.Latest)", New: "false)"},
	{Name: "P12a-a-copy-fills-the-status-queue", File: scheduled, Func: "item.answer", Old: "case it.direct && it.known && !it.Again:", New: "case false:"},
	{Name: "P12a-handed-over-again-as-new", File: "shared/lambdaevent/batch.go", Func: "batch.handle", Old: "d[0].Received = max(d[0].Received, 1) + 1", New: "_ = d[0].Received"},
	{Name: "P13-deleted-although-not-sent", File: sending, Func: "Engine.deliver", Old: "j.fail(j.unsent) // P12: its messages emit it again", New: "_ = j.unsent"},
	{Name: "I1-deleted-although-not-stored", File: looping, Func: "Engine.uncommitted", Old: "case errors.Is(err, port.ErrUnavailable):\n\t\tj.fail(err)", New: "case errors.Is(err, port.ErrUnavailable):"},
	{Name: "P12-doubtful-commit-counts-as-stored", File: looping, Func: "Engine.uncommitted", Old: `e.Logger.Warn("perhaps stored; looking", "order", j.ID, "error", err)`, New: "return false"},
	{Name: "P8-lost-commit-is-sent-all-the-same", File: looping, Func: "Engine.uncommitted", Old: "case errors.Is(err, port.ErrConflict):\n\t\treturn true", New: "case errors.Is(err, port.ErrConflict):\n\t\treturn false"},
	{Name: "P13-sent-before-the-commit", File: looping, Func: "Engine.attempt", Old: "for i, err := range e.State.Commit(ctx, changes) {", New: "e.deliver(ctx, changing)\n\tfor i, err := range e.State.Commit(ctx, changes) {"},
	{Name: "P13-later-messages-of-a-batch-are-dropped", File: looping, Func: "Job.accept", Old: "j.effects = append(j.effects, d.Effects...)", New: "j.effects = d.Effects"},
	{Name: "P11-settles-what-others-reported", File: sending, Func: "Engine.settle", Old: "j.failed || !j.settles {", New: "j.failed || j.Task == nil || j.Task.ResendAt == 0 {"},
	{Name: "P11-settles-although-not-sent", File: sending, Func: "Engine.settle", Old: "j.failed || !j.settles", New: "!j.settles"},
	{Name: "P11-never-settles", File: looping, Func: "Engine.Run", Old: "e.settle(ctx, jobs)", New: ""},
	{Name: "P27-restart-takes-one-page", File: restart, Func: "Scheduler.Restart", Old: "if len(due) < restartPage {", New: "if true {"},
	{Name: "P27-restart-takes-one-shard", File: restart, Func: "Scheduler.Restart", Old: "range store.Shards()", New: "range min(1, store.Shards())"},
	{Name: "P8-message-ahead-of-the-document-is-deleted", File: looping, Func: "Engine.decide", Old: "j.ahead(m.event)\n\t\t\tj.decided, m.Err = before, err", New: "j.ahead(m.event)\n\t\t\tj.decided = before"},
	{Name: "P8-stale-load-is-not-loaded-again", File: looping, Func: "Engine.decide", Old: "errors.Is(err, core.ErrStale) && !j.reread:", New: "false:"},
	{Name: "P28-document-too-large-comes-back-for-ever", File: looping, Func: "Engine.uncommitted", Old: "return e.refuseLarge(j, err)", New: "j.fail(err)\n\t\treturn false"},
	{Name: "P28-request-too-large-comes-back-for-ever", File: sending, Func: "Engine.deliver", Old: "if len(j.unsendable) > 0 {", New: "if false {"},
	{Name: "I19-log-of-a-message-without-its-step", File: looping, Func: "About", Old: "case core.Reply:\n\t\treturn append(about, \"step\", ev.Step", New: "case core.Reply:\n\t\treturn append(about, \"step\", \"\""},
	{Name: "I19-log-of-a-refused-submission-without-its-order", File: handle, Func: "item.about", Old: "id != \"\" {\n\t\t\treturn []any{", New: "false {\n\t\t\treturn []any{"},
	{Name: "I19-unreadable-message-is-dropped", File: handle, Func: "Scheduler.unreadable", Old: "it.Err = s.quarantine(ctx, queueName, d, it, err.Error())", New: ""},
	{Name: "I19-refusal-is-not-reported", File: handle, Func: "Scheduler.Handle", Old: "it.Err == nil && it.refusal != nil && !it.answered", New: "false"},
	{Name: "I19-refusal-that-was-not-sent-is-dropped", File: handle, Func: "Scheduler.unreadable", Old: "if it.Err != nil || it.answered", New: "if it.answered {\n\t\tit.Err = nil\n\t}\n\tif it.answered"},
	{Name: "I19-outage-is-an-unknown-reply-to", File: scheduled, Func: "item.reply", Old: "case errors.Is(err, port.ErrNotFound):", New: "case err != nil && it != nil:"},
	{Name: "I19-outage-refuses-an-order", File: scheduled, Func: "item.first", Old: "errors.Is(err, port.ErrNotFound) {", New: "err != nil {"},
	{Name: "I19-order-that-is-too-large-is-not-reported", File: submission, Func: "DecodeSubmit", Old: "return senderOf(data), refuse(CodeTooLarge", New: "return SubmitOrder{}, refuse(CodeTooLarge"},
	{Name: "I19-order-that-is-too-large-is-not-kept", File: handle, Func: "Scheduler.unreadable", Old: "it.answered && r.Code != message.CodeTooLarge", New: "it.answered"},
	{Name: "P13-message-is-deleted-although-its-follow-up-failed", File: jobs, Func: "Job.fail", Old: "for ; j != nil; j = j.parent {", New: "for ; j != nil; j = nil {"},
	{Name: "P13-answers-stand-at-other-places", File: submitting, Func: "Scheduler.Submit", Old: "of[i] = batch.Add(o.OrderID, items[i])", New: "of[len(batch.Jobs)] = batch.Add(o.OrderID, items[i])"},
	{Name: "P13-failed-send-is-that-of-another-order", File: sending, Func: "post.send", Old: "errs[j-start]", New: "errs[end-1-j]"},
	{Name: "P14-deadline-that-has-passed-is-taken", File: decide, Func: "start", Old: "if passed(e.Deadline, at.Now) {", New: "if false {"},
	{Name: "P14-accepted-order-is-refused-later", File: scheduled, Func: "item.Decide", Old: "case refusal != nil && it.submit != nil && j.Unseen:", New: "case false:"},
	{Name: "P14-expired-order-is-refused-for-its-deadline", File: looping, Func: "Engine.attempt", Old: "j.exists || j.Unseen", New: "j.exists"},
	{Name: "P18-resubmit-takes-a-deadline-that-has-passed", File: command, Func: "deciding.resubmitCommand", Old: "if passed(e.Deadline, r.at.Now) {", New: "if false {"},
	{Name: "P5-refused-command-is-not-reported", File: scheduled, Func: "item.answer", Old: "case it.control != nil && v != nil && !v.Accepted:", New: "case false:"},
	{Name: "P5-accepted-command-is-reported-as-refused", File: scheduled, Func: "item.answer", Old: "v != nil && !v.Accepted:", New: "v != nil:"},
	{Name: "P8-message-ahead-of-the-document-is-silent", File: looping, Func: "Engine.decide", Old: "j.ahead(m.event)", New: ""},
	{Name: "P27-restart-swallows-what-failed", File: restart, Func: "Scheduler.Restart", Old: "errs = append(errs, err)\n\t\t\t}\n", New: "_ = errs\n\t\t\t}\n"},
	{Name: "P27-restart-counts-what-failed", File: restart, Func: "Scheduler.restart", Old: "case failed == nil:", New: "case true:"},
	{Name: "I18-step-finished-outnumbers-failed", File: reply, Func: "deciding.finish", Old: "if r.t.ProcessState != Error {", New: "if true {"},
	{Name: "I18-step-finished-in-error-is-never-reported", File: command, Func: "deciding.resume", Old: "s.State == Processed && s.FinishSeq == 0", New: "false"},
	{Name: "P14-priority-is-taken-in-silence", File: "shared/message/submit.go", Func: "Notes", Old: "if priority != PriorityHigh {", New: "if true {"},
	{Name: "P14-expired-order-is-answered-unavailable", File: scheduled, Func: "item.first", Old: "if j.Expired {", New: "if false {"},
	{Name: "P26-order-without-a-task-is-not-noticed", File: looping, Func: "Engine.load", Old: "err == nil && j.loaded == nil && j.exists", New: "false"},
	{Name: "P14-unknown-reply-to-is-taken", File: scheduled, Func: "item.first", Old: `if o.ReplyTo != "" {`, New: "if false {"},
	{Name: "P32-waits-are-not-remembered", File: learning, Func: "item.learn", Old: "s.cfg.Waits.learn(l.agent, l.wait)", New: ""},
	{Name: "P44-waits-are-learnt-of-the-first-agent", File: learning, Func: "item.teaches", Old: "d.AskedAgent(s)", New: "d.Agent"},
	{Name: "P44-lengths-of-queues-do-not-count", File: "shared/core/kind_call.go", Func: "deciding.expectedWait", Old: "+r.at.Queues[agent]", New: ""},
	{Name: "P44-queues-are-asked-for-each-batch", File: "functions/scheduler/lengths.go", Func: "lengths.due", Old: " || now.Sub(at) >= lengthEvery", New: " || true"},
	{Name: "P44-queues-are-asked-once", File: "functions/scheduler/lengths.go", Func: "lengths.due", Old: " || now.Sub(at) >= lengthEvery", New: ""},
	{Name: "P44-capacity-does-not-count", File: "functions/scheduler/lengths.go", Func: "Scheduler.measure", Old: "max(s.cfg.Capacity(agent), 1)", New: "1"},
	{Name: "P44-a-silent-queue-is-empty", File: "functions/scheduler/lengths.go", Func: "Scheduler.measure", Old: "continue", New: ""},
	{Name: "P44-only-the-first-agent-may-reply", File: "functions/scheduler/sender.go", Func: "Scheduler.notAsked", Old: ".AllAgents()", New: ".AllAgents()[:1]"},
	{Name: "P44-backlog-of-the-first-agent-counts", File: "functions/supervisor/decide.go", Func: "sweep.backlog", Old: "def.Steps[i].AskedAgent(st)", New: "def.Steps[i].Agent"},
	{Name: "P44-the-first-agent-is-shown", File: "shared/view/task.go", Func: "stepOf", Old: "def.AskedAgent(s)", New: "def.Agent"},
	{Name: "P32-follow-ups-know-no-waits", File: looping, Func: "Engine.decide", Old: "if e.Waits != nil {", New: "if _, follows := m.Decider.(*tooLong); e.Waits != nil && !follows {"},
	{Name: "P32-replies-that-change-nothing-teach", File: scheduled, Func: "item.Decide", Old: "d.Changed {", New: "true {"},
	{Name: "P32-replies-that-are-given-back-teach", File: handle, Func: "Scheduler.Handle", Old: "\t\t} else {\n\t\t\tit.learn()\n\t\t}", New: "\t\t}\n\t\tit.learn()"},
	{Name: "P32-waits-are-learnt-without-a-lock", File: learning, Func: "Waits.learn", Old: "w.mu.Lock()\n\tdefer w.mu.Unlock()", New: ""},
	{Name: "P32-older-attempts-teach", File: learning, Func: "item.teaches", Old: "s.Attempt == r.Attempt", New: "true"},
	{Name: "P32-a-wait-longer-than-the-claim-is-old-is-learnt", File: learning, Func: "item.teaches", Old: "min(it.waited, ", New: "max(it.waited, 0*"},
	{Name: "P32-what-was-learnt-stays", File: learning, Func: "Wait.At", Old: "w.Waited >> (max(0, now.Sub(w.Learnt)) / core.Minute)", New: "w.Waited"},
	{Name: "P32-waits-of-replies-are-not-learnt", File: handle, Func: "Scheduler.decode", Old: "r.Waited+s.inQueue(d)", New: "r.Waited"},
	{Name: "P32-a-reply-that-was-given-back-is-learnt-from", File: handle, Func: "Scheduler.inQueue", Old: " || d.Received > 1", New: ""},
	{Name: "I1-lost-create-is-refused", File: looping, Func: "Engine.uncommitted", Old: "j.exists, j.Unseen = true, false\n\t\treturn true", New: "j.fail(err)\n\t\treturn false"},

	// Sending.
	{Name: "I19-failed-alert-is-forgotten", File: sending, Func: "post.alert", Old: `p.fail(i, fmt.Errorf("raise the alert of task %q: %w", a.OrderID, err))`, New: "_ = fmt.Errorf"},
	{Name: "P13-failed-send-is-forgotten", File: sending, Func: "post.unsent", Old: `p.fail(l.job, fmt.Errorf("send: %w", err))`, New: "_ = fmt.Errorf"},
	{Name: "P11-status-goes-before-its-alert", File: sending, Func: "post.add", Old: "if p.jobs[i].unsent == nil {", New: "if true {"},
	{Name: "P9a-wake-of-a-long-wait-is-sent", File: sending, Func: "post.delay", Old: "d <= port.MaxDelay", New: "true"},
	{Name: "P9a-wake-comes-at-once", File: sending, Func: "post.delay", Old: "return d, d <= port.MaxDelay", New: "return 0, d <= port.MaxDelay"},
	{Name: "P9a-wake-comes-before-its-time", File: sending, Func: "post.delay", Old: " + p.sender.WakeSlack", New: ""},
	{Name: "P13-second-batch-is-not-sent", File: sending, Func: "post.send", Old: "start += port.MaxBatch", New: "start += len(r.messages)"},
	{Name: "P28-status-too-large-comes-back-for-ever", File: sending, Func: "post.unsent", Old: "err = sendShort(ctx, r.queue, e.Status); err == nil", New: "_ = e; false"},

	// Supervisor: look, decide, commit, send, settle or push.
	{Name: "P16-lost-commit-of-a-sweep-is-sent", File: looping, Func: "Engine.store", Old: `j.fail(fmt.Errorf("%w: %w", ErrLost, j.lost))`, New: "_ = j.lost"},
	{Name: "P11-sweep-settles-what-it-did-not-report", File: looping, Func: "Engine.decide", Old: "j.settles = core.Settles(j.Definition, j.Task, j.effects)", New: "j.settles = j.Task.ResendAt != 0"},
	{Name: "P11-sweep-settles-although-not-sent", File: sending, Func: "Engine.settle", Old: "if j.failed || !j.settles {", New: "if !j.settles || j.failed && !j.Stored {"},
	{Name: "P11-sweep-never-settles", File: looping, Func: "Engine.decide", Old: "j.settles = core.Settles(j.Definition, j.Task, j.effects)", New: "j.settles = false"},
	{Name: "P10-due-is-never-pushed", File: supervised, Func: "visit.Decide", Old: "if j.Task == found && j.Push() {", New: "if false {"},
	{Name: "P32-no-backlog-is-seen", File: supervised, Func: "sweep.waiting", Old: "depth.Visible+depth.InFlight > capacity", New: "depth.Visible > capacity && false"},
	{Name: "P32-every-queue-is-a-backlog", File: supervised, Func: "sweep.waiting", Old: "depth.Visible+depth.InFlight > capacity", New: "depth.Visible >= 0"},
	{Name: "P32-a-reply-that-waits-is-a-failure", File: supervised, Func: "sweep.backlog", Old: "return w.waiting(ctx, port.Replies, Scheduler)", New: "return false, nil"},
	{Name: "P32-the-scheduler-is-asked-again-and-again", File: supervised, Func: "sweep.asked", Old: "return w.waiting(ctx, port.Control, Scheduler)", New: "return false, nil"},
	{Name: "P32-what-the-agent-has-in-hand-is-a-backlog", File: supervised, Func: "sweep.waiting", Old: "depth.Visible+depth.InFlight > capacity", New: "depth.Visible > capacity || depth.InFlight > 0"},
	{Name: "P32-what-is-hidden-does-not-wait", File: supervised, Func: "sweep.waiting", Old: "depth.Visible+depth.InFlight > capacity", New: "depth.Visible > capacity"},
	{Name: "P32-what-is-delayed-waits", File: supervised, Func: "sweep.waiting", Old: "depth.Visible+depth.InFlight > capacity", New: "depth.Visible+depth.InFlight+depth.Delayed > capacity"},
	{Name: "P16-first-overdue-step-only", File: supervised, Func: "visit.Decide", Old: "for _, ev := range events {", New: "for _, ev := range events[:min(1, len(events))] {"},
	{Name: "I5-sweep-looks-at-one-page", File: sweeping, Func: "sweep.shard", Old: "if len(due) < w.cfg.PageSize {", New: "if true {"},
	{Name: "I5-sweep-looks-at-one-shard", File: sweeping, Func: "Supervisor.Sweep", Old: "shard := (first + i) % shards", New: "shard := (first + i - i) % shards"},
	{Name: "I5-sweep-begins-at-the-same-shard", File: sweeping, Func: "Supervisor.first", Old: "int((n + int64(shards)) % int64(shards))", New: "int(n * 0)"},
	{Name: "P16-leases-are-not-looked-at", File: sweeping, Func: "sweep.shard", Old: "if !ours {", New: "if false {\n\t\t_ = ours"},
	{Name: "P32-missing-queue-stops-handing-back", File: supervised, Func: "sweep.waiting", Old: "errors.Is(err, port.ErrNotFound):", New: "errors.Is(err, port.ErrNotFound) && w == nil:"},
	{Name: "I5-oldest-overdue-is-the-last", File: supervised, Func: "visit.Decide", Old: "max(w.report.OldestOverdue, j.At.Now.Sub(found.Due).Std())", New: "j.At.Now.Sub(found.Due).Std()"},
	{Name: "P16-lease-outlives-its-tick", File: sweeping, Func: "New", Old: " || cfg.LeaseTTL >= cfg.Interval", New: ""},
	{Name: "P16-lease-lasts-a-whole-tick", File: sweeping, Func: "New", Old: "cfg.LeaseTTL = cfg.Interval / 2", New: "cfg.LeaseTTL = cfg.Interval"},
	{Name: "P16-lost-commit-of-a-sweep-is-a-fault", File: sweeping, Func: "sweep.page", Old: "errors.Is(err, port.ErrConflict) || ", New: ""},
	{Name: "I5-a-bad-document-ends-the-sweep", File: sweeping, Func: "sweep.page", Old: "w.fault(due[i].ID, err)", New: "return"},

	// Schedules.
	{Name: "schedule-second-of-the-doubled-hour", File: timesFile, Func: "Times.instant", Old: "at.Before(first)", New: "at.After(first)"},
	{Name: "schedule-gap-runs-an-hour-late", File: timesFile, Func: "Times.instant", Old: "_, end := beforeGap.In(s.loc).ZoneBounds()", New: "end := beforeGap.Add(time.Hour)"},
	{Name: "schedule-interval-pauses-in-the-doubled-hour", File: timesFile, Func: "Times.Next", Old: "if s.interval {", New: "if false {"},
	{Name: "schedule-change-itself-is-left-out", File: timesFile, Func: "Times.nextShown", Old: "return change, nil", New: "_ = change"},
	{Name: "schedule-sunday-is-no-seven", File: "shared/schedule/expression.go", Func: "parse", Old: "given[dayOfWeek] = daysOfWeek(given[dayOfWeek])", New: ""},
	{Name: "schedule-minutes-are-no-interval", File: "shared/schedule/expression.go", Func: "parse", Old: "wild(given[0]) || wild(given[1])", New: "wild(given[1])"},
	{Name: "schedule-order-that-cannot-be-read-has-ended", File: starting, Func: "sweep.busy", Old: "return \"whether the order before, \" + s.OrderID + \", has ended could not be read\"", New: "return \"\""},
	{Name: "schedule-doubled-hour-runs-twice", File: timesFile, Func: "Times.Next", Old: "at.After(after)", New: "true"},
	{Name: "schedule-begins-in-the-past", File: recordFile, Func: "Record.Decide", Old: "next(now)", New: "next(now.Add(-core.Hour))"},
	{Name: "schedule-old-expression-stays", File: recordFile, Func: "Record.Decide", Old: "r.Cron != s.Cron || r.Zone != s.Zone || r.Next == 0", New: "r.Next == 0"},
	{Name: "schedule-any-lateness-is-caught-up", File: recordFile, Func: "Record.skips", Old: "late > s.CatchUp", New: "false"},
	{Name: "schedule-overlaps-are-not-skipped", File: recordFile, Func: "Record.skips", Old: "s.Overlap == core.OverlapSkip", New: "false"},
	{Name: "schedule-order-without-its-time", File: recordFile, Func: "Order", Old: `fields["scheduledTime"], _ =`, New: "_, _ ="},
	{Name: "schedule-sent-before-it-is-stored", File: starting, Func: "sweep.start", Old: "if changed {", New: "if err := w.handOver(ctx, def.Schedule, &e, &r); err != nil {\nreturn err\n}\nif changed {"},
	{Name: "schedule-lost-start-is-not-sent-again", File: starting, Func: "sweep.handOver", Old: "unsent[i].Sent = err == nil", New: "unsent[i].Sent = true"},
	{Name: "schedule-order-in-the-queue-has-ended", File: starting, Func: "sweep.busy", Old: "l.Task == nil && now.Sub(s.Decided) > takeTime", New: "l.Task == nil"},
	{Name: "schedule-order-under-way-has-ended", File: starting, Func: "sweep.busy", Old: "l.Task.Terminal()", New: "true"},
}
