package mutants

const (
	check     = "shared/rawjson/check.go"
	canonical = "shared/rawjson/canonical.go"
)

// ofCodec are mutants of the reading and writing of messages, task documents and Lambda events.
var ofCodec = []Mutant{
	{Name: "codec-a-command-holds-control-characters", File: "shared/message/codec.go", Func: "Control.checkCommand",
		Old: "err := CheckTexts(m.By, m.Reason); err != nil", New: "err := CheckTexts(m.By, m.Reason); err != nil && false"},
	{Name: "codec-a-code-holds-control-characters", File: "shared/message/codec.go", Func: "Reply.Check",
		Old: "case m.Error != nil && strings.ContainsFunc(m.Error.Code, core.Unprintable):", New: "case false:"},
	// What a document shows to people.
	{Name: "codec-locked-by-the-first", File: "shared/state/fields.go", Func: "lockedBy", Old: "s.ClaimedAt >= claimed", New: "s.ClaimedAt <= claimed"},
	{Name: "codec-complete-by-the-latest", File: "shared/state/fields.go", Func: "completeBy", Old: "s.CompleteBy < by", New: "s.CompleteBy > by"},
	{Name: "codec-shows-what-is-not-in-flight", File: "shared/state/fields.go", Func: "completeBy", Old: "s.InFlight() && ", New: ""},

	// How members are written and read.
	{Name: "codec-newer-document-is-read", File: "shared/state/field.go", Func: "schemaField", Old: "schema > TaskSchema", New: "schema > TaskSchema+1"},
	{Name: "codec-time-of-creation-is-left-out", File: "shared/state/encode.go", Func: "writer.after", Old: "if !t.InRange() {", New: "if t == w.created {\n\t\treturn\n\t}\n\tif !t.InRange() {"},
	{Name: "codec-every-member-is-written", File: "shared/state/field.go", Func: "member", Old: "v != zero", New: "true || v != zero"},
	{Name: "codec-list-loses-its-last", File: "shared/state/field.go", Func: "list", Old: "for i := range all {", New: "for i := range all[1:] {"},
	{Name: "codec-steps-in-the-order-of-the-store", File: "shared/state/decode.go", Func: "decoder.steps", Old: "cmp.Or(cmp.Compare(a.n, b.n), ", New: "cmp.Or("},
	{Name: "codec-item-shows-what-people-have-sent", File: "shared/dynamo/parse.go", Func: "object", Old: "if slices.Contains(jsonText, name) {", New: "if false {"},
	{Name: "codec-item-rounds-a-number", File: "shared/dynamo/parse.go", Func: "value", Old: "len(number) <= maxDigits", New: "len(number) <= 2*maxDigits"},
	{Name: "codec-item-with-text-that-is-no-json", File: "shared/dynamo/write.go", Func: "appendObject", Old: "if !jsontext.Value(text.Value).IsValid(jsontext.AllowDuplicateNames(true)) {", New: "if false {"},
	{Name: "codec-unknown-member-is-dropped", File: "shared/state/field.go", Func: "table.read", Old: "unknown != nil && len(members) > 0", New: "unknown != nil && len(members) > 100"},

	// What a reader of JSON refuses.
	{Name: "codec-submission-is-read-loosely", File: check, Func: "Check",
		Old: "check(data, levels)", New: "check(data, levels, loose...)"},
	{Name: "codec-something-follows-a-value", File: check, Func: "end",
		Old: "!errors.Is(err, io.EOF)", New: "err != nil && !errors.Is(err, io.EOF)"},
	{Name: "codec-bytes-are-not-utf-8", File: check, Func: "check", Old: "at >= 0", New: "at > len(data)"},
	{Name: "codec-first-of-two-members-counts", File: "shared/rawjson/lookup.go", Func: "Member",
		Old: "string(other) == name", New: "found == nil && string(other) == name"},
	{Name: "P14-number-loses-digits", File: canonical, Func: "appendNumber",
		Old: "bytes.Equal(appendExact(nil, short), exact)", New: "true"},
	{Name: "P14-a-zero-has-a-sign", File: canonical, Func: "appendNumber", Old: " && f != 0", New: ""},
	{Name: "P14-members-have-an-order", File: canonical, Func: "AppendCanonical",
		Old: "ReorderRawObjects(true)", New: "ReorderRawObjects(false)"},
	{Name: "codec-field-without-a-name", File: "shared/message/submit.go", Func: "unknownField", Old: "len(unknown) == 0", New: "len(unknown) == 0 || slices.Min(unknown) == \"\""},

	// The one limit of nesting.
	{Name: "codec-one-level-more", File: check, Func: "check", Old: "depth > levels", New: "depth > levels+1"},
	{Name: "codec-number-of-any-length", File: check, Func: "NumberFits",
		Old: "len(text) > MaxNumber", New: "len(text) > 1<<20"},
	{Name: "codec-exponent-of-any-size", File: check, Func: "NumberFits", Old: "digits <= 3", New: "true"},
	{Name: "codec-numbers-are-not-bounded", File: check, Func: "check",
		Old: " && !NumberFits(number)", New: " && false"},
	{Name: "P35-schema-without-a-budget", File: "shared/expression/schema.go", Func: "answerSchema.meter", Old: "s.left < 0", New: "false"},
	{Name: "P35-list-without-a-charge", File: "shared/expression/schema.go", Func: "validationCost.of", Old: "n := c.each * (1 + len(v))\n\t\tif c.unique", New: "n := c.each\n\t\tif c.unique"},
	{Name: "codec-order-of-any-depth", File: "shared/message/submit.go", Func: "SubmitOrder.Check",
		Old: "rawjson.Check(o.Order, ", New: "rawjson.Check([]byte(\"1\"), "},
	{Name: "codec-reply-of-any-depth", File: "shared/message/codec.go", Func: "checkOutput",
		Old: "len(output) == 0", New: "true"},
	{Name: "P22a-done-without-effect-is-read", File: "shared/message/codec.go", Func: "Reply.Check", Old: "m.Outcome == core.OutcomeDone || m.Operation == core.UndoOp", New: "m.Operation == core.UndoOp"},
	{Name: "P22a-undo-without-effect-is-read", File: "shared/message/codec.go", Func: "Reply.Check", Old: "m.Outcome == core.OutcomeDone || m.Operation == core.UndoOp", New: "m.Outcome == core.OutcomeDone"},
	{Name: "codec-order-of-a-child-as-deep-as-that-of-its-parent", File: "shared/message/codec.go", Func: "envelope", Old: "return 2", New: "return 1"},
	{Name: "codec-status-with-collected-outputs", File: "shared/message/codec.go", Func: "envelope", Old: "return 3", New: "return 2"},
	{Name: "codec-message-of-any-depth", File: "shared/message/codec.go", Func: "decode",
		Old: "rawjson.CheckLoose(data, ", New: "rawjson.CheckLoose([]byte(\"1\"), "},
	{Name: "P49-any-word-is-a-definition", File: "shared/message/codec.go", Func: "Control.checkCommand", Old: "!IsDefinition(m.Definition)", New: "m.Definition == \"\""},
	{Name: "codec-damage-hides-a-listing", File: "shared/view/task.go", Func: "Listed", Old: "if err != nil {", New: "if err != nil && r == nil {"},
	{Name: "codec-damage-has-no-id", File: "shared/view/task.go", Func: "Listed", Old: "OrderID: r.ID, ", New: ""},
	{Name: "codec-damage-of-another-order", File: "shared/view/task.go", Func: "Listed", Old: "err == nil && t.OrderID != r.ID", New: "err == nil && t == nil"},
	{Name: "P8-document-of-another-version-is-taken", File: "shared/state/store.go", Func: "taskOf", Old: "t.Version != r.Version || ", New: ""},
	{Name: "codec-damage-is-not-named", File: "shared/state/store.go", Func: "taskOf", Old: "load task %q: %w: %w\", r.ID, port.ErrDamaged, err", New: "load task %q: %w\", r.ID, err"},
	{Name: "P28-expression-makes-any-depth", File: "shared/expression/decode.go", Func: "checkResult", Old: "rawjson.MaxLevels, errResult", New: "10_000, errResult"},
	{Name: "codec-order-is-locked-by-what-rests", File: "shared/state/fields.go", Func: "lockedBy", Old: "s.InFlight() && ", New: "!s.InFlight() && "},
	{Name: "codec-failures-of-the-last-step", File: "shared/state/fields.go", Func: "failureCount", Old: "failures += t.Steps[i].FailureCount", New: "failures = t.Steps[i].FailureCount"},
	{Name: "P3-sender-of-a-record-is-dropped", File: "shared/lambdaevent/batch.go", Func: "delivery", Old: `Sender: r.Attributes["SenderId"]`, New: `Sender: ""`},
	{Name: "A2-answer-without-a-list", File: "shared/lambdaevent/batch.go", Func: "Batch", Old: "BatchItemFailures: []events.SQSBatchItemFailure{}", New: "BatchItemFailures: nil"},
	{Name: "A2-receipts-instead-of-ids", File: "shared/lambdaevent/batch.go", Func: "Batch", Old: "ItemIdentifier: d.ID", New: "ItemIdentifier: d.Receipt"},
	{Name: "A2-panic-is-forgotten", File: "shared/lambdaevent/batch.go", Func: "batch.handle", Old: "again = []Failed{{Receipt: d[0].Receipt}}", New: ""},
	{Name: "A2-panic-gives-all-back", File: "shared/lambdaevent/batch.go", Func: "batch.handle", Old: "if err == nil {\n\t\treturn failed", New: "if err != nil {\n\t\tfor i := range b.deliveries {\n\t\t\tfailed = append(failed, Failed{Receipt: b.deliveries[i].Receipt})\n\t\t}\n\t}\n\tif true {\n\t\treturn failed"},
	{Name: "A3-no-reserve", File: "shared/lambdaevent/batch.go", Func: "WithReserve", Old: "deadline.Add(-Reserve)", New: "deadline"},
	{Name: "codec-first-delivery-each-time", File: "shared/lambdaevent/batch.go", Func: "delivery", Old: "d.Received = n", New: "_ = n"},
	{Name: "codec-sent-in-seconds", File: "shared/lambdaevent/batch.go", Func: "delivery", Old: "time.UnixMilli(ms)", New: "time.Unix(ms, 0)"},
}
