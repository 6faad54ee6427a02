package mutants

// ofInfra are mutants of the templates, whose tests need Node.
var ofInfra = []Mutant{
	{Name: "A28-names-as-long-as-ever", File: "infra/policies.go", Func: "Stepkeeper.sizeOfARN",
		Old: "min(longest, ", New: "max(longest, "},
	{Name: "A21-any-mapping", File: "infra/policies.go", Func: "Stepkeeper.operatorAccess",
		Old: `[]string{"lambda:GetEventSourceMapping"}, mappings...)`,
		New: `[]string{"lambda:GetEventSourceMapping"}, append(mappings[:0], str("*"))...)`},
	{Name: "infra-operator-of-its-own-mapping", File: "infra/grants.go", Func: "Stepkeeper.GrantOperate",
		Old: "policy.AttachToRole(role)", New: "role.AddManagedPolicy(policy)"},
	{Name: "A29-anonymous-requests-pass", File: "infra/queues.go", Func: "Stepkeeper.onlyThisAccount",
		Old: `"BoolIfExists":    map`, New: `"Bool": map`},
	{Name: "A22-own-function-without-key", File: "infra/agents.go", Func: "Stepkeeper.roleAccess",
		Old: "if s.key != nil {", New: "if s.key != nil && a.External {"},
	{Name: "A33-ten-by-default", File: "infra/check.go", Func: "checker.mapping",
		Old: "m.MaxConcurrency = cmp.Or(m.MaxConcurrency, 5)",
		New: "m.MaxConcurrency = cmp.Or(m.MaxConcurrency, 10)"},
	{Name: "A17-alarm-periods-of-a-minute", File: "infra/alarms.go", Func: "Stepkeeper.addAlarms",
		Old: `every(s.props.SweepInterval, "Sum")`, New: `minute("Sum")`},
	{Name: "A16-always-each-minute", File: "infra/supervisor.go", Func: "Stepkeeper.sweepRate",
		Old: "seconds(s.props.SweepInterval)", New: "seconds(time.Minute)"},
}
