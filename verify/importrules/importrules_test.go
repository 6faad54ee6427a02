// Package importrules holds the rules of who may import whom over the whole import graph, indirect imports
// included. The linter (depguard), whose lists these are, reports direct breaches at their line; this is the
// check that an import in between does not get round.
package importrules

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// Module is the path that all packages of the project start with.
const Module = "github.com/stepkeeper/stepkeeper"

// Package is one package of the module with what it imports, and everything that it needs, directly or not.
type Package struct {
	Path          string
	Imports, Deps []string
}

// Rule is one list of depguard.
type Rule struct {
	Mode  string `yaml:"list-mode"`
	Files []string
	Allow []string
	Deny  []struct{ Pkg, Desc string }
}

// rules are those that the linter is configured with.
func rules(t *testing.T) map[string]Rule {
	t.Helper()
	text, err := os.ReadFile("../../.golangci.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Linters struct {
			Settings struct {
				Depguard struct{ Rules map[string]Rule }
			}
		}
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	if len(config.Linters.Settings.Depguard.Rules) == 0 {
		t.Fatal("the linter has no rules of imports")
	}
	return config.Linters.Settings.Depguard.Rules
}

// covers reports whether a file pattern is of the package's folder. There are two forms: a folder's *.go,
// and **.go with the folders below.
func covers(pattern, path string) bool {
	folder, ok := strings.CutPrefix(pattern, "${base-path}/")
	if all, below := strings.CutSuffix(folder, "/**.go"); below {
		return ok && (path == Module+"/"+all || strings.HasPrefix(path, Module+"/"+all+"/"))
	}
	one, alone := strings.CutSuffix(folder, "/*.go")
	return ok && alone && path == Module+"/"+one
}

// holds reports whether the rule is of the package.
func (r Rule) holds(path string) bool {
	in := false
	for _, pattern := range r.Files {
		excluded, not := strings.CutPrefix(pattern, "!")
		if not && covers(excluded, path) {
			return false
		}
		in = in || covers(pattern, path)
	}
	return in
}

// forbids answers why a dependency is forbidden; "" if it is not. As in depguard the longer entry counts.
func (r Rule) forbids(dep string) string {
	allowed := 0
	for _, a := range r.Allow {
		if a == "$gostd" && standard(dep) || strings.HasPrefix(dep, a) {
			allowed = max(allowed, len(a))
		}
	}
	for _, d := range r.Deny {
		exact, only := strings.CutSuffix(d.Pkg, "$")
		if (dep == exact || !only && strings.HasPrefix(dep, exact)) && len(d.Pkg) > allowed {
			return d.Desc
		}
	}
	if r.Mode == "strict" && allowed == 0 {
		return "it is not among what may be imported"
	}
	return ""
}

// Check lists every breach of the rules, sorted; none is the good end. Packages of the standard library
// count where they are imported: below, everything leads to some of them.
func Check(packages []Package, rules map[string]Rule) []string {
	var breaches []string
	for _, p := range packages {
		needs := slices.DeleteFunc(slices.Clone(p.Deps), standard)
		for _, r := range rules {
			if !r.holds(p.Path) {
				continue
			}
			for _, dep := range slices.Concat(p.Imports, needs) {
				if why := r.forbids(dep); why != "" {
					breaches = append(breaches, fmt.Sprintf("%s depends on %s: %s", p.Path, dep, why))
				}
			}
		}
	}
	slices.Sort(breaches)
	return slices.Compact(breaches)
}

// standard reports a package of the standard library: the first element has no dot.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// lambdaTag is the build tag of what is deployed to Lambda.
const lambdaTag = "lambda.norpc"

// deployed are the functions that ship, and an agent as its author gives it in a folder.
var deployed = []string{
	"functions/scheduler/bootstrap", "functions/supervisor/bootstrap",
	"functions/agent/bootstrap", "examples/agent-go",
}

