package importrules

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// list asks the go command for every package of the module and all that each depends on, with the
// build tags given.
func list(t *testing.T, tags string) []Package {
	t.Helper()
	cmd := exec.Command("go", "list", "-tags", tags, "-f", `{{.ImportPath}}{{"\t"}}{{join .Deps " "}}`, Module+"/...")
	out, err := cmd.Output()
	if err != nil {
		var stderr []byte
		if e := (*exec.ExitError)(nil); errors.As(err, &e) {
			stderr = e.Stderr
		}
		t.Fatalf("go list: %v\n%s", err, stderr)
	}
	var packages []Package
	for line := range strings.Lines(string(out)) {
		path, deps, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		packages = append(packages, Package{Path: path, Deps: strings.Fields(deps)})
	}
	if len(packages) < 3 {
		t.Fatalf("go list found %d packages; the rules would be checked over nothing", len(packages))
	}
	return packages
}

func TestImportRules(t *testing.T) {
	for _, breach := range Check(list(t, ""), Rules()) {
		t.Error(breach)
	}
}

func TestWhatIsDeployed(t *testing.T) {
	packages := list(t, LambdaTag)
	for _, breach := range Check(packages, Deployed()) {
		t.Error(breach)
	}
	for _, room := range Deployed()[0].Rooms {
		if !slices.ContainsFunc(packages, func(p Package) bool { return p.Path == Module+"/"+room }) {
			t.Errorf("there is no package %s; the rule would be kept by nothing", room)
		}
	}
}

// Without the tag the same agent has its ledger on SQLite: what keeps it small is the tag.
func TestTheTagLeavesOut(t *testing.T) {
	if breaches := Check(list(t, ""), Deployed()); !slices.ContainsFunc(breaches, func(b string) bool { return strings.Contains(b, "examples/agent-go depends on modernc.org/sqlite") }) {
		t.Errorf("without the tag: %q", breaches)
	}
}

// TestRulesCatch plants one breach of each kind: a rule that nothing can break is no rule.
func TestRulesCatch(t *testing.T) {
	const m = Module + "/"
	for _, c := range []struct {
		name, from, dep string
		breach          bool
	}{
		{"core imports a library", m + "shared/core", "github.com/google/uuid", true},
		{"core imports the project", m + "shared/core", m + "shared/port", true},
		{"core opens a connection", m + "shared/core", "net/http", true},
		{"core rolls dice", m + "shared/core", "math/rand/v2", true},
		{"core does sums", m + "shared/core", "math", false},
		{"scheduler knows SQLite", m + "functions/scheduler", m + "shared/sqlite", true},
		{"supervisor knows AWS", m + "functions/supervisor", "github.com/aws/aws-sdk-go-v2/aws", true},
		{"worker knows memory", m + "functions/agent/worker", m + "shared/memory", true},
		{"agent wires", m + "functions/agent", "github.com/aws/aws-sdk-go-v2/service/sqs", false},
		{"scheduler knows ports", m + "functions/scheduler", m + "shared/port", false},
		{"the engine knows an actor", m + "shared/engine", m + "functions/scheduler", true},
		{"the engine knows DynamoDB", m + "shared/engine", m + "shared/dynamo", true},
		{"scheduler runs the engine", m + "functions/scheduler", m + "shared/engine", false},
		{"the Scheduler's function wires", m + "functions/scheduler/bootstrap/wiring", m + "shared/dynamo", false},
		{"memory runs a scheduler", m + "shared/memory", m + "functions/scheduler", true},
		{"memory leans on SQLite", m + "shared/memory", m + "shared/sqlite", true},
		{"a room has rooms of its own", m + "shared/sqlite/schema", m + "shared/sqlite", false},
		{"SQLite has its driver", m + "shared/sqlite", "modernc.org/sqlite", false},
		{"audit trusts the engine", m + "shared/audit", m + "shared/core", true},
		{"audit reads ledgers", m + "shared/audit", "modernc.org/sqlite", false},
		{"the worker knows the construct", m + "functions/agent/worker", m + "infra", true},
		{"a function's wiring knows the CDK", m + "functions/scheduler/bootstrap/wiring", "github.com/aws/aws-cdk-go/awscdk/v2/awslambda", true},
		{"settings know jsii", m + "shared/deployment", "github.com/aws/jsii-runtime-go", true},
		{"the construct knows the settings", m + "infra", m + "shared/deployment", false},
		{"a function reads YAML", m + "functions/agent/bootstrap", "github.com/goccy/go-yaml/parser", true},
		{"a function checks schemas", m + "functions/scheduler/bootstrap/wiring", "github.com/santhosh-tekuri/jsonschema/v6", true},
		{"a function traces", m + "functions/supervisor/bootstrap", "go.opentelemetry.io/otel/sdk/trace", true},
		{"an agent's folder brings SQLite", m + "examples/agent-go", "modernc.org/sqlite/lib", true},
		{"an agent's folder speaks SQS", m + "examples/agent-go", "github.com/aws/aws-sdk-go-v2/service/sqs", false},
		{"a name that only starts alike", m + "shared/corecheck", m + "shared/port", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Check([]Package{{Path: c.from, Deps: []string{c.dep}}}, append(Rules(), Deployed()...))
			if (len(got) > 0) != c.breach {
				t.Errorf("%s -> %s: breaches %q, want a breach: %v", c.from, c.dep, got, c.breach)
			}
			if slices.ContainsFunc(got, func(s string) bool { return !strings.Contains(s, c.dep) }) {
				t.Errorf("a breach must name what is imported: %q", got)
			}
		})
	}
}
