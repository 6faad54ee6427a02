package mutants

// ofHTTPAgent are mutants of the ready agent for HTTP services.
var ofHTTPAgent = []Mutant{
	{Name: "httpagent-answer-of-any-depth", File: "functions/agent/httpagent/response.go", Func: "answer.output", Old: "nesting.Check(body)", New: "nesting.Check(nil)"},
}