// checking are those that check the values of events.
var checking = []string{"functions/scheduler/bootstrap", "functions/supervisor/bootstrap"}

// callsAWS has the SDKs of the services that the ready agent calls. An agent of a user's own does without
// them.
const callsAWS = Module + "/functions/agent/awsagent"

const jsonSchema = "github.com/santhosh-tekuri/jsonschema"

// ballast is what must not be in them, with the build tag: they stay small, without YAML, telemetry and
// SQLite, agents without JSON Schema too, and do not search for credentials.
var ballast = []string{
	Module + "/dev", Module + "/verify", Module + "/cmd", Module + "/shared/workflow/source",
	Module + "/functions/agent/agentsfile",
	"github.com/goccy/go-yaml", "gopkg.in/yaml.v2", "gopkg.in/yaml.v3", "go.yaml.in/yaml", "sigs.k8s.io/yaml",
	callsAWS, jsonSchema, "go.opentelemetry.io", "github.com/aws/aws-xray-sdk-go", "github.com/prometheus",
	"modernc.org", "database/sql", "github.com/aws/aws-sdk-go-v2/config",
}

// numberInterfaces holds only the interfaces that number types implement, and no SQL.
const numberInterfaces = "database/sql/driver"

// carried lists the ballast of what is deployed.
func carried(packages []Package) (found []string) {
	for _, p := range packages {
		room := strings.TrimPrefix(p.Path, Module+"/")
		if !below(room, deployed) {
			continue
		}
		for _, dep := range p.Deps {
			if dep != numberInterfaces && below(dep, ballast) &&
				!(below(room, checking) && below(dep, []string{jsonSchema})) &&
				!(below(room, []string{"functions/agent/bootstrap"}) && dep == callsAWS) {
				found = append(found, fmt.Sprintf("%s depends on %s: a function stays small", p.Path, dep))
			}
		}
	}
	return found
}

func below(path string, folders []string) bool {
	return slices.ContainsFunc(folders,
		func(f string) bool { return path == f || strings.HasPrefix(path, f+"/") })
}

// list asks the go command for every package of the module and all that each depends on, with the
// build tags given.
func list(t *testing.T, tags string) []Package {
	t.Helper()
	const format = `{{.ImportPath}}{{"\t"}}{{join .Imports " "}}{{"\t"}}{{join .Deps " "}}`
	out, err := exec.Command("go", "list", "-tags", tags, "-f", format, Module+"/...").Output()
	if err != nil {
		var stderr []byte
		if e := (*exec.ExitError)(nil); errors.As(err, &e) {
			stderr = e.Stderr
		}
		t.Fatalf("go list: %v\n%s", err, stderr)
	}
	var packages []Package
	for line := range strings.Lines(string(out)) {
		if fields := strings.Split(strings.TrimRight(line, "\n"), "\t"); len(fields) == 3 {
			packages = append(packages, Package{
				Path: fields[0], Imports: strings.Fields(fields[1]),
				Deps: strings.Fields(fields[2]),
			})
		}
	}
	return packages
}

func TestImportRules(t *testing.T) {
	packages := list(t, "")
	rules := rules(t)
	for _, breach := range Check(packages, rules) {
		t.Error(breach)
	}
	for name, r := range rules {
		for _, pattern := range r.Files {
			pattern = strings.TrimPrefix(pattern, "!")
			if pattern != "$test" && !slices.ContainsFunc(packages,
				func(p Package) bool { return covers(pattern, p.Path) }) {
				t.Errorf("rule %s: there is no package of %s", name, pattern)
			}
		}
	}
}

func TestWhatIsDeployed(t *testing.T) {
	packages := list(t, lambdaTag)
	for _, breach := range carried(packages) {
		t.Error(breach)
	}
	for _, room := range deployed {
		if !slices.ContainsFunc(packages, func(p Package) bool { return p.Path == Module+"/"+room }) {
			t.Errorf("there is no package %s; the rule would be kept by nothing", room)
		}
	}
}

