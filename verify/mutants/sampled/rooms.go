package main

import (
	"fmt"
	"slices"
	"strings"
)

// room is a group of packages that are drawn from and counted together.
type room struct {
	Name     string
	Packages []string // folders
	// Tests are the folders of the tests that can notice its mutants, beside those of its packages.
	Tests []string
	// Asked says why it is drawn from only where ROOM names it; "": always.
	Asked string
}

const cli = "cmd/stepkeeper/internal/"

// rooms are all of the product's code.
var rooms = []room{
	{Name: "core", Packages: []string{"shared/core"}, Tests: []string{"functions/scheduler", "functions/supervisor", "workflowtest"}},
	{Name: "engine", Packages: []string{"shared/engine"}, Tests: []string{"functions/scheduler", "functions/supervisor", "dev/embedded", "workflowtest"}},
	{Name: "scheduler", Packages: []string{"functions/scheduler"}, Tests: []string{"functions/supervisor", "functions/scheduler/bootstrap/wiring", "dev/embedded", "workflowtest"}},
	{Name: "supervisor", Packages: []string{"functions/supervisor"}, Tests: []string{"functions/scheduler", "functions/supervisor/bootstrap/wiring", "dev/embedded"}},
	{Name: "worker", Packages: []string{"functions/agent", "functions/agent/worker"}, Tests: []string{"functions/agent/httpagent", "functions/agent/agenttest", "dev/embedded"}},
	{Name: "httpagent", Packages: []string{"functions/agent/httpagent", "functions/agent/httpagent/agentsfile", "functions/agent/secrets"}, Tests: []string{"dev/embedded"}},
	{Name: "wiring", Packages: []string{"functions/agent/bootstrap", "functions/agent/bootstrap/wiring", "functions/scheduler/bootstrap", "functions/scheduler/bootstrap/wiring",
		"functions/supervisor/bootstrap", "functions/supervisor/bootstrap/wiring", "functions/agent/onlambda", "functions/internal/cloud"}, Tests: []string{"functions/agent"}},
	{Name: "port", Packages: []string{"shared/port", "shared/port/queueset"}, Tests: []string{"dev/memory", "dev/sqlite", "shared/sqs", "functions/scheduler"}},
	{Name: "memory", Packages: []string{"dev/memory"}, Tests: []string{"functions/scheduler", "functions/agent/worker"}},
	{Name: "sqlite", Packages: []string{"dev/sqlite"}, Tests: []string{"dev/embedded"}},
	{Name: "dynamo", Packages: []string{"shared/dynamo"}, Asked: "most of its tests need a DynamoDB", Tests: []string{"functions/scheduler/bootstrap/wiring", "functions/supervisor/bootstrap/wiring"}},
	{Name: "sqs", Packages: []string{"shared/sqs"}, Tests: []string{"functions/scheduler/bootstrap/wiring", "functions/supervisor/bootstrap/wiring"}},
	{Name: "alerts", Packages: []string{"shared/incident", "shared/sns"}, Tests: []string{"shared/message", "functions/internal/cloud", "dev/embedded", "functions/scheduler/bootstrap/wiring", "functions/supervisor/bootstrap/wiring"}},
	{Name: "aws", Packages: []string{"shared/awsclient", "shared/awsclient/wire", "shared/deployment"}, Tests: []string{"shared/sqs", "shared/sns", "shared/dynamo", "client/aws"}},
	{Name: "api", Packages: []string{"dev/api", "dev/answerpage", "dev/sqsproto"}, Tests: []string{"client", "dev/embedded", cli + "cli"}},
	{Name: "embedded", Packages: []string{"dev/embedded", "shared/regularfile", "shared/tracing"}, Tests: []string{"client", cli + "cli"}},
	{Name: "client", Packages: []string{"client", "client/aws"}, Tests: []string{cli + "cli"}},
	{Name: "cli", Packages: []string{"cmd/stepkeeper", cli + "cli", cli + "failure", cli + "render", cli + "scaffold", cli + "source", cli + "streams"}},
	{Name: "console", Packages: []string{cli + "bulk", cli + "console", cli + "diagram", cli + "journal"}, Tests: []string{cli + "console"}},
	{Name: "expression", Packages: []string{"shared/expression", "shared/token"}, Tests: []string{"shared/workflow/source", "shared/core", "dev/embedded"}},
	{Name: "workflow", Packages: []string{"shared/workflow", "shared/workflow/source", "shared/suggest", "shared/schedule", "workflows"}, Tests: []string{"functions/supervisor", "examples/wrong-workflows", "dev/embedded"}},
	{Name: "audit", Packages: []string{"verify/audit"}, Tests: []string{"client", cli + "cli"}},
	{Name: "message", Packages: []string{"shared/message", "shared/rawjson", "shared/lambdaevent"}, Tests: []string{"functions/scheduler", "functions/supervisor", "functions/agent/worker"}},
	{Name: "state", Packages: []string{"shared/state"}, Tests: []string{"dev/sqlite", "shared/dynamo", "functions/scheduler"}},
	{Name: "view", Packages: []string{"shared/view"}, Tests: []string{"dev/api", "client/aws", cli + "cli"}},
	{Name: "testing", Packages: []string{"workflowtest", "functions/agent/agenttest"}},
	{Name: "infra", Packages: []string{"infra", "infra/build"}, Asked: "its tests need Node 20 and synthesize templates for minutes"},
}

// notProduct are the folders under [productRoots] that are not drawn from, with the reason.
var notProduct = map[string]string{
	"infra/app":                "a main that reads settings of the CDK, and its example",
	"infra/emulate":            "fits the template for emulators, and never runs in production",
	"dev/api/apitest":          "a testing suite",
	"shared/awsclient/awstest": "a testing suite",
	"shared/awsclient/faults":  "faults for tests",
	"shared/awsclient/meter":   "measures costs",
	"shared/dynamo/dynamotest": "a testing suite",
	"shared/port/queuetest":    "a testing suite",
	"shared/port/storetest":    "a testing suite",
}

// productRoots are the folders that hold the product.
var productRoots = []string{"client", "cmd", "dev", "functions", "infra", "shared", "verify/audit", "workflows", "workflowtest"}

// choose answers the rooms of a comma-separated list; "" means all that need not be asked for.
func choose(names string) ([]room, error) {
	if names == "" {
		return slices.DeleteFunc(slices.Clone(rooms), func(r room) bool { return r.Asked != "" }), nil
	}
	var chosen []room
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(rooms, func(r room) bool { return r.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no room %q; there are %s", name, roomNames())
		}
		chosen = append(chosen, rooms[i])
	}
	return chosen, nil
}

func roomNames() string {
	var names []string
	for _, r := range rooms {
		names = append(names, r.Name)
	}
	return strings.Join(names, ", ")
}

// tests are the folders of all tests that may notice a mutant of the room, its own first.
func (r *room) tests() []string { return slices.Concat(r.Packages, r.Tests) }
