package mutants

// ofAPI are mutants of the HTTP edge of embedded mode.
var ofAPI = []Mutant{
	// What comes in.
	{Name: "api-command-of-any-depth", File: "shared/api/document.go", Func: "readFormat", Old: "nesting.Check(data)", New: "nesting.Check(nil)"},
	{Name: "api-queue-request-of-any-depth", File: "shared/api/sqsproto/handler.go", Func: "call.read", Old: "nesting.Check(c.body)", New: "nesting.Check(nil)"},

	// A document that cannot be read.
	{Name: "P27-damage-stops-the-start", File: "functions/scheduler/restart.go", Func: "Scheduler.restart", Old: "case errors.Is(failed, port.ErrDamaged):", New: "case false:", Killers: []string{"embedded"}},
	{Name: "api-damage-is-sent-again-for-ever", File: "shared/embedded/backend.go", Func: "resultOf", Old: " && !errors.Is(r.Err, port.ErrDamaged)", New: ""},
	{Name: "api-damage-is-logged-at-each-sweep", File: "functions/supervisor/supervisor.go", Func: "sweep.fault", Old: "said {", New: "said && id == \"\" {", Killers: []string{"embedded"}},
	{Name: "api-damage-is-an-internal-failure", File: "shared/api/problem.go", Func: "problemOf", Old: "case errors.Is(err, port.ErrDamaged):", New: "case false:"},
}
