package mutants

// ofCLI are mutants of the command line, and of what it alone shows: which commands are accepted, which
// agents nothing runs.
var ofCLI = []Mutant{
	{Name: "cli-last-exit-code", File: "cmd/stepkeeper/internal/cli/command.go", Func: "runCommand",
		Old: "worst = failure.Worst(worst, code)", New: "worst = code"},
	{Name: "cli-mildest-exit-code", File: "cmd/stepkeeper/internal/failure/failure.go", Func: "Worst",
		Old: "range severity", New: "range slices.Backward(severity)", Killers: []string{"cli-orders"}},
	{Name: "cli-refused-before-unreadable", File: "cmd/stepkeeper/internal/cli/report.go", Func: "report.finish",
		Old: "if r.bad > 0 {", New: "if r.bad > 0 && r.refused == 0 {"},
	{Name: "cli-init-overwrites", File: "cmd/stepkeeper/internal/scaffold/scaffold.go", Func: "write",
		Old: "; err == nil {\n\t\t\treturn nil, &ExistsError", New: "; err == nil && name == \"\" {\n\t\t\treturn nil, &ExistsError", Killers: []string{"cli-orders"}},
	{Name: "cli-dry-run-sends", File: "cmd/stepkeeper/internal/cli/command.go", Func: "commandOptions.send",
		Old: "if o.dryRun {", New: "if o.dryRun && o.name == \"\" {"},
	{Name: "cli-filter-without-step", File: "cmd/stepkeeper/internal/cli/command.go", Func: "commandOptions.selected",
		Old: "s.Error.Step == o.filter.step", New: "s.Error.Step != \"\""},
	{Name: "cli-empty-filter", File: "cmd/stepkeeper/internal/cli/command.go", Func: "commandOptions.checkFilter",
		Old: "case o.filter.empty() && len(o.ids) == 0:", New: "case o.filter.empty() && len(o.ids) == 0 && o.dryRun:"},
	{Name: "cli-offers-what-is-refused", File: "shared/view/details.go", Func: "accepts",
		Old: "d.Verdict.Accepted", New: "d.Verdict.ID != \"\""},
	{Name: "cli-offers-before-the-time", File: "shared/view/details.go", Func: "accepts",
		Old: "core.TimeOf(now)", New: "core.TimeOf(now.Add(time.Hour))"},
	{Name: "cli-agent-at-work-unattended", File: "shared/embedded/attended.go", Func: "attended.unattended",
		Old: "|| depth.InFlight > 0", New: "", Killers: []string{"cli-orders"}},
	{Name: "cli-unattended-while-received", File: "shared/embedded/attended.go", Func: "attended.Receive",
		Old: "q.last = q.clock.Now()", New: "_ = q.clock", Killers: []string{"cli-orders"}},
	{Name: "cli-unattended-of-other-steps", File: "shared/view/unattended.go", Func: "Task.Await",
		Old: "s.Agent == u.Agent && s.InFlight()", New: "s.Agent == u.Agent", Killers: []string{"cli-orders"}},
	{Name: "cli-stack-unattended-while-handled", File: "client/stack/unattended.go", Func: "transport.unattended",
		Old: "|| depth.InFlight > 0", New: ""},
	{Name: "cli-broken-workflow-unknown", File: "shared/embedded/workflows.go", Func: "workflows.broken",
		Old: "return d.problems[file][0]", New: "return \"\"", Killers: []string{"cli-orders"}},
}
