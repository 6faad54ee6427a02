package main

// equivalent is a mutant that no test can notice. The function and the text identify the mutant. A line
// number would change too often.
type equivalent struct {
	Package string // folder of the package
	Func    string
	Before  string // changed lines, as in the report of a surviving mutant
	After   string
	Why     string
}

var equivalents = []equivalent{
	{"shared/deployment", "reader.engine",
		`e.Queues = r.urls(VarQueues, true, "", port.Intake, port.Replies, port.Control, port.Quarantine)`,
		`e.Queues = r.urls(VarQueues, true, "", port.Replies, port.Intake, port.Control, port.Quarantine)`,
		"only the order in which missing queues are listed"},
	{"shared/deployment", "reader.engine",
		`e.Queues = r.urls(VarQueues, true, "", port.Intake, port.Replies, port.Control, port.Quarantine)`,
		`e.Queues = r.urls(VarQueues, true, "", port.Intake, port.Control, port.Replies, port.Quarantine)`,
		"only the order in which missing queues are listed"},
	{"shared/deployment", "reader.engine",
		`e.Queues = r.urls(VarQueues, true, "", port.Intake, port.Replies, port.Control, port.Quarantine)`,
		`e.Queues = r.urls(VarQueues, true, "", port.Intake, port.Replies, port.Quarantine, port.Control)`,
		"only the order in which missing queues are listed"},
	{"dev/embedded", "hub.watch", "w := &watcher{done: done, wake: make(chan struct{}, 1)}",
		"w := &watcher{done: done, wake: make(chan struct{}, 2)}", "a second wake repeats a check"},
	{"dev/embedded", "consumer.run", "if !errors.Is(err, context.Canceled) {",
		"if !errors.Is(context.Canceled, err) {",
		"queues in memory answer the context's error itself, which wraps nothing"},
	{"dev/embedded", "agent.build",
		`Endpoint: os.Getenv("AWS_ENDPOINT_URL"), Region: cmp.Or(a.Region(), a.SigningRegion())})`,
		`Endpoint: os.Getenv("AWS_ENDPOINT_URL"), Region: cmp.Or(a.SigningRegion(), a.Region())})`,
		"an agent either calls AWS or signs requests to a URL: the other one of the two is always empty"},
	{"cmd/stepkeeper/internal/console", "simulated", "r.Broken = v.Explain(sc).String()", "",
		"the services are as the workflow declares them: only an error of the engine breaks an invariant"},
	{"infra", "Stepkeeper.addScheduler",
		"if agents := slices.Sorted(maps.Keys(s.content.Choosable)); len(agents) > 0 {",
		"if agents := slices.Sorted(maps.Keys(s.content.Choosable)); len(agents) > 1 {",
		"an agent is chosen among two at least"},
	{"infra", "checker.clashes",
		`all = append(all, "Requests"+id+"High", "Requests"+id+"HighDead", "Agent"+id+"HighMapping")`,
		`all = append(all, "Requests"+id+"HighDead", "Requests"+id+"High", "Agent"+id+"HighMapping")`,
		"only the order in which they are looked at"},
	{"infra", "checker.clashes",
		`all = append(all, "Requests"+id+"High", "Requests"+id+"HighDead", "Agent"+id+"HighMapping")`,
		`all = append(all, "Requests"+id+"High", "Agent"+id+"HighMapping", "Requests"+id+"HighDead")`,
		"only the order in which they are looked at"},
	{"infra/build", "Go", `cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOARM64=", "GOAMD64=", "GOFLAGS=-mod=readonly")`, `cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARM64=", "GOARCH="+arch, "GOAMD64=", "GOFLAGS=-mod=readonly")`,
		"variables have no order"},
	{"infra", "checker.mapping", `c.within(what+".Batch", m.Batch, 1, port.MaxBatch)`,
		`c.within(what+".Batch", m.Batch, 0, port.MaxBatch)`,
		"0 is the default, which stands in its place by then"},
	{"infra", "Stepkeeper.addKey", `}, "kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncryptFrom", "kms:ReEncryptTo")`,
		`}, "kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncryptTo", "kms:ReEncryptFrom")`,
		"the order of actions means nothing"},
	{"shared/dynamo", "NewHandlerClient",
		"o.APIOptions = append(o.APIOptions, wire.LimitAttempts(attemptTime), " +
			"wire.UntilShortlyBefore(leftOver))",
		"o.APIOptions = append(o.APIOptions, wire.UntilShortlyBefore(leftOver), " +
			"wire.LimitAttempts(attemptTime))",
		"they stand in different steps of the SDK's stack"},
	{"shared/dynamo", "tries.watch", "t.doubt = t.doubt || err != nil && !refused(err)",
		"t.doubt = t.doubt || !refused(err)",
		"a try without an error ends the call, and doubt counts only after an error"},
	{"shared/dynamo", "Store.Erase", "if s.options.TTL > 0 {", "if s.options.TTL > 1 {",
		"an option of one nanosecond, which no deployment has"},
	{"client", "CheckClock", "case skew < 0:", "case skew <= 0:", "a skew of none is within the limit above"},
	{"client", "CheckClock", "case skew < 0:", "case skew < 1:",
		"the skew is rounded to seconds, and none is within the limit above"},
	{"shared/engine", "Engine.loaded", "j.order = l.Task.Order", "j.order = nil",
		"apply reads the order from the same task once the decision needs it: only the decision runs twice"},
	{"functions/agent/worker", "handling.answer", "case left <= 0: // agents are silent after stopBy (P25)",
		"case left <= 1: // agents are silent after stopBy (P25)", "nothing can be sent within a nanosecond"},
}
