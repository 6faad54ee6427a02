package mutants

import (
	"fmt"
	"slices"
	"strings"
)

// Room is a group of packages, with the tests that can notice mutants of these packages. The programs draw
// and count mutants by room.
type Room struct {
	Name     string
	Packages []string // folders of the packages
	// Tests lists the folders of further tests that can notice mutants of the packages.
	Tests []string
	// Asked explains why the room is used only on request. It is "" for a room that is always used.
	Asked string
}

const cmd = "cmd/stepkeeper/internal/"

// Rooms lists all rooms. The rooms and the folders in NotProduct together contain all code of the product.
var Rooms = []Room{
	{Name: "core", Packages: []string{"shared/protocol", "shared/core"},
		Tests: []string{"functions/scheduler", "shared/state", "functions/supervisor", "workflowtest",
			"shared/view", "dev/embedded",
			"client/aws/operate"}},
	{Name: "engine", Packages: []string{"shared/engine"},
		Tests: []string{"functions/scheduler", "functions/supervisor", "dev/embedded", "workflowtest"}},
	{Name: "scheduler", Packages: []string{"functions/scheduler"}, Tests: []string{"functions/supervisor",
		"functions/scheduler/bootstrap/wiring", "dev/embedded", "workflowtest"}},
	{Name: "supervisor", Packages: []string{"functions/supervisor"},
		Tests: []string{"functions/scheduler", "functions/supervisor/bootstrap/wiring", "dev/embedded"}},
	{Name: "worker", Packages: []string{"functions/agent", "functions/agent/ledger",
		"functions/agent/worker"},
		Tests: []string{"functions/agent/httpagent", "functions/agent/agenttest", "dev/embedded"}},
	{Name: "httpagent", Packages: []string{"functions/agent/httpagent", "functions/agent/awsagent",
		"functions/agent/httpagent/agentsfile", "functions/agent/secrets"}, Tests: []string{"dev/embedded"}},
	{Name: "wiring", Packages: []string{"functions/agent/bootstrap", "functions/agent/bootstrap/wiring",
		"functions/scheduler/bootstrap", "functions/scheduler/bootstrap/wiring",
		"functions/supervisor/bootstrap", "functions/supervisor/bootstrap/wiring", "functions/agent/onlambda",
		"functions/internal/cloud", "functions/internal/renewed", "functions/internal/spans"},
		Tests: []string{"functions/agent"}},
	{Name: "port", Packages: []string{"shared/port", "shared/port/queueset"},
		Tests: []string{"shared/lambdaevent", "shared/port/queuetest", "shared/port/storetest", "dev/memory",
			"shared/sqs", "dev/sqlite", "functions/scheduler"}},
	{Name: "memory", Packages: []string{"dev/memory"},
		Tests: []string{"shared/port/queuetest", "shared/port/storetest", "functions/scheduler",
			"functions/agent/worker"}},
	{Name: "sqlite", Packages: []string{"dev/sqlite"},
		Tests: []string{"shared/port/queuetest", "shared/port/storetest", "dev/embedded"}},
	{Name: "dynamo", Packages: []string{"shared/dynamo"}, Asked: "most of its tests need a DynamoDB",
		Tests: []string{"shared/port/storetest", "verify/bench/cost", "functions/internal/cloud",
			"functions/scheduler/bootstrap/wiring", "functions/supervisor/bootstrap/wiring"}},
	{Name: "sqs", Packages: []string{"shared/sqs"}, Tests: []string{"shared/port/queuetest",
		"functions/scheduler/bootstrap/wiring", "functions/supervisor/bootstrap/wiring"}},
	{Name: "alerts", Packages: []string{"shared/incident", "shared/sns", "shared/eventbus"},
		Tests: []string{"shared/message", "functions/internal/cloud", "dev/embedded",
			"functions/scheduler/bootstrap/wiring", "functions/supervisor/bootstrap/wiring"}},
	{Name: "aws", Packages: []string{"shared/awsclient", "shared/awsclient/wire", "shared/deployment"},
		Tests: []string{"shared/sqs", "shared/sns", "shared/dynamo", "client/aws/operate"}},
	{Name: "api", Packages: []string{"dev/api", "dev/answerpage", "dev/sqsproto"},
		Tests: []string{"client", "dev/embedded", cmd + "cli"}},
	{Name: "embedded", Packages: []string{"dev/embedded", "shared/redirect", "shared/regularfile",
		"shared/tracing"}, Tests: []string{"client", cmd + "cli"}},
	{Name: "client", Packages: []string{"client", "client/aws", "client/aws/operate"},
		Tests: []string{cmd + "cli"}},
	{Name: "cli", Packages: []string{"cmd/stepkeeper", cmd + "app", cmd + "author", cmd + "cli",
		cmd + "failure",
		cmd + "local", cmd + "render", cmd + "scaffold", cmd + "source", cmd + "streams"}},
	{Name: "console", Packages: []string{cmd + "bulk", cmd + "console", cmd + "diagram", cmd + "journal"},
		Tests: []string{cmd + "cli"}},
	{Name: "expression", Packages: []string{"shared/expression", "shared/schema", "shared/token"},
		Tests: []string{"shared/workflow/source", "shared/protocol", "dev/embedded"}},
	{Name: "workflow", Packages: []string{"shared/workflow", "shared/workflow/source", "shared/suggest",
		"shared/schedule", "workflows"}, Tests: []string{"functions/supervisor", "examples/wrong-workflows",
		"dev/embedded"}},
	{Name: "audit", Packages: []string{"demo/audit"}, Tests: []string{"client", cmd + "cli"}},
	{Name: "message", Packages: []string{"shared/message", "shared/rawjson", "shared/lambdaevent"},
		Tests: []string{"functions/scheduler", "functions/supervisor", "functions/agent/worker", "shared/sns",
			"dev/embedded"}},
	{Name: "state", Packages: []string{"shared/state"},
		Tests: []string{"dev/sqlite", "shared/dynamo", "shared/port/storetest", "functions/scheduler",
			"functions/internal/cloud", "functions/scheduler/bootstrap/wiring", "dev/embedded"}},
	{Name: "view", Packages: []string{"shared/view"},
		Tests: []string{"dev/api", "client/aws/operate", cmd + "cli",
			"workflowtest"}},
	{Name: "testing", Packages: []string{"workflowtest", "functions/agent/agenttest"},
		Tests: []string{"workflows", "examples/expense", "examples/kyc", "examples/shipments"}},
	{Name: "infra",
		Packages: []string{"infra", "infra/build", "infra/content", "infra/limits", "infra/project"},
		Asked:    "its tests need Node 20 and synthesize templates for minutes"},
}

