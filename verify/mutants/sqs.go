package mutants

const (
	queueSQS    = "shared/sqs/queue.go"
	queuesSQS   = "shared/sqs/queues.go"
	gathererSQS = "shared/sqs/gather.go"
	stackSubmit = "client/aws/submit.go"
)

// ofSQS are mutants of the queues on SQS, and of what is sent through them from outside.
var ofSQS = []Mutant{
	{Name: "sqs-entries-not-taken-are-ignored", File: queueSQS, Func: "Queue.send", Old: `q.entries(errs, "send", out.Failed)`, New: "_ = out"},
	{Name: "sqs-entries-not-deleted-are-ignored", File: queueSQS, Func: "Queue.Delete", Old: `q.entries(errs, "delete", out.Failed)`, New: "_ = out"},
	{Name: "sqs-senders-fault-is-theirs", File: queueSQS, Func: "Queue.entries", Old: "if f.SenderFault {", New: "if !f.SenderFault {"},
	{Name: "sqs-failures-at-the-first-places", File: queueSQS, Func: "Queue.entries", Old: "for _, f := range failed {", New: "for i, f := range failed {\n\t\tf.Id = aws.String(strconv.Itoa(i))"},
	{Name: "sqs-failed-batch-is-taken", File: queueSQS, Func: "Queue.send", Old: `errs[place(e.Id)] = q.failed("send", err)`, New: "_ = e"},
	{Name: "sqs-failed-batch-fails-all", File: queueSQS, Func: "Queue.send", Old: "continue\n\t\t}\n\t\tq.entries", New: "break\n\t\t}\n\t\tq.entries"},
	{Name: "sqs-batches-of-any-size", File: queueSQS, Func: "fitting", Old: "i == port.MaxBatch", New: "i == 100"},
	{Name: "sqs-batches-of-any-bytes", File: queueSQS, Func: "fitting", Old: "i > 0 && size > maxBatchBytes || ", New: ""},
	{Name: "sqs-long-poll-has-a-short-time", File: queueSQS, Func: "Queue.Receive", Old: "wire.WithWait(ctx, poll)", New: "wire.WithWait(ctx, 0)"},
	{Name: "sqs-attempt-may-hang", File: queuesSQS, Func: "New", Old: "o.APIOptions = append(o.APIOptions, wire.LimitAttempts(wire.AttemptTimeout))", New: "_ = wire.AttemptTimeout"},
	{Name: "sqs-delay-is-dropped", File: queueSQS, Func: "Queue.Send", Old: ", DelaySeconds: seconds(messages[i].Delay)", New: ""},
	{Name: "sqs-group-for-all", File: queueSQS, Func: "Queue.Send", Old: `group != ""`, New: `group != "?"`},
	{Name: "sqs-noncharacters-are-sent", File: queueSQS, Func: "bodyOf", Old: "noncharacters(body)", New: "body"},
	{Name: "sqs-one-noncharacter-is-sent", File: queueSQS, Func: "noncharacters", Old: "[]byte(`\\uffff`)", New: "[]byte(\"\\uFFFF\")"},
	{Name: "sqs-size-before-escaping", File: queueSQS, Func: "bodyOf", Old: "return string(m.Body), port.CheckMessage(&m)", New: "m.Body = body\n\treturn string(noncharacters(body)), port.CheckMessage(&m)"},
	{Name: "sqs-times-are-rounded-down", File: queueSQS, Func: "seconds", Old: "(d + time.Second - 1) / time.Second", New: "d / time.Second"},
	{Name: "sqs-missing-queue-is-unavailable", File: queueSQS, Func: "meaning", Old: `case "QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue":`, New: `case "?":`},
	{Name: "sqs-throttle-is-final", File: queueSQS, Func: "meaning", Old: " && !throttled(api.ErrorCode())", New: ""},
	{Name: "sqs-receipt-is-only-refused", File: queueSQS, Func: "meaning", Old: `case "ReceiptHandleIsInvalid", "MessageNotInflight", "AWS.SimpleQueueService.MessageNotInflight", "InvalidParameterValue":`, New: `case "?":`},
	{Name: "sqs-received-once-each-time", File: queueSQS, Func: "Queue.deliveries", Old: "d.Received = n", New: "_ = n"},
	{Name: "sqs-poll-ends-at-once", File: queueSQS, Func: "Queue.Receive", Old: "wait -= poll;", New: "wait = 0;"},
	{Name: "sqs-delayed-counts-as-visible", File: queueSQS, Func: "Queue.depth", Old: "Visible: counts[0]", New: "Visible: counts[0] + counts[2]"},
	{Name: "sqs-reply-to-is-any-queue", File: queuesSQS, Func: "Queues.ReplyTo", Old: "!slices.Contains(q.config.ReplyTo, name)", New: "false"},
	{Name: "sqs-names-are-looked-up-always", File: queuesSQS, Func: "Queues.address", Old: "!q.config.LookUp || ", New: ""},
	{Name: "sqs-gathered-ends-with-its-first-sender", File: gathererSQS, Func: "Gatherer.send", Old: "context.WithoutCancel(batch[0].ctx)", New: "batch[0].ctx"},
	{Name: "sqs-gathered-without-a-deadline", File: gathererSQS, Func: "Gatherer.send", Old: "; ok {", New: "; ok && false {"},
	{Name: "sqs-gathered-errors-are-dropped", File: gathererSQS, Func: "Gatherer.send", Old: "*batch[i].err = errs[i]", New: "_ = errs"},
	{Name: "sqs-gathers-one-by-one", File: gathererSQS, Func: "Gatherer.ready", Old: "g.waiting < g.active && ", New: "false && "},
	{Name: "client-answers-land-behind-bad-lines", File: stackSubmit, Func: "transport.batch", Old: "a := &answers[places[n]]", New: "_ = places\n\t\ta := &answers[n]"},
	{Name: "client-refused-entry-counts-as-queued", File: stackSubmit, Func: "transport.batch", Old: "if err == nil {\n\t\t\ta.Accepted", New: "if err == nil || n >= 0 {\n\t\t\ta.Accepted"},
	{Name: "client-bad-line-is-sent", File: stackSubmit, Func: "transport.batch", Old: "answers[i].Err = unreadable(err)\n\t\t\tcontinue", New: "answers[i].Err = unreadable(err)"},
}
