package mutants

const (
	devStack   = "shared/embedded/stack.go"
	devBackend = "shared/embedded/backend.go"
	devAgents  = "shared/embedded/agents.go"
	devPump    = "shared/embedded/pump.go"
	devHub     = "shared/embedded/hub.go"
	devFlows   = "shared/embedded/workflows.go"
	devQueues  = "shared/embedded/queues.go"
	regular    = "shared/regularfile/regularfile.go"
)

// ofWiring are mutants of the wiring: Lambda mains and embedded mode.
var ofWiring = []Mutant{
	{Name: "P32-embedded-knows-no-capacity", File: devStack, Func: "Stack.wire", Old: "Capacity: s.capacity, ", New: ""},
	{Name: "P32-embedded-capacity-without-the-batch", File: devAgents, Func: "Stack.capacity", Old: "a.concurrency * a.batch", New: "a.concurrency"},
	{Name: "P32-embedded-takes-more-than-it-may", File: devBackend, Func: "Stack.Submit", Old: "room < len(orders)", New: "room < 0"},
	{Name: "P14-embedded-refuses-known-orders-while-busy", File: devBackend, Func: "Stack.knownOrBusy", Old: "err == nil && loaded[0].Task != nil", New: "err == nil && loaded == nil"},
	{Name: "P27-embedded-takes-nothing-up-again", File: devStack, Func: "Open", Old: "s.scheduler.Restart(ctx)", New: "0, error(nil)"},
	{Name: "wiring-one-bad-task-stops-the-start", File: devStack, Func: "Open", Old: `s.log.Error("some tasks are not taken up again; the Supervisor tries when they are due", "error", err)`, New: "return nil, err"},
	{Name: "wiring-close-cuts-calls-off", File: devAgents, Func: "Stack.wireAgents", Old: "Drain: drainTime", New: "Drain: 1"},
	{Name: "wiring-ready-while-it-closes", File: devStack, Func: "Stack.Close", Old: "s.ready.Store(false)", New: ""},
	{Name: "wiring-nothing-expires", File: devStack, Func: "Stack.start", Old: "s.rest.Go(func() { s.expire(work) })", New: ""},
	{Name: "wiring-expired-orders-stay-in-memory", File: devStack, Func: "Stack.expire", Old: "s.state.Forget(id)", New: "_ = id"},
	{Name: "wiring-keep-is-dropped", File: devStack, Func: "Stack.wire", Old: ", Keep: s.options.Keep", New: ""},
	{Name: "wiring-ready-on-a-damaged-file", File: devBackend, Func: "Stack.Health", Old: "err.Error(), false", New: "err.Error(), h.Ready"},
	{Name: "wiring-readiness-asks-no-write", File: devBackend, Func: "Stack.Health", Old: "err := s.store.Probe(); err != nil", New: "_, err := s.store.Load(context.Background(), nil); err != nil"},
	{Name: "wiring-failed-messages-are-deleted", File: devPump, Func: "pump.finish", Old: "bad[receipt] = true", New: "bad[receipt] = false"},
	{Name: "wiring-open-orders-are-not-counted", File: devHub, Func: "hub.committed", Old: "h.open[t.OrderID] = struct{}{}", New: ""},
	{Name: "wiring-broken-file-drops-its-workflow", File: devFlows, Func: "workflows.refused", Old: "next.byName[name], next.fileOf[name] = old.byName[name], file", New: "_ = name"},
	{Name: "wiring-second-file-replaces-a-workflow", File: devFlows, Func: "workflows.reload", Old: "taken := next.fileOf[name]; taken", New: "taken := next.fileOf[name]; taken && other == \"\""},
	{Name: "wiring-messages-die-after-three-receives", File: devQueues, Func: "newQueues", Old: "MaxReceives: maxReceives", New: "MaxReceives: 3"},
	{Name: "wiring-failed-messages-come-back-at-once", File: devPump, Func: "giveBack", Old: "return min(d, maxPause)", New: "return min(d, maxPause) * 0"},
	{Name: "wiring-handled-messages-are-not-deleted", File: devPump, Func: "pump.finish", Old: "if len(done) == 0 {", New: "if len(done) >= 0 {"},
	{Name: "wiring-links-out-of-the-folder-are-followed", File: regular, Func: "ReadIn", Old: "read(name, limit, dir.Stat, dir.OpenFile)", New: "Read(dir.Name()+\"/\"+name, limit)"},
	{Name: "wiring-pipes-are-read", File: regular, Func: "check", Old: "case mode.IsRegular():", New: "case mode.IsRegular(), mode&fs.ModeNamedPipe != 0:"},
}
