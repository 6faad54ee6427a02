package mutants

const (
	devRuntime        = "dev/embedded/runtime.go"
	devBackend        = "dev/embedded/backend.go"
	devAgents         = "dev/embedded/agents.go"
	devConsumer       = "dev/embedded/consumer.go"
	devHub            = "dev/embedded/hub.go"
	devFlows          = "dev/embedded/workflows.go"
	devQueues         = "dev/embedded/queues.go"
	regular           = "shared/regularfile/regularfile.go"
	supervisorWiring  = "functions/supervisor/bootstrap/wiring/wiring.go"
	supervisorMetrics = "functions/supervisor/bootstrap/wiring/metrics.go"
	schedulerWiring   = "functions/scheduler/bootstrap/wiring/wiring.go"
	engineWiring      = "functions/internal/cloud/engine.go"
	senderCheck       = "functions/scheduler/sender.go"
	onEvents          = "shared/lambdaevent/batch.go"
	agentOnLambda     = "functions/agent/onlambda/function.go"
)

// ofWiring are mutants of the wiring: Lambda mains and embedded mode.
var ofWiring = []Mutant{
	{Name: "P32-embedded-capacity-without-the-batch", File: devAgents, Func: "Runtime.capacity", Old: "a.concurrency * a.batch", New: "a.concurrency"},
	{Name: "P32-embedded-takes-more-than-it-may", File: devBackend, Func: "Runtime.submit", Old: "begin+limit-active", New: "begin+limit"},
	{Name: "P14-embedded-refuses-known-orders-while-busy", File: devBackend, Func: "Runtime.knownOrBusy", Old: "loaded[0].Task != nil", New: "loaded == nil"},
	{Name: "P32-embedded-supervisor-without-capacity", File: devRuntime, Func: "Runtime.wire", Old: "Capacity: s.capacity, Interval:", New: "Interval:"},
	{Name: "P27-embedded-takes-nothing-up-again", File: devRuntime, Func: "Open", Old: "s.scheduler.Restart(ctx)", New: "0, error(nil)"},
	{Name: "wiring-one-bad-task-stops-the-start", File: devRuntime, Func: "Open", Old: `s.log.Error("some tasks are not taken up again; the Supervisor tries when they are due", "error", err)`, New: "return nil, err"},
	{Name: "wiring-close-cuts-calls-off", File: devAgents, Func: "Runtime.wireAgents", Old: "Drain: drainTime", New: "Drain: 1"},
	{Name: "wiring-ready-while-it-closes", File: devRuntime, Func: "Runtime.Close", Old: "s.ready.Store(false)", New: ""},
	{Name: "wiring-nothing-expires", File: devRuntime, Func: "Runtime.start", Old: "\"the removal of expired orders\": s.expire,", New: ""},
	{Name: "wiring-expires-at-the-start-alone", File: devRuntime, Func: "Runtime.expire", Old: "default:\n\t\t\t_ = port.Sleep(ctx, expireEvery)", New: "default:\n\t\t\treturn"},
	{Name: "wiring-keep-is-dropped", File: devRuntime, Func: "Runtime.wire", Old: ", Keep: s.options.Keep", New: ""},
	{Name: "wiring-ready-on-a-damaged-file", File: devBackend, Func: "Runtime.Health", Old: "err.Error(), false", New: "err.Error(), h.Ready"},
	{Name: "wiring-readiness-asks-no-write", File: devBackend, Func: "Runtime.Health", Old: "err := s.store.Probe(); err != nil", New: "err := ctx.Err(); err != nil"},
	{Name: "wiring-failed-messages-are-deleted", File: devConsumer, Func: "consumer.finish", Old: "bad[receipt] = true", New: "bad[receipt] = false"},
	{Name: "wiring-active-orders-are-not-counted", File: devHub, Func: "hub.count", Old: "h.active[t.OrderID] = max(h.active[t.OrderID], t.Version)", New: ""},
	{Name: "wiring-orders-from-before-a-restart-take-no-place", File: devRuntime, Func: "Runtime.wire", Old: ", Restarted: s.hub.restarted", New: ""},
	{Name: "wiring-orders-that-wait-take-places", File: devHub, Func: "hub.count", Old: "&& !core.OnlyWaits(t)", New: ""},
	{Name: "wiring-orders-to-be-repeated-take-no-place", File: "shared/core/index.go", Func: "OnlyWaits", Old: "s.InFlight() || waiting(s)", New: "s.InFlight()"},
	{Name: "wiring-schedules-wait-for-a-place", File: devBackend, Func: "Runtime.startScheduled", Old: "math.MaxInt32", New: "min(math.MaxInt32, s.options.MaxOpen)"},
	{Name: "wiring-dev-ends-with-the-reader-of-its-output", File: "cmd/stepkeeper/internal/cli/dev.go", Func: "outliveReaders", Old: "signal.Notify(unread, syscall.SIGPIPE)", New: ""},
	{Name: "wiring-dev-does-not-say-that-its-line-is-lost", File: "cmd/stepkeeper/internal/cli/dev.go", Func: "App.warnUnprinted", Old: "err != nil", New: "err != nil && a == nil"},
	{Name: "wiring-a-part-that-panics-stands-still", File: "shared/port/guard.go", Func: "Always", Old: "err == nil || Sleep(ctx, alwaysPause) != nil", New: "err == nil || Sleep(ctx, alwaysPause) == nil"},
	{Name: "wiring-a-panic-is-not-counted", File: "shared/port/guard.go", Func: "Guard", Old: "panics.Add(1)", New: ""},
	{Name: "wiring-a-write-that-panics-is-committed", File: sqlCommitter, Func: "committer.transact", Old: "return c.abort(err)\n\t}\n\tif _, err := c.writer.commit", New: "_ = err\n\t}\n\tif _, err := c.writer.commit"},
	{Name: "wiring-a-stream-without-answers-after-a-panic", File: "dev/api/stream.go", Func: "group.fail", Old: "g.results[i].Error = lineError(err)", New: "_ = err"},
	{Name: "wiring-a-version-is-missed-while-another-is-loaded", File: devHub, Func: "hub.present", Old: "changes, stop = h.watch(id)\n\tif t, err = load(); err != nil {", New: "t, err = load()\n\tchanges, stop = h.watch(id)\n\tif err != nil {"},
	{Name: "wiring-no-version-wakes", File: devHub, Func: "hub.committed", Old: "ch <- newest", New: "_ = newest"},
	{Name: "wiring-messages-of-a-receiver-that-hung-up-stay-hidden", File: "dev/sqsproto/receive.go", Func: "receiveMessage", Old: "if c.ctx.Err() != nil {", New: "if c.ctx.Err() != nil && len(deliveries) == 0 {"},
	{Name: "wiring-receipts-can-be-guessed", File: "dev/sqsproto/receipt.go", Func: "handler.receiptOf", Old: "err != nil || !hmac.Equal(mac, h.mac(queue, receipt))", New: "err != nil && !hmac.Equal(mac, h.mac(queue, receipt))"},
	{Name: "wiring-receipts-of-other-queues", File: "dev/sqsproto/receipt.go", Func: "handler.mac", Old: "m := hmac.New", New: "queue = \"\"\n\tm := hmac.New"},
	{Name: "wiring-receipts-end-with-the-process", File: "dev/embedded/run.go", Func: "Run", Old: "ReceiptKey: s.tokens.Derive(\"receipt handles of SQS\")", New: ""},
	{Name: "wiring-receipts-of-an-earlier-process", File: devQueues, Func: "newQueues", Old: ", First: first", New: ", First: first - first"},
	{Name: "wiring-a-full-intake-is-healthy", File: devBackend, Func: "Runtime.intake", Old: "active < int64(s.options.MaxOpen)", New: "active >= 0"},
	{Name: "wiring-broken-file-drops-its-workflow", File: devFlows, Func: "workflows.refused", Old: "next.byName[name], next.fileOf[name] = old.byName[name], file", New: "_ = name"},
	{Name: "wiring-second-file-replaces-a-workflow", File: "shared/workflow/source/load.go", Func: "LoadDir", Old: "files[i].Definition = nil\n", New: ""},
	{Name: "wiring-refused-file-is-counted", File: "dev/embedded/workflows.go", Func: "workflows.served", Old: "len(w.now.Load().byName)", New: "len(w.infos())"},
	{Name: "P40-calls-of-children-do-not-count", File: "workflowtest/run.go", Func: "Run.below", Old: "r.task.Parent.OrderID == other.id", New: "false"},
	{Name: "wiring-messages-die-after-three-receives", File: devQueues, Func: "newQueues", Old: "MaxReceives: maxReceives", New: "MaxReceives: 3"},
	{Name: "wiring-failed-messages-come-back-at-once", File: devConsumer, Func: "consumer.finish", Old: "d.Backoff(visibility)", New: "0"},
	{Name: "P45-overtaken-refusals-alert-again", File: "dev/embedded/uncalled.go", Func: "uncalled.replied", Old: "(!ever || now.Sub(worked) > settling)", New: "(!ever || now.Sub(worked) >= 0)"},
	{Name: "P45-not-yet-does-not-show-that-a-service-works", File: "dev/embedded/uncalled.go", Func: "uncalled.replied", Old: "(r.Outcome != core.OutcomeRetryLater || r.Code == core.CodeNotYet)", New: "r.Outcome != core.OutcomeRetryLater"},
	{Name: "P45-not-yet-alarms", File: "functions/scheduler/bootstrap/wiring/metrics.go", Func: "notCalled.replied", Old: "!core.Uncalled(r.Code)", New: "!core.Uncounted(r.Code)"},
	{Name: "P45-each-refusal-alerts", File: "dev/embedded/uncalled.go", Func: "uncalled.replied", Old: "was.reported = true", New: "was.reported = false"},
	{Name: "P45-metric-is-written-with-each-batch", File: "functions/scheduler/bootstrap/wiring/metrics.go", Func: "notCalled.write", Old: "n.count = nil", New: ""},
	{Name: "P12a-embedded-deletes-past-the-visibility", File: devConsumer, Func: "consumer.run", Old: "p.clock.Now().Sub(begun) < visibility", New: "p.clock.Now().Sub(begun) >= 0"},
	{Name: "wiring-handled-messages-are-not-deleted", File: devConsumer, Func: "consumer.finish", Old: "if len(done) == 0 {", New: "if len(done) >= 0 {"},
	{Name: "wiring-links-out-of-the-folder-are-followed", File: regular, Func: "ReadIn", Old: "read(name, limit, dir.Stat, dir.OpenFile)", New: "Read(dir.Name()+\"/\"+name, limit)"},
	{Name: "wiring-pipes-are-read", File: regular, Func: "check", Old: "case mode.IsRegular():", New: "case mode.IsRegular(), mode&fs.ModeNamedPipe != 0:"},
	{Name: "wiring-interval-is-dropped", File: supervisorWiring, Func: "New", Old: ", Interval: settings.SweepEvery", New: ""},
	{Name: "wiring-pages-are-dropped", File: supervisorWiring, Func: "New", Old: "PagesPerSweep: settings.PagesPerSweep, ", New: ""},
	{Name: "wiring-capacity-is-dropped", File: supervisorWiring, Func: "New", Old: "func(agent string) int { return settings.Capacity[agent] }", New: "nil"},
	{Name: "wiring-nothing-is-ever-overdue", File: supervisorMetrics, Func: "writeMetrics", Old: "r.OldestOverdue.Seconds()", New: "0"},
	{Name: "wiring-overdue-in-milliseconds", File: supervisorMetrics, Func: "writeMetrics", Old: "r.OldestOverdue.Seconds()", New: "r.OldestOverdue.Milliseconds()"},
	{Name: "wiring-metrics-without-deployment", File: supervisorMetrics, Func: "writeMetrics", Old: "deployment.MetricDeployment: name, deployment.MetricOldestOverdue:", New: "deployment.MetricDeployment: \"\", deployment.MetricOldestOverdue:"},
	{Name: "A17-metric-of-the-last-task", File: "functions/supervisor/decide.go", Func: "visit.Decide", Old: "max(w.report.OldestOverdue, j.At.Now.Sub(found.Due).Std())", New: "j.At.Now.Sub(found.Due).Std()"},
	{Name: "wiring-task-ttl-is-dropped", File: engineWiring, Func: "Open", Old: ", TTL: d.TaskTTL", New: ""},
	{Name: "wiring-shards-are-dropped", File: engineWiring, Func: "Open", Old: "Shards: d.Shards, ", New: ""},
	{Name: "wiring-commands-without-stack", File: engineWiring, Func: "options", Old: `return "--stack " + stack`, New: `return ""`},
	{Name: "wiring-senders-are-dropped", File: schedulerWiring, Func: "New", Old: "Senders: settings.Senders, ", New: ""},
	{Name: "wiring-fair-queues-are-dropped", File: schedulerWiring, Func: "New", Old: "FairQueues: settings.FairQueues, ", New: ""},
	{Name: "wiring-instance-without-name", File: "functions/internal/cloud/engine.go", Func: "Open", Old: "Name:   d.Instance,", New: ""},
	{Name: "wiring-foreign-messages-are-deleted", File: schedulerWiring, Func: "Handle", Old: "receipts = append(receipts, deliveries[i].Receipt)", New: "_ = i"},
	{Name: "wiring-secrets-are-never-renewed", File: "functions/agent/secrets/values.go", Func: "MaxAge", Old: "len(where) == 0", New: "len(where) >= 0"},
	{Name: "A30-given-back-is-hidden", File: onEvents, Func: "Batch", Old: "b.nack(ctx, queue, back, log)", New: ""},
	{Name: "A30-returned-one-by-one", File: "shared/port/extend.go", Func: "Extend", Old: "; ok {", New: "; ok && ctx == nil {"},
	{Name: "A30-a-wait-of-its-own-is-dropped", File: onEvents, Func: "Batch", Old: "if f.After <= 0 {", New: "if f.After >= 0 {"},
	{Name: "A30-given-back-after-the-context-ended", File: onEvents, Func: "batch.nack", Old: "context.WithoutCancel(ctx), Reserve/2", New: "context.WithoutCancel(ctx), 9*Reserve"},
	{Name: "A30-waits-past-the-visibility-timeout", File: "shared/port/extend.go", Func: "Delivery.Backoff", Old: "return min(wait, visibility)", New: "return wait"},
	{Name: "A30-comes-back-together", File: "shared/port/extend.go", Func: "Delivery.Backoff", Old: "wait += wait / 2 * time.Duration(sum.Sum32()%1000) / 1000", New: ""},
	{Name: "A30-waits-alike-each-time", File: "shared/port/extend.go", Func: "Delivery.Backoff", Old: "min(max(d.Received-1, 0), 20)", New: "0"},
	{Name: "wiring-requests-without-worker-are-deleted", File: agentOnLambda, Func: "Handle", Old: "verdicts := make([]worker.Verdict, len(deliveries)) // none is deleted", New: "var verdicts []worker.Verdict"},
	{Name: "P3-another-agents-name", File: senderCheck, Func: "Scheduler.notAsked", Old: `case it.from.agent != "" && !slices.Contains(asked, it.from.agent):`, New: "case false:"},
	{Name: "P3-another-agents-role", File: senderCheck, Func: "Scheduler.notAsked", Old: "case s.anothers(asked, it.from.role):", New: "case false:"},
	{Name: "P3-operators-cannot-redrive", File: senderCheck, Func: "Scheduler.anothers", Old: "}\nreturn false", New: "}\nreturn true"},
	{Name: "P3-unknown-roles-are-refused", File: senderCheck, Func: "Scheduler.anothers", Old: "len(s.cfg.Senders[a]) == 0 || ", New: ""},
	{Name: "P3-role-with-its-session", File: senderCheck, Func: "senderOf", Old: `role, _, _ := strings.Cut(d.Sender, ":")`, New: "role := strings.TrimSpace(d.Sender)"},
}