// NotProduct lists the folders below [ProductRoots] that belong to no room, with the reasons.
var NotProduct = map[string]string{
	"infra/app":                "a main that reads settings of the CDK, and its example",
	"infra/emulate":            "fits the template for emulators, and never runs in production",
	"dev/api/apitest":          "a testing suite",
	"shared/awsclient/awstest": "a testing suite",
	"shared/dynamo/dynamotest": "a testing suite",
}

// ProductRoots lists the folders that contain the code of the product.
var ProductRoots = []string{"client", "cmd", "dev", "functions", "infra", "shared", "demo/audit", "workflows",
	"workflowtest"}

// Choose returns the rooms that a comma-separated list names. For "" it returns all rooms whose Asked is "".
func Choose(names string) ([]Room, error) {
	if names == "" {
		return slices.DeleteFunc(slices.Clone(Rooms), func(r Room) bool { return r.Asked != "" }), nil
	}
	var chosen []Room
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(Rooms, func(r Room) bool { return r.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no room %q; there are %s", name, RoomNames())
		}
		chosen = append(chosen, Rooms[i])
	}
	return chosen, nil
}

// RoomNames returns the names of all rooms, separated by commas.
func RoomNames() string {
	var names []string
	for _, r := range Rooms {
		names = append(names, r.Name)
	}
	return strings.Join(names, ", ")
}

// roomOf returns the room that contains the mutant's package. It returns a Room without packages if no room
// contains the package.
func roomOf(m *Mutant) *Room {
	i := slices.IndexFunc(Rooms, func(r Room) bool { return slices.Contains(r.Packages, m.Package()) })
	if i < 0 {
		return &Room{}
	}
	return &Rooms[i]
}

// folders returns the folders of all tests that may notice a mutant. The parameter own is the folder of the
// mutant's package, and comes first in the result.
func (r *Room) folders(own string) []string {
	others := slices.DeleteFunc(slices.Clone(r.Packages), func(p string) bool { return p == own })
	return slices.Concat([]string{own}, others, r.Tests)
}
