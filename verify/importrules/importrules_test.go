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

	"github.com/stretchr/testify/require"
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
	require.NoError(t, err)
	var config struct {
		Linters struct {
			Settings struct {
				Depguard struct{ Rules map[string]Rule }
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &config))
	require.NotEmpty(t, config.Linters.Settings.Depguard.Rules)
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
	"modernc.org", "database/sql", "github.com/aws/aws-sdk-go-v2/config", "github.com/aws/aws-sdk-go-v2/credentials",
	"github.com/aws/aws-cdk-go", "github.com/danielgtaylor/huma", "github.com/spf13",
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
		require.True(t, slices.ContainsFunc(packages, func(p Package) bool { return p.Path == Module+"/"+room }), room)
	}
}

// TestApplicationsDoWithoutOperatorSDKs: no package that client/aws needs imports the SDK of a service that
// operators use. The SDK's own configuration imports STS, to assume roles.
func TestApplicationsDoWithoutOperatorSDKs(t *testing.T) {
	const application, operator = Module + "/client/aws", Module + "/client/aws/operate"
	packages := list(t, "")
	at := slices.IndexFunc(packages, func(p Package) bool { return p.Path == application })
	require.GreaterOrEqual(t, at, 0)
	for _, service := range []string{"scheduler", "sts"} {
		path := "github.com/aws/aws-sdk-go-v2/service/" + service
		used := false
		for _, p := range packages {
			if !slices.Contains(p.Imports, path) {
				continue
			}
			used = used || p.Path == operator
			require.NotEqual(t, application, p.Path)
			require.NotContains(t, packages[at].Deps, p.Path)
		}
		require.True(t, used, "%s does not import %s; the rule would be kept by nothing", operator, path)
	}
}
