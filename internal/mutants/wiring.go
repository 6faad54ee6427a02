package mutants

const (
	supervisorWiring  = "functions/supervisor/bootstrap/wiring/wiring.go"
	supervisorMetrics = "functions/supervisor/bootstrap/wiring/metrics.go"
	schedulerWiring   = "functions/scheduler/bootstrap/wiring/wiring.go"
	engineWiring      = "functions/internal/cloud/engine.go"
	senderCheck       = "functions/scheduler/sender.go"
	agentOnLambda     = "functions/agent/onlambda/function.go"
)

// ofWiring are mutants of the wiring: Lambda mains and embedded mode.
var ofWiring = []Mutant{
	{Name: "wiring-one-sweep-a-tick", File: supervisorWiring, Func: "New", Old: "Every: settings.SweepEvery", New: "Every: 0"},
	{Name: "wiring-interval-is-dropped", File: supervisorWiring, Func: "New", Old: ", Interval: settings.SweepEvery", New: ""},
	{Name: "wiring-pages-are-dropped", File: supervisorWiring, Func: "New", Old: "PagesPerSweep: settings.PagesPerSweep, ", New: ""},
	{Name: "wiring-capacity-is-dropped", File: supervisorWiring, Func: "New", Old: "func(agent string) int { return settings.Capacity[agent] }", New: "nil"},
	{Name: "wiring-lease-of-ten-minutes", File: supervisorWiring, Func: "New", Old: "LeaseTTL: leaseTTL", New: "LeaseTTL: 10 * time.Minute"},
	{Name: "wiring-nothing-is-ever-overdue", File: supervisorMetrics, Func: "writeMetrics", Old: "r.OldestOverdue.Seconds()", New: "0"},
	{Name: "wiring-overdue-in-milliseconds", File: supervisorMetrics, Func: "writeMetrics", Old: "r.OldestOverdue.Seconds()", New: "r.OldestOverdue.Milliseconds()"},
	{Name: "wiring-metrics-of-nobody", File: supervisorMetrics, Func: "writeMetrics", Old: "Dimension:     deployment,", New: "Dimension: \"\","},
	{Name: "A17-metric-of-the-last-task", File: "functions/supervisor/decide.go", Func: "sweep.fold", Old: "max(w.report.OldestOverdue, now.Sub(t.Due).Std())", New: "now.Sub(t.Due).Std()", Killers: []string{"supervisor-wiring"}},
	{Name: "wiring-task-ttl-is-dropped", File: engineWiring, Func: "Open", Old: ", TTL: d.TaskTTL", New: "", Killers: []string{"scheduler-wiring"}},
	{Name: "wiring-shards-are-dropped", File: engineWiring, Func: "Open", Old: "Shards: d.Shards, ", New: "", Killers: []string{"scheduler-wiring", "supervisor-wiring"}},
	{Name: "wiring-commands-without-stack", File: engineWiring, Func: "options", Old: `return "--stack " + stack`, New: `return ""`, Killers: []string{"scheduler-wiring"}},
	{Name: "wiring-senders-are-dropped", File: schedulerWiring, Func: "New", Old: "Senders: settings.Senders, ", New: ""},
	{Name: "wiring-fair-queues-are-dropped", File: schedulerWiring, Func: "New", Old: "FairQueues: settings.FairQueues, ", New: ""},
	{Name: "wiring-instance-without-name", File: schedulerWiring, Func: "New", Old: "Name: settings.Instance, ", New: ""},
	{Name: "wiring-foreign-messages-are-deleted", File: schedulerWiring, Func: "Handle", Old: "return receipts", New: "return nil"},
	{Name: "wiring-secrets-are-never-renewed", File: "functions/agent/bootstrap/wiring/lazy.go", Func: "Lazy.Worker", Old: "!l.Renew || ", New: "true || "},
	{Name: "wiring-requests-without-worker-are-hidden", File: agentOnLambda, Func: "notReady", Old: "verdicts[i].After = min(firstWait<<(times-1), lastWait)", New: "verdicts[i].After = 6 * time.Minute + 0*time.Duration(times)", Killers: []string{"onlambda", "agent-wiring"}},
	{Name: "wiring-requests-without-worker-wait-alike", File: agentOnLambda, Func: "notReady", Old: "firstWait<<(times-1)", New: "firstWait<<(times-times)", Killers: []string{"agent-wiring"}},
	{Name: "wiring-requests-without-worker-are-deleted", File: agentOnLambda, Func: "Handle", Old: "verdicts = notReady(deliveries)", New: "verdicts = nil", Killers: []string{"onlambda"}},
	{Name: "P3-another-agents-name", File: senderCheck, Func: "Scheduler.notAsked", Old: `case it.from.agent != "" && it.from.agent != asked:`, New: "case false:", Killers: []string{"scheduler"}},
	{Name: "P3-another-agents-role", File: senderCheck, Func: "Scheduler.notAsked", Old: "case s.anothers(asked, it.from.role):", New: "case false:", Killers: []string{"scheduler", "scheduler-wiring"}},
	{Name: "P3-operators-cannot-redrive", File: senderCheck, Func: "Scheduler.anothers", Old: "return false\n}", New: "return true\n}", Killers: []string{"scheduler"}},
	{Name: "P3-unknown-roles-are-refused", File: senderCheck, Func: "Scheduler.anothers", Old: " || len(own) == 0", New: "", Killers: []string{"scheduler"}},
	{Name: "P3-role-with-its-session", File: senderCheck, Func: "senderOf", Old: `role, _, _ := strings.Cut(d.Sender, ":")`, New: "role := strings.TrimSpace(d.Sender)", Killers: []string{"scheduler"}},
	{Name: "P32-learns-of-other-agents", File: "functions/scheduler/job.go", Func: "Scheduler.learn", Old: " && s.notAsked(j.def, it) == nil", New: "", Killers: []string{"scheduler"}},
}
