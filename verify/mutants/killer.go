package mutants

import "slices"

// Killer is a set of tests that can notice mutants: one test binary, with its arguments.
type Killer struct {
	Name    string
	Package string   // folder, "shared/core"
	Args    []string // of the test binary
	// WithoutFaults are the arguments of the same tests with all faults off, for a simulator: what is noticed
	// with faults off does not count for it. nil: no such tests.
	WithoutFaults []string
}

// Rapid are arguments for tests that use the library of that name: its choices are the same each
// time, and a failure is neither shrunk nor kept; that it fails is all that matters here.
var Rapid = []string{"-rapid.seed=1", "-rapid.nofailfile", "-rapid.shrinktime=0s"}

// Killers are all of them.
var Killers = []Killer{
	{Name: "core", Package: "shared/core", Args: []string{"-test.run=^Test"}},
	{Name: "scheduler", Package: "functions/scheduler", Args: []string{"-test.run=^Test", "-test.short"}},
	{Name: "supervisor", Package: "functions/supervisor", Args: []string{"-test.run=^Test"}},
	{Name: "token", Package: "shared/token", Args: []string{"-test.run=^Test"}},
	{Name: "schedule", Package: "shared/schedule", Args: []string{"-test.run=^Test"}},
	{Name: "worker", Package: "functions/agent/worker", Args: []string{"-test.run=^Test"}},
	{Name: "state", Package: "shared/state", Args: slices.Concat([]string{"-test.run=^Test"}, Rapid)},
	{Name: "memory", Package: "dev/memory", Args: []string{"-test.run=^Test(Store|Queue|Queues.*|Gone|Dead.*|Ledger|Leases)$"}},
	{Name: "sqlite", Package: "dev/sqlite", Args: []string{"-test.run=^Test(Store|StoreWithoutCache|Queue|Group.*|Forgotten.*|Reopened.*|DeadLetters.*|AnOperation.*|Damage.*|Missing.*|File.*|Newer.*|Probe.*|.*Expire.*|Tasks.*|List.*)$"}},
	// Those that need no DynamoDB.
	{Name: "dynamo", Package: "shared/dynamo", Args: []string{"-test.run=^Test(What.*Mean|TooLarge.*|EveryWrite.*|Reads.*|Patience.*|Values)$"}},
	{Name: "workflowtest", Package: "workflowtest", Args: []string{"-test.run=^Test"}},
	{Name: "httpagent", Package: "functions/agent/httpagent", Args: []string{"-test.run=^Test", "-test.short"}},
	{Name: "secrets", Package: "functions/agent/secrets", Args: []string{"-test.run=^Test", "-test.short"}},
	{Name: "onlambda", Package: "functions/agent/onlambda", Args: []string{"-test.run=^Test", "-test.short"}},
	{Name: "rawjson", Package: "shared/rawjson", Args: []string{"-test.run=^Test"}},
	{Name: "message", Package: "shared/message", Args: []string{"-test.run=^Test", "-test.short"}},
	{Name: "lambdaevent", Package: "shared/lambdaevent", Args: []string{"-test.run=^Test", "-test.short"}},
	{Name: "api", Package: "dev/api", Args: []string{"-test.run=^Test", "-test.short"}},
	{Name: "sqsproto", Package: "dev/sqsproto", Args: []string{"-test.run=^Test", "-test.short"}},
	{Name: "client", Package: "client", Args: []string{"-test.run=^Test", "-test.short"}},
	{Name: "dead-letters", Package: "client", Args: []string{"-test.run=^Test(DeadLetters|Redrive|Handlings)", "-test.short"}},
	{Name: "stack", Package: "client/aws", Args: []string{"-test.run=^Test", "-test.short"}},
	{Name: "cli-orders", Package: "cmd/stepkeeper/internal/cli",
		Args: []string{"-test.run=^Test(WorstExitCode|UndoSaysWhatItWaitsFor|CommandsRefused|Init|InitOverwritesNothing|Bulk|UnattendedAgent|UnattendedAgentOnAStack|BrokenWorkflow|OrderGoesOnWithTheFixedWorkflow|DoctorOfAServer|DoctorOfAStack|DeadLettersAre.*)$"}},
	{Name: "cli", Package: "cmd/stepkeeper/internal/cli", Args: []string{"-test.run=^Test", "-test.short"}},
	{Name: "console", Package: "cmd/stepkeeper/internal/console", Args: []string{"-test.run=^Test", "-test.short"}},
	{Name: "bulk", Package: "cmd/stepkeeper/internal/console", Args: []string{"-test.run=^TestBulk", "-test.short"}},
	{Name: "diagram", Package: "cmd/stepkeeper/internal/diagram", Args: []string{"-test.run=^Test", "-test.short"}},
	{Name: "sqs", Package: "shared/sqs", Args: []string{"-test.run=^Test", "-test.short"}},
	{Name: "sns", Package: "shared/sns", Args: []string{"-test.run=^Test", "-test.short"}},
	{Name: "incident", Package: "shared/incident", Args: []string{"-test.run=^Test"}},
	{Name: "alerts", Package: "dev/embedded", Args: []string{"-test.run=^TestAlert"}},
	{Name: "spans", Package: "dev/embedded", Args: []string{"-test.run=^TestSpans$"}},
	{Name: "tracing", Package: "shared/tracing", Args: []string{"-test.run=^Test"}},
	{Name: "metrics", Package: "dev/embedded", Args: []string{"-test.run=^TestMetrics"}},
	{Name: "embedded", Package: "dev/embedded", Args: []string{"-test.run=^Test", "-test.short"}},
	{Name: "agent-wiring", Package: "functions/agent/bootstrap/wiring", Args: []string{"-test.run=^Test", "-test.short"}},
	{Name: "scheduler-wiring", Package: "functions/scheduler/bootstrap/wiring", Args: []string{"-test.run=^Test", "-test.short"}},
	{Name: "supervisor-wiring", Package: "functions/supervisor/bootstrap/wiring", Args: []string{"-test.run=^Test", "-test.short"}},
	{Name: "cloud", Package: "functions/internal/cloud", Args: []string{"-test.run=^Test", "-test.short"}},
	{Name: "view", Package: "shared/view", Args: []string{"-test.run=^Test", "-test.short"}},
	{Name: "source", Package: "shared/workflow/source", Args: []string{"-test.run=^Test", "-test.short"}},
	{Name: "expression", Package: "shared/expression", Args: []string{"-test.run=^Test", "-test.short"}},
	{Name: "deployment", Package: "shared/deployment", Args: []string{"-test.run=^Test", "-test.short"}},
	// The templates, which need Node 20; the whole takes minutes.
	{Name: "infra", Package: "infra", Args: []string{"-test.run=^Test(Senders|QueuePolicies|Queues|Alarms|Schedule|Mappings|HastyWorkflow|ReplySenders|WhoMayWhat|AgentThatOperates|Priorities|PrioritiesRefused)$"}},
	{Name: "infra-keys", Package: "infra", Args: []string{"-test.run=^Test(AdoptedWithKey|KeyAnywhere)$"}},
	{Name: "infra-sizes", Package: "infra", Args: []string{"-test.run=^Test(Sizes|OperatorsRightsAreWhole|MappingsAreTold|EnvironmentIsRead|EnvironmentTooLarge|PoliciesTooLarge)$"}},
	// The simulator, over the real core and actors: no mutant's own killer, tried with -by simulate.
	{Name: "simulate", Package: "verify/mutants/simulated", Args: []string{"-test.run=^TestMutant$"}, WithoutFaults: []string{"-test.run=^TestMutantWithoutFaults$"}},
	// The exhaustive exploration at small scope, tried with -by explore.
	{Name: "explore", Package: "verify/mutants/simulated", Args: []string{"-test.run=^TestMutantExplored$"}},
}

