package mutants

// ofAPI are mutants of the HTTP edge of embedded mode.
var ofAPI = []Mutant{
	// What comes in.
	{Name: "api-command-of-any-depth", File: "dev/api/document.go", Func: "readFormat",
		Old: "rawjson.Check(data, ", New: "rawjson.Check([]byte(\"1\"), "},
	{Name: "api-queue-request-of-any-depth", File: "dev/sqsproto/handler.go", Func: "call.read",
		Old: "rawjson.Check(c.body, ", New: "rawjson.Check([]byte(\"1\"), "},

	// A document that cannot be read.
	{Name: "P27-damage-stops-the-start", File: "functions/scheduler/restart.go", Func: "Scheduler.restart", Old: "case errors.Is(failed, port.ErrDamaged):", New: "case false:"},
	{Name: "api-damage-is-sent-again-for-ever", File: "dev/embedded/backend.go", Func: "resultOf", Old: " && !errors.Is(r.Err, port.ErrDamaged)", New: ""},
	{Name: "api-damage-is-logged-at-each-sweep", File: "functions/supervisor/supervisor.go", Func: "sweep.fault", Old: "said {", New: "said && id == \"\" {"},
	{Name: "api-damage-is-an-internal-failure", File: "dev/api/problem.go", Func: "problemOf", Old: "case errors.Is(err, port.ErrDamaged):", New: "case false:"},

	// Mistakes of a client, and failures after an answer has begun.
	{Name: "api-run-ahead-is-an-internal-failure", File: "dev/api/problem.go", Func: "problemOf", Old: "case errors.Is(err, core.ErrStale):", New: "case false:"},
	{Name: "api-newer-order-comes-again-for-ever", File: "dev/api/queues.go", Func: "edge.intake", Old: "errors.Is(err, message.ErrNewer)", New: "false"},
	{Name: "api-newer-command-comes-again-for-ever", File: "dev/api/queues.go", Func: "edge.control", Old: "errors.Is(err, message.ErrNewer)", New: "false"},
	{Name: "api-command-ahead-comes-again-for-ever", File: "dev/api/queues.go", Func: "edge.handled", Old: "errors.Is(err, core.ErrStale)", New: "false"},
	{Name: "api-text-after-a-status-200", File: "dev/api/document.go", Func: "writeFormat", Old: "panic(err)", New: "return err"},
	{Name: "api-status-before-the-answer", File: "dev/api/guard.go", Func: "response.WriteHeader", Old: "w.status = status", New: "w.status = status; w.begin()"},
	{Name: "api-refused-body-resets-the-connection", File: "dev/api/guard.go", Func: "response.finish", Old: "io.Discard, body, maxDiscarded", New: "io.Discard, body, 1"},
	{Name: "api-problem-inside-a-stream", File: "dev/api/guard.go", Func: "recovered", Old: "if w.begun {", New: "if false {"},
	{Name: "api-broken-stream-ends-well", File: "dev/api/events.go", Func: "edge.writeEvents", Old: "panic(err) // cut off: the client sees that it was not the end", New: "return"},
	{Name: "P12a-gone-client-ends-its-order", File: "dev/embedded/backend.go", Func: "Runtime.carry", Old: "context.WithoutCancel(ctx)", New: "ctx"},
	{Name: "P12a-shutdown-cuts-a-submission", File: "dev/embedded/runtime.go", Func: "Runtime.Close", Old: "s.gate.Lock()\n\t\t\tdefer s.gate.Unlock()", New: ""},

	// Answers at their places, and limits.
	{Name: "api-answers-of-a-stream-shift", File: "dev/api/stream.go", Func: "edge.submitGroup", Old: "i := open[k]", New: "i := k"},
	{Name: "api-answers-of-a-batch-shift", File: "dev/api/queues.go", Func: "edge.intake", Old: "i := at[k]", New: "i := k"},
	{Name: "api-failed-entries-shift", File: "dev/sqsproto/send.go", Func: "sinkAll", Old: "errs[at[k]] = err", New: "errs[k] = err"},
	{Name: "api-sender-fault-is-inverted", File: "dev/sqsproto/send.go", Func: "batchOutput.fail", Old: "SenderFault: f.sender", New: "SenderFault: !f.sender"},
	{Name: "api-line-over-the-limit", File: "dev/api/stream.go", Func: "readLine", Old: "port.MaxOrder+2", New: "2*port.MaxOrder", Equivalent: "message.DecodeSubmit refuses the same size with the same code; this bound is for memory only"},
	{Name: "api-command-of-any-size", File: "dev/api/commands.go", Func: "operation", Old: "MaxBodyBytes: maxCommand", New: "MaxBodyBytes: 1 << 20"},
	{Name: "api-half-a-header-is-held", File: "dev/api/server.go", Func: "Serve", Old: "ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout", New: "ReadTimeout: time.Minute"},
	{Name: "api-half-a-body-is-held", File: "dev/api/server.go", Func: "Serve", Old: "ReadTimeout: readTimeout,", New: "ReadTimeout: writeTimeout,"},
	{Name: "api-a-line-that-never-ends-is-held", File: "dev/api/stream.go", Func: "patientReader.Read", Old: "time.Now().Add(lineTimeout)", New: "time.Time{}"},
	{Name: "api-a-stream-ends-with-the-time-of-a-body", File: "dev/api/stream.go", Func: "patientReader.Read", Old: "_ = p.rc.SetReadDeadline(time.Now().Add(lineTimeout))", New: ""},
	{Name: "api-header-of-any-size", File: "dev/api/server.go", Func: "Serve", Old: "MaxHeaderBytes: maxHeader", New: "MaxHeaderBytes: 1 << 20"},
	// Answers.
	{Name: "P35-api-answers-the-first-round", File: "dev/api/commands.go", Func: "edge.answer", Old: "c.Round = max(1, s.Answers.Round)", New: ""},
	{Name: "P35-api-answers-the-first-run", File: "dev/api/commands.go", Func: "edge.answer", Old: "c.Run = t.Run", New: "c.Run = 0"},
}