// TestApplicationsDoWithoutOperatorSDKs: no package that client/aws needs imports the SDK of a service that
// operators use. The SDK's own configuration imports STS, to assume roles.
func TestApplicationsDoWithoutOperatorSDKs(t *testing.T) {
	const application, operator = Module + "/client/aws", Module + "/client/aws/operate"
	packages := list(t, "")
	at := slices.IndexFunc(packages, func(p Package) bool { return p.Path == application })
	if at < 0 {
		t.Fatalf("there is no package %s", application)
	}
	for _, service := range []string{"scheduler", "sts"} {
		path := "github.com/aws/aws-sdk-go-v2/service/" + service
		used := false
		for _, p := range packages {
			if !slices.Contains(p.Imports, path) {
				continue
			}
			used = used || p.Path == operator
			if p.Path == application || slices.Contains(packages[at].Deps, p.Path) {
				t.Errorf("%s imports %s, so each application does; it belongs into %s", p.Path, path,
					operator)
			}
		}
		if !used {
			t.Errorf("%s does not import %s; the rule would be kept by nothing", operator, path)
		}
	}
}

// Without the tag the same agent searches for credentials: what keeps it small is the tag.
func TestTheTagLeavesOut(t *testing.T) {
	if found := carried(list(t, "")); !slices.ContainsFunc(found, func(b string) bool {
		return strings.Contains(b, "examples/agent-go depends on github.com/aws/aws-sdk-go-v2/config")
	}) {
		t.Errorf("without the tag: %q", found)
	}
}