// killersOf a package, where a mutant names none.
var killersOf = map[string][]string{
	"shared/core":                           {"core", "state", "scheduler", "supervisor"},
	"shared/engine":                         {"scheduler", "supervisor"},
	"functions/scheduler":                   {"scheduler"},
	"functions/supervisor":                  {"supervisor", "scheduler"},
	"shared/schedule":                       {"schedule", "supervisor"},
	"shared/token":                          {"token"},
	"dev/answerpage":                        {"embedded"},
	"functions/agent/worker":                {"worker"},
	"shared/port":                           {"memory", "sqlite"},
	"shared/state":                          {"state", "scheduler"},
	"dev/memory":                            {"memory"},
	"dev/sqlite":                            {"sqlite"},
	"shared/dynamo":                         {"dynamo"},
	"functions/agent/httpagent":             {"httpagent"},
	"functions/agent/secrets":               {"secrets"},
	"functions/agent/onlambda":              {"onlambda"},
	"shared/rawjson":                        {"rawjson"},
	"shared/message":                        {"message"},
	"shared/lambdaevent":                    {"lambdaevent"},
	"dev/api":                               {"api"},
	"dev/sqsproto":                          {"sqsproto"},
	"client":                                {"client"},
	"client/aws":                            {"stack"},
	"cmd/stepkeeper/internal/cli":           {"cli-orders", "cli"},
	"cmd/stepkeeper/internal/bulk":          {"bulk"},
	"shared/incident":                       {"incident"},
	"cmd/stepkeeper/internal/console":       {"console"},
	"cmd/stepkeeper/internal/diagram":       {"diagram"},
	"shared/sqs":                            {"sqs"},
	"shared/sns":                            {"sns"},
	"dev/embedded":                          {"embedded"},
	"shared/regularfile":                    {"embedded"},
	"functions/agent/bootstrap/wiring":      {"agent-wiring"},
	"functions/scheduler/bootstrap/wiring":  {"scheduler-wiring"},
	"functions/supervisor/bootstrap/wiring": {"supervisor-wiring"},
	"shared/view":                           {"view"},
	"shared/workflow/source":                {"source"},
	"shared/expression":                     {"expression", "source"},
	"infra":                                 {"infra", "infra-keys", "infra-sizes"},
	"shared/deployment":                     {"deployment"},
}

func killer(name string) (Killer, bool) {
	i := slices.IndexFunc(Killers, func(k Killer) bool { return k.Name == name })
	if i < 0 {
		return Killer{}, false
	}
	return Killers[i], true
}

func (m *Mutant) killers() []string {
	if len(m.Killers) > 0 {
		return m.Killers
	}
	return killersOf[m.Package()]
}
