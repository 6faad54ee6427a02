// Package importrules holds the rules of who may import whom, and checks them over the whole
// import graph, indirect imports included. The linter (depguard) reports direct breaches at their
// line; this is the check that cannot be got round by an import in between.
package importrules

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Module is the path that all packages of the project start with.
const Module = "github.com/stepkeeper/stepkeeper"

// Package is one package of the module with everything that it needs, directly or not.
type Package struct {
	Path string
	Deps []string
}

// Rule says what the packages in some rooms must not depend on. Rooms and Never are paths inside
// the module; a path stands for itself and all below it.
type Rule struct {
	Rooms []string
	Never []string // paths inside the module; "" is the whole module
	// Foreign are import paths outside the module that are forbidden; "*" is everything but the
	// standard library.
	Foreign []string
	// Wiring rooms keep the rule too, though they may put actors and adapters together.
	Wiring bool
	Why    string
}

var (
	actors   = []string{"functions/scheduler", "functions/supervisor", "functions/agent/worker", "functions/agent/httpagent"}
	adapters = []string{"shared/memory", "shared/sqlite", "shared/dynamo", "shared/sqs", "shared/sns"}
)

// cdk are the modules of the infrastructure.
var cdk = []string{"github.com/aws/aws-cdk-go", "github.com/aws/constructs-go", "github.com/aws/jsii-runtime-go", "github.com/cdklabs"}

// Rules are the project's.
func Rules() []Rule {
	rules := []Rule{
		{Rooms: []string{"shared/core"}, Never: []string{""}, Foreign: []string{"*"},
			Why: "the core is a pure function and imports the standard library only"},
		{Rooms: []string{"shared/core"}, Foreign: []string{"net/http", "os/exec", "database/sql", "math/rand", "math/rand/v2"},
			Why: "the core does no I/O and has no randomness"},
		{Rooms: []string{"shared/port", "shared/message"}, Never: append(slices.Clone(adapters), actors...), Foreign: []string{"github.com/aws"},
			Why: "ports and messages are what actors and adapters have in common"},
		{Rooms: actors, Never: append(slices.Clone(adapters), "shared/embedded", "shared/api", "client", "cmd"), Foreign: []string{"github.com/aws"},
			Why: "actors know ports, never adapters or AWS"},
		{Rooms: []string{"shared/engine"}, Never: slices.Concat(adapters, actors, []string{"shared/embedded", "shared/api", "client", "cmd"}), Foreign: []string{"github.com/aws"},
			Why: "the engine lies under the actors, and knows ports only"},
		{Rooms: adapters, Never: append(slices.Clone(actors), "functions", "shared/embedded", "shared/api", "client", "cmd"),
			Why: "adapters never import actors, nor what wires them"},
		{Rooms: []string{"shared/audit"}, Never: []string{""},
			Why: "an audit that shared code with the engine would share its faults"},
		{Rooms: []string{"functions", "shared", "client", "workflowtest"}, Never: []string{"infra"}, Foreign: cdk, Wiring: true,
			Why: "what runs knows nothing of how it is deployed"},
	}
	for _, a := range adapters {
		others := slices.DeleteFunc(slices.Clone(adapters), func(b string) bool { return a == b })
		rules = append(rules, Rule{Rooms: []string{a}, Never: others, Why: "adapters never import each other"})
	}
	return rules
}

// LambdaTag is the build tag of what is deployed to Lambda.
const LambdaTag = "lambda.norpc"

// Deployed are the rules of what is deployed to Lambda: the functions that ship, and an agent as its
// author gives it in a folder. They hold for the import graph with LambdaTag.
func Deployed() []Rule {
	return []Rule{{
		Rooms: []string{"functions/scheduler/bootstrap", "functions/supervisor/bootstrap", "functions/agent/bootstrap", "examples/agent-go"},
		Never: []string{"shared/sqlite", "shared/memory", "shared/workflow/source", "functions/agent/httpagent/agentsfile", "shared/embedded", "shared/api", "shared/simulate", "cmd"},
		Foreign: []string{
			"github.com/goccy/go-yaml", "gopkg.in/yaml.v2", "gopkg.in/yaml.v3", "go.yaml.in/yaml", "sigs.k8s.io/yaml",
			"github.com/santhosh-tekuri/jsonschema", "go.opentelemetry.io", "github.com/aws/aws-xray-sdk-go", "github.com/prometheus",
			"modernc.org", "database/sql", "github.com/aws/aws-sdk-go-v2/config",
		},
		Wiring: true,
		Why:    "a function stays small: no YAML, JSON Schema, telemetry or SQLite in it, and no search for credentials",
	}}
}

// Check lists every breach of the rules, sorted; none is the good end.
func Check(packages []Package, rules []Rule) []string {
	var breaches []string
	for _, p := range packages {
		room, ours := inModule(p.Path)
		if !ours {
			continue
		}
		for _, r := range rules {
			if !under(room, r.Rooms) || wires(room) && !r.Wiring {
				continue
			}
			for _, dep := range p.Deps {
				if r.forbids(p.Path, dep) {
					breaches = append(breaches, fmt.Sprintf("%s depends on %s: %s", p.Path, dep, r.Why))
				}
			}
		}
	}
	sort.Strings(breaches)
	return slices.Compact(breaches)
}

func (r Rule) forbids(from, dep string) bool {
	if room, ours := inModule(dep); ours {
		// A room may be split into packages of its own.
		return under(room, r.Never) && !sameRoom(from, dep, r.Rooms)
	}
	for _, f := range r.Foreign {
		if f == "*" && !standard(dep) || dep == f || strings.HasPrefix(dep, f+"/") {
			return true
		}
	}
	return false
}

// wires reports the rooms below functions that put actors and adapters together.
func wires(room string) bool { return strings.Contains(room+"/", "/bootstrap/") }

// sameRoom reports that both lie in one of the rooms.
func sameRoom(a, b string, rooms []string) bool {
	ra, _ := inModule(a)
	rb, _ := inModule(b)
	return slices.ContainsFunc(rooms, func(r string) bool {
		return under(ra, []string{r}) && under(rb, []string{r})
	})
}

// inModule cuts the module's path off; false for packages of others.
func inModule(path string) (string, bool) {
	if path == Module {
		return "", true
	}
	return strings.CutPrefix(path, Module+"/")
}

func under(path string, rooms []string) bool {
	return slices.ContainsFunc(rooms, func(r string) bool {
		return r == "" || path == r || strings.HasPrefix(path, r+"/")
	})
}

// standard reports a package of the standard library: the first element has no dot.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}
