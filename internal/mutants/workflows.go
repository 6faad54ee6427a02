package mutants

const (
	sourceMeaning  = "shared/workflow/source/meaning.go"
	sourceGraph    = "shared/workflow/source/graph.go"
	sourceTemplate = "shared/workflow/source/template.go"
	exprSkipped    = "shared/expression/skipped.go"
	exprOperators  = "shared/expression/operators.go"
	exprFunctions  = "shared/expression/functions.go"
)

// ofWorkflows are mutants of workflow files and expressions.
var ofWorkflows = []Mutant{
	{Name: "workflow-integer-difference-wraps", File: exprOperators, Func: "integers", Old: "if s := i - j; (s < i) == (j > 0) {", New: "if s := i - j; true {"},
	{Name: "workflow-integer-sum-wraps", File: exprOperators, Func: "integers", Old: "if s := i + j; (s > i) == (j > 0) {", New: "if s := i + j; true {"},
	{Name: "workflow-int-wraps", File: exprFunctions, Func: "toInt", Old: "f >= 1<<63", New: "f > 1<<63"},
	{Name: "workflow-reads-skipped-output", File: exprSkipped, Func: "check.skipped", Old: "if !reads ||", New: "if true || !reads ||"},
	{Name: "workflow-any-part-of-a-condition-proves", File: exprSkipped, Func: "check.follows", Old: "!slices.ContainsFunc(there, func(part string) bool { return !slices.Contains(here, part) })", New: "slices.ContainsFunc(there, func(part string) bool { return slices.Contains(here, part) })"},
	{Name: "workflow-or-proves-like-and", File: exprSkipped, Func: "program.notSkipped", Old: "if holds == (n.Operator == \"&&\" || n.Operator == \"and\") {", New: "if true {"},
	{Name: "workflow-unknown-after-is-an-order", File: sourceGraph, Func: "newGraph", Old: "g.sorted, g.before = nil, nil", New: ""},
	{Name: "workflow-scalar-after-is-an-order", File: sourceGraph, Func: "newGraph", Old: "if after.shape != isList {", New: "if false {"},
	{Name: "workflow-braces-are-sent-without-warning", File: sourceTemplate, Func: "builder.literal", Old: `strings.Contains(v.text, "{{") && strings.Contains(v.text, "}}")`, New: "false"},
	{Name: "P31-no-time-for-the-ledger", File: sourceMeaning, Func: "builder.holds", Old: "case s.Grade == core.Plain:", New: "case false:"},
	{Name: "P22a-no-time-for-the-ledger", File: sourceMeaning, Func: "builder.holds", Old: "case s.PointOfNoReturn:", New: "case false:"},
	{Name: "P22-second-point-of-no-return-undoes", File: sourceMeaning, Func: "builder.stops", Old: "if s.OnFailure != core.OnFailureUndo {", New: "if s.OnFailure != core.OnFailureUndo || s.PointOfNoReturn {"},
}
