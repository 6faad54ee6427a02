package mutants

const (
	sourceMeaning  = "shared/workflow/source/meaning.go"
	sourceGraph    = "shared/workflow/source/graph.go"
	sourceTemplate = "shared/workflow/source/template.go"
	sourceWait     = "shared/workflow/source/wait.go"
	sourceAnswer   = "shared/workflow/source/answer.go"
	exprAnswer     = "shared/expression/answer.go"
	exprCheck      = "shared/expression/check.go"
	sourceFail     = "shared/workflow/source/fail.go"
	exprSkipped    = "shared/expression/skipped.go"
	exprOperators  = "shared/expression/operators.go"
	exprFunctions  = "shared/expression/functions.go"
	exprToken      = "shared/expression/token.go"
	tokenFile      = "shared/token/token.go"
	pageFile       = "dev/answerpage/page.go"
)

// ofWorkflows are mutants of workflow files and expressions.
var ofWorkflows = []Mutant{
	{Name: "workflow-integer-difference-wraps", File: exprOperators, Func: "smallIntegers", Old: "return v, (v < i) == (j > 0)", New: "return v, true"},
	{Name: "P44-plain-service-with-several-ledgers", File: "shared/workflow/source/agents.go", Func: "builder.routes", Old: "s.Grade == core.Plain ||", New: ""},
	{Name: "P44-no-return-with-several-ledgers", File: "shared/workflow/source/agents.go", Func: "builder.routes", Old: "if s.Grade == core.Plain || s.PointOfNoReturn {", New: "if s.Grade == core.Plain {"},
	{Name: "P44-one-service-remembers-for-two-times", File: "shared/workflow/source/agents.go", Func: "builder.routes", Old: "other.KeyRetention != first.KeyRetention", New: "false"},
	{Name: "P44-agents-differ-in-their-clocks", File: "shared/workflow/source/agents.go", Func: "builder.routes", Old: "other.ClockSkew != first.ClockSkew", New: "false"},
	{Name: "P45-poll-that-is-not-asked-again", File: sourceMeaning, Func: "builder.polling", Old: "s.PollFor < minPoll", New: "false"},
	{Name: "P45-poll-longer-than-the-keys", File: sourceMeaning, Func: "builder.polling", Old: "kept > 0 && s.PollFor > kept", New: "false"},
	{Name: "P44-further-agents-have-no-settings", File: "shared/workflow/source/build.go", Func: "builder.agents", Old: "b.def.Steps[i].AllAgents()", New: "b.def.Steps[i].AllAgents()[:1]"},
	{Name: "workflow-integer-sum-wraps", File: exprOperators, Func: "smallIntegers", Old: "return v, (v > i) == (j > 0)", New: "return v, true"},
	{Name: "workflow-reads-skipped-output", File: exprSkipped, Func: "check.skipped", Old: "if !reads ||", New: "if true || !reads ||"},
	{Name: "P42-output-of-what-failed-is-read", File: exprSkipped, Func: "check.mayBeNull", Old: "case c.scope.Continues[step] && ", New: "case false && c.scope.Continues[step] && "},
	{Name: "P42-failed-is-read-like-not-failed", File: exprSkipped, Func: "program.notSkipped", Old: "f.name == factFailed && !holds", New: "f.name == factFailed"},
	{Name: "P42-failure-of-any-step-is-asked-for", File: "shared/expression/fact.go", Func: "check.fact", Old: "c.scope.Continues != nil && !c.scope.Continues[f.step]", New: "false"},
	{Name: "P42-point-of-no-return-goes-on", File: "shared/workflow/source/goon.go", Func: "builder.goesOn", Old: "case s.PointOfNoReturn:", New: "case s.PointOfNoReturn && s.Undo != nil:"},
	{Name: "P42-quiet-time-is-not-reported", File: "shared/workflow/source/goon.go", Func: "builder.goesOn", Old: "s.Undo != nil && (", New: "false && ("},
	{Name: "P42-goes-on-without-an-undo", File: sourceMeaning, Func: "builder.undoable", Old: "case alone && field != nil:", New: "case alone && i >= 0:"},
	{Name: "P42-answer-goes-on", File: "shared/workflow/source/schema.go", Func: "explain", Old: "if v.text == string(core.OnFailureContinue) && slices.Contains(policies, name) {", New: "if false {"},
	{Name: "workflow-any-part-of-a-condition-proves", File: exprSkipped, Func: "check.follows", Old: "!slices.ContainsFunc(there, func(part string) bool { return !slices.Contains(here, part) })", New: "slices.ContainsFunc(there, func(part string) bool { return slices.Contains(here, part) })"},
	{Name: "workflow-or-proves-like-and", File: exprSkipped, Func: "program.notSkipped", Old: "if holds == (n.Operator == \"&&\" || n.Operator == \"and\") {", New: "if true {"},
	{Name: "workflow-unknown-after-is-an-order", File: sourceGraph, Func: "newGraph", Old: "g.sorted, g.before = nil, nil", New: ""},
	{Name: "workflow-scalar-after-is-an-order", File: sourceGraph, Func: "newGraph", Old: "if after.shape != isList {", New: "if false {"},
	{Name: "workflow-braces-are-sent-without-warning", File: sourceTemplate, Func: "builder.literal", Old: `strings.Contains(v.text, "{{") && strings.Contains(v.text, "}}")`, New: "false"},
	{Name: "P34-wait-may-last-longer-than-a-year", File: sourceWait, Func: "builder.wait", Old: `b.duration(w, "for", limitWait, 0)`, New: `b.duration(w, "for", limit{}, 0)`},
	{Name: "P34-wait-with-two-times-is-read", File: sourceWait, Func: "builder.wait", Old: `(w.field("for") == nil) == (w.field("until") == nil)`, New: "false"},
	{Name: "P34-until-may-be-the-same-for-every-order", File: sourceWait, Func: "builder.until", Old: "err == nil && !isExpression", New: "err == nil && !isExpression && false"},
	{Name: "P39-a-token-names-no-person", File: exprToken, Func: "check.token", Old: "asks && len(arguments) < 2", New: "asks && len(arguments) < 1"},
	{Name: "P39-tokens-stand-anywhere", File: exprToken, Func: "check.token", Old: "if c.scope.Answered == nil {", New: "if false {"},
	{Name: "P39-a-token-of-a-call", File: exprToken, Func: "check.token", Old: "if !ok {\n\t\tnames", New: "if false {\n\t\tnames"},
	{Name: "P39-tokens-are-schema-one", File: "shared/workflow/stored.go", Func: "Seal", Old: "x.MakesTokens()", New: "false"},
	{Name: "P39-a-token-is-read-of-any-order", File: tokenFile, Func: "key.mac", Old: "len(order), order, claims", New: "0, \"\", claims"},
	{Name: "P39-tokens-are-not-checked", File: tokenFile, Func: "Keys.Read", Old: "!hmac.Equal(mac, k.all[i].mac(order, claims))", New: "len(mac) == 0 && claims == \"\""},
	{Name: "P39-replaced-keys-are-read-for-ever", File: tokenFile, Func: "Keys.Read", Old: "k.all[i].Replaced != 0 && ", New: "k.all[i].Replaced < 0 && "},
	{Name: "P39-replaced-keys-are-dropped", File: tokenFile, Func: "Keys.Replace", Old: "len(all) < maxKeys", New: "false"},
	{Name: "schedule-catches-up-a-day", File: "shared/workflow/source/schedule.go", Func: "builder.schedule", Old: "limitCatchUp, core.Hour", New: "limitCatchUp, core.Day"},
	{Name: "P39-others-may-read-the-keys", File: "shared/token/file.go", Func: "Exposed", Old: "info.Mode().Perm()&0o007 != 0", New: "false"},
	{Name: "P39-exposed-keys-make-tokens-later", File: "dev/embedded/workflows.go", Func: "Runtime.loadFiles", Old: "s.tokens == nil", New: "s.tokens != nil"},
	{Name: "P39-the-page-decides-the-present-round", File: pageFile, Func: "answer", Old: "Round: round,", New: "Round: 1,"},
	{Name: "P39-a-page-may-be-framed", File: pageFile, Func: "write", Old: "h.Set(\"X-Frame-Options\", \"DENY\")", New: ""},
	{Name: "P39-a-page-passes-on-its-address", File: pageFile, Func: "write", Old: "h.Set(\"Referrer-Policy\", \"no-referrer\")", New: ""},
	{Name: "P39-a-page-asks-after-the-decision", File: pageFile, Func: "Read", Old: "case !going || !open:", New: "case false:"},
	{Name: "P39-links-of-mails-are-refused", File: "dev/api/edge.go", Func: "New", Old: "answerpage.New(c.Backend), own", New: "ownOrigin(answerpage.New(c.Backend)), own"},
	{Name: "P39-the-answer-page-opens-the-rest", File: "dev/api/edge.go", Func: "New", Old: "ownOrigin(routes(c))", New: "routes(c)"},
	{Name: "P39-a-path-is-read-in-two-ways", File: "dev/api/guard.go", Func: "guard", Old: "!plainPath(r.URL)", New: "false"},
	{Name: "P34-time-may-leave-the-calendar", File: exprFunctions, Func: "addTime", Old: "t.Year() > 9999", New: "false"},
	{Name: "P34-time-span-in-days-has-no-end", File: exprFunctions, Func: "addTime", Old: "n > maxDays", New: "false"},
	{Name: "workflow-more-people-needed-than-may-answer", File: sourceAnswer, Func: "builder.people", Old: "need > len(names)", New: "false"},
	{Name: "workflow-question-sees-its-answer", File: exprCheck, Func: "check.identifier", Old: "if c.scope.Value {", New: "if true {"},
	{Name: "workflow-schema-of-an-event-reads-files", File: exprAnswer, Func: "compileSchema", Old: "c.UseLoader(noLoader{})", New: ""},
	{Name: "workflow-event-has-any-shape", File: exprAnswer, Func: "Expressions.CheckAnswer", Old: "if x.schemas[step] == nil {", New: "if true {"},
	{Name: "workflow-answer-may-be-awaited-for-years", File: sourceAnswer, Func: "builder.answer", Old: "\"timeout\", limitWait", New: "\"timeout\", limitRetention"},
	{Name: "workflow-late-answer-is-none-of-the-answers", File: sourceAnswer, Func: "builder.onTimeout", Old: "!slices.Contains(a.Values, given.text)", New: "false"},
	{Name: "workflow-late-answer-has-any-shape", File: sourceAnswer, Func: "builder.onTimeout", Old: "if a.Schema == nil {", New: "if true {"},
	{Name: "P22-late-answer-undoes-past-the-point-of-no-return", File: sourceMeaning, Func: "builder.stops", Old: "s.OnFailure != core.OnFailureUndo && !late", New: "s.OnFailure != core.OnFailureUndo"},
	{Name: "P50-message-holds-an-expression", File: sourceFail, Func: "builder.fail", Old: `strings.Contains(text, "${")`, New: "false"},
	{Name: "P50-message-of-any-length", File: sourceFail, Func: "builder.fail", Old: "len(text) > core.MaxMessage", New: "false"},
	{Name: "P50-rule-stops-where-nothing-is-said", File: sourceFail, Func: "builder.fail", Old: "OnFailure: core.OnFailureUndo", New: "OnFailure: core.OnFailureStop"},
	{Name: "P50-rule-must-declare-an-undo", File: sourceMeaning, Func: "builder.undoable", Old: " || s.Fail != nil || s.Each != nil {", New: " || s.Each != nil {"},
	{Name: "P31-no-time-for-the-ledger", File: sourceMeaning, Func: "builder.holds", Old: "case s.Grade == core.Plain:", New: "case false:"},
	{Name: "P22a-no-time-for-the-ledger", File: sourceMeaning, Func: "builder.holds", Old: "case s.PointOfNoReturn:", New: "case false:"},
	{Name: "P22-second-point-of-no-return-undoes", File: sourceMeaning, Func: "builder.stops", Old: "if s.OnFailure != core.OnFailureUndo && !late ||", New: "if s.OnFailure != core.OnFailureUndo && !late || s.PointOfNoReturn ||"},
}
