package mutants

// ofCodec are mutants of the reading and writing of messages, task documents and Lambda events.
var ofCodec = []Mutant{
	{Name: "codec-order-is-done-by-its-last-claim", File: "shared/core/codec.go", Func: "writer.derived", Old: "by = earliest(by, s.CompleteBy)", New: "by = latest(by, s.CompleteBy)", Killers: []string{"scheduler-wiring"}},
	{Name: "codec-order-is-locked-by-its-first-claim", File: "shared/core/codec.go", Func: "writer.derived", Old: "s.ClaimedAt >= claimed", New: "s.ClaimedAt < claimed", Killers: []string{"scheduler-wiring"}},
	{Name: "codec-order-is-locked-by-what-rests", File: "shared/core/codec.go", Func: "writer.derived", Old: "if !s.InFlight() {", New: "if s.InFlight() {", Killers: []string{"scheduler-wiring"}},
	{Name: "codec-failures-of-the-last-step", File: "shared/core/codec.go", Func: "writer.derived", Old: "failures += s.FailureCount", New: "failures = s.FailureCount", Killers: []string{"scheduler-wiring"}},
	{Name: "P3-sender-of-a-record-is-dropped", File: "shared/lambdaevent/batch.go", Func: "delivery", Old: `Sender: r.Attributes["SenderId"]`, New: `Sender: ""`, Killers: []string{"lambdaevent", "scheduler-wiring"}},
	{Name: "A2-answer-without-a-list", File: "shared/lambdaevent/batch.go", Func: "Batch", Old: "BatchItemFailures: []events.SQSBatchItemFailure{}", New: "BatchItemFailures: nil"},
	{Name: "A2-receipts-instead-of-ids", File: "shared/lambdaevent/batch.go", Func: "Batch", Old: "ItemIdentifier: b.deliveries[i].ID", New: "ItemIdentifier: b.deliveries[i].Receipt"},
	{Name: "A2-panic-is-forgotten", File: "shared/lambdaevent/batch.go", Func: "batch.handle", Old: "again = []string{d[0].Receipt}", New: ""},
	{Name: "A2-panic-gives-all-back", File: "shared/lambdaevent/batch.go", Func: "batch.handle", Old: "if err == nil {\n\t\treturn failed", New: "if err != nil {\n\t\tfor i := range b.deliveries {\n\t\t\tfailed = append(failed, b.deliveries[i].Receipt)\n\t\t}\n\t}\n\tif true {\n\t\treturn failed"},
	{Name: "A3-no-reserve", File: "shared/lambdaevent/batch.go", Func: "WithReserve", Old: "deadline.Add(-Reserve)", New: "deadline"},
	{Name: "codec-first-delivery-each-time", File: "shared/lambdaevent/batch.go", Func: "delivery", Old: "d.Received = n", New: "_ = n", Killers: []string{"lambdaevent", "agent-wiring"}},
	{Name: "codec-sent-in-seconds", File: "shared/lambdaevent/batch.go", Func: "delivery", Old: "time.UnixMilli(ms)", New: "time.Unix(ms, 0)"},
}