// TestRulesCatch plants one breach of each kind: a rule that nothing can break is no rule.
func TestRulesCatch(t *testing.T) {
	rules := rules(t)
	const m = Module + "/"
	for _, c := range []struct {
		name, from, dep string
		breach          bool
	}{
		{"core imports a library", m + "shared/core", "github.com/google/uuid", true},
		{"core imports the project", m + "shared/core", m + "shared/port", true},
		{"the protocol imports the project", m + "shared/protocol", m + "shared/port", true},
		{"the protocol knows tasks", m + "shared/protocol", m + "shared/core", false},
		{"the protocol opens a connection", m + "shared/protocol", "net/http", true},
		{"core opens a connection", m + "shared/core", "net/http", true},
		{"core rolls dice", m + "shared/core", "math/rand/v2", true},
		{"core does sums", m + "shared/core", "math", false},
		{"scheduler knows SQLite", m + "functions/scheduler", m + "dev/sqlite", true},
		{"supervisor knows AWS", m + "functions/supervisor", "github.com/aws/aws-sdk-go-v2/aws", true},
		{"worker knows memory", m + "functions/agent/worker", m + "dev/memory", true},
		{"agent wires", m + "functions/agent", "github.com/aws/aws-sdk-go-v2/service/sqs", false},
		{"scheduler knows ports", m + "functions/scheduler", m + "shared/port", false},
		{"the engine knows an actor", m + "shared/engine", m + "functions/scheduler", true},
		{"the engine knows DynamoDB", m + "shared/engine", m + "shared/dynamo", true},
		{"scheduler runs the engine", m + "functions/scheduler", m + "shared/engine", false},
		{
			"the Scheduler's function wires", m + "functions/scheduler/bootstrap", m + "shared/dynamo",
			false,
		},
		{"memory runs a scheduler", m + "dev/memory", m + "functions/scheduler", true},
		{"memory leans on SQLite", m + "dev/memory", m + "dev/sqlite", true},
		{"DynamoDB speaks SQS", m + "shared/dynamo", m + "shared/sqs", true},
		{"SNS runs a scheduler", m + "shared/sns", m + "functions/scheduler", true},
		{"SQS knows its client", m + "shared/sqs", m + "shared/awsclient/wire", false},
		{"the core has goroutines", m + "shared/core", "sync", true},
		{"a port knows the runtime", m + "shared/port", m + "dev/memory", true},
		{"shared knows an actor", m + "shared/view", m + "functions/scheduler", true},
		{"shared is proved by itself", m + "shared/view", m + "simulate", true},
		{"a function runs the runtime", m + "functions/scheduler/bootstrap", m + "dev/embedded", true},
		{"the cloud is simulated", m + "functions/internal/cloud", m + "internal/stacktest", true},
		{"every agent brings SQLite", m + "functions/agent", m + "dev/sqlite", true},
		{"an agent has a ledger", m + "functions/agent/ledger", m + "dev/sqlite", false},
		{"an agent's test has an edge", m + "functions/agent/agenttest", m + "dev/api", true},
		{"the runtime knows the command line", m + "dev/embedded", m + "cmd/stepkeeper/internal/cli", true},
		{"the runtime runs actors", m + "dev/embedded", m + "functions/supervisor", false},
		{"a client runs the runtime", m + "client", m + "dev/embedded", true},
		{"a client reads tables", m + "client/aws", m + "shared/dynamo", false},
		{"tests of workflows run on SQLite", m + "workflowtest", m + "dev/sqlite", true},
		{"the construct knows an actor", m + "infra", m + "functions/scheduler", true},
		{"the demo looks inside", m + "demo/runner", m + "dev/embedded", true},
		{"a room has rooms of its own", m + "dev/sqlite/schema", m + "dev/sqlite", false},
		{"SQLite has its driver", m + "dev/sqlite", "modernc.org/sqlite", false},
		{"audit trusts the engine", m + "demo/audit", m + "shared/core", true},
		{"audit reads ledgers", m + "demo/audit", "modernc.org/sqlite", false},
		{"the worker knows the construct", m + "functions/agent/worker", m + "infra", true},
		{
			"a function's wiring knows the CDK", m + "functions/scheduler/bootstrap",
			"github.com/aws/aws-cdk-go/awscdk/v2/awslambda", true,
		},
		{"settings know jsii", m + "shared/deployment", "github.com/aws/jsii-runtime-go", true},
		{"the construct knows the settings", m + "infra", m + "shared/deployment", false},
		{"a function reads YAML", m + "functions/agent/bootstrap", "github.com/goccy/go-yaml/parser", true},
		{
			"the Scheduler checks the values of events", m + "functions/scheduler/bootstrap",
			jsonSchema + "/v6", false,
		},
		{"an agent checks schemas", m + "functions/agent/bootstrap", jsonSchema + "/v6", true},
		{
			"a function traces", m + "functions/supervisor/bootstrap", "go.opentelemetry.io/otel/sdk/trace",
			true,
		},
		{"an agent's folder brings SQLite", m + "examples/agent-go", "modernc.org/sqlite/lib", true},
		{
			"an agent's folder speaks SQS", m + "examples/agent-go", "github.com/aws/aws-sdk-go-v2/service/sqs",
			false,
		},
		{"the doctor brings all of IAM", m + "client/aws/operate", "github.com/aws/aws-sdk-go-v2/service/iam", true},
		{"the doctor asks who calls", m + "client/aws/operate", "github.com/aws/aws-sdk-go-v2/service/sts", false},
		{"a name that only starts alike", m + "shared/corecheck", m + "shared/port", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			planted := []Package{{Path: c.from, Imports: []string{c.dep}, Deps: []string{c.dep}}}
			got := append(Check(planted, rules), carried(planted)...)
			if (len(got) > 0) != c.breach {
				t.Errorf("%s -> %s: breaches %q, want a breach: %v", c.from, c.dep, got, c.breach)
			}
			if slices.ContainsFunc(got, func(s string) bool { return !strings.Contains(s, c.dep) }) {
				t.Errorf("a breach must name what is imported: %q", got)
			}
		})
	}
}
