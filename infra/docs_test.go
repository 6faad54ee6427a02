package infra_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

var pages = []string{
	"first-deployment.md", "aws-permissions.md", "aws-app.md", "add-an-agent.md",
	"aws-queues.md", "aws-stack.md", "aws-upgrade.md", "dead-letters.md", "aws-restore.md",
	"aws-fail-over.md", "aws-rules.md", "aws-tuning.md", "localstack.md",
}

func file(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{".."}, path...)...))
	require.NoError(t, err)
	return string(data)
}

// page returns the text of a file in a folder of docs.
func page(t *testing.T, name string) string {
	t.Helper()
	found, err := filepath.Glob("../docs/*/" + name)
	require.NoError(t, err, name)
	require.Len(t, found, 1, name)
	return file(t, found[0][len("../"):])
}

// firsts are the first groups of all matches, sorted, once each.
func firsts(pattern, text string) (found []string) {
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// What the pages name is there: outputs, settings of the app. The tests of the command line check commands, and TestLinks
// follows links.
func TestDocs(t *testing.T) {
	var golden tmpl
	require.NoError(t, json.Unmarshal([]byte(file(t, "infra", "testdata", "shop.template.json")),
		&golden))
	settings := firsts(`(?m)^//\t([a-z0-9-]+)  `, file(t, "infra", "app", "main.go"))
	for _, name := range pages {
		text := page(t, name)
		for _, output := range firsts(`\b(Engine[A-Z][A-Za-z]*(?:Url|Table|Topic|Function|Policy))\b`, text) {
			_, there := golden.Outputs[output]
			require.True(t, there, "%s: there is no output %s", name, output)
		}
		for _, setting := range firsts(`-c ([a-z0-9-]+)=`, text) {
			if !slices.Contains(settings, setting) && setting != "stage" { // the app of stepkeeper init --aws
				t.Errorf("%s: infra/app has no setting %s", name, setting)
			}
		}
	}
	code := file(t, "infra", "app", "example", "settings.go") + file(t, "infra", "app", "example",
		"example.go")
	read := firsts(`c\.(?:text|list|truth|number|duration|pairs|external)\((?:agents, )?"([a-z0-9-]+)"`,
		code)
	require.Equal(t, settings, read)
}

// TestCountsInDocs checks the counts in docs/explanation/cost.md and in the page of the stack with the example's
// template. AWS bills an alarm once for each metric that it reads.
func TestCountsInDocs(t *testing.T) {
	var golden tmpl
	require.NoError(t, json.Unmarshal([]byte(file(t, "infra", "testdata", "shop.template.json")), &golden))
	counts := map[string]int{}
	for _, r := range golden.Resources {
		counts[r.Type]++
		metrics, _ := r.Properties["Metrics"].([]any)
		for i := range metrics {
			if _, billed := metrics[i].(map[string]any)["MetricStat"]; billed {
				counts["billed"]++
			}
		}
		if len(metrics) > 0 {
			counts["billed"]--
		}
	}
	text := page(t, "cost.md")
	require.Contains(t, text, fmt.Sprintf("| alarms | %d × $0.10 |", counts["AWS::CloudWatch::Alarm"]+counts["billed"]))
	require.Contains(t, text, fmt.Sprintf("%d mappings × 5 pollers", counts["AWS::Lambda::EventSourceMapping"]))
	require.Contains(t, text, fmt.Sprintf("| key of the topic of alarms | %d × $1.00 |", counts["AWS::KMS::Key"]))
	require.Equal(t, 1, counts["AWS::Scheduler::Schedule"], "schedules of sweeps")
	require.Contains(t, page(t, "aws-stack.md"), fmt.Sprintf("The order example has %d resources, %d of them alarms.",
		len(golden.Resources), counts["AWS::CloudWatch::Alarm"]+counts["AWS::CloudWatch::CompositeAlarm"]))
}

// An operator who fails over compares what the last sweep wrote. The metric of the lag never has a zero.
func TestFailOverComparesTheCopies(t *testing.T) {
	text := page(t, "aws-fail-over.md")
	lease := dynamo.LeasePrefix + strings.TrimSuffix(port.SweepLease(0), "0") + "$shard"
	for _, want := range []string{`{\"` + dynamo.OrderKey + `\": {\"S\": \"` + lease + `\"}}`, "Item.Until.N"} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "`ReplicationLatency` is zero")
}

func between(t *testing.T, text, begin, end string) string {
	t.Helper()
	_, text, found := strings.Cut(text, begin)
	text, _, ended := strings.Cut(text, end)
	require.True(t, found, begin)
	require.True(t, ended, begin)
	return text
}

// TestConstructPage checks that docs/reference/construct.md names each property, with the default that its comment
// states.
func TestConstructPage(t *testing.T) {
	parsed, err := parser.ParseFile(token.NewFileSet(), "props.go", nil, parser.ParseComments)
	require.NoError(t, err)
	text := strings.Join(strings.Fields(page(t, "construct.md")), " ") // the page wraps its lines
	shown := 0
	for _, d := range parsed.Decls {
		declared, ok := d.(*ast.GenDecl)
		if !ok || declared.Tok != token.TYPE {
			continue
		}
		spec := declared.Specs[0].(*ast.TypeSpec)
		_, section, found := strings.Cut(text, "## "+spec.Name.Name+" ")
		if !found {
			continue
		}
		shown++
		section, _, _ = strings.Cut(section, "## ")
		for _, f := range spec.Type.(*ast.StructType).Fields.List {
			for i, name := range namesOf(f) {
				want := "`" + name + "`"
				if preset := presetOf(f); preset != "" && i == len(f.Names)-1 {
					want += " (" + preset + ")"
				}
				require.Contains(t, section, want, spec.Name.Name)
			}
		}
	}
	require.Equal(t, 4, shown, "types of properties")
}

// presetOf returns the default that a property's comment states.
func presetOf(f *ast.Field) string {
	text := strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " ")
	found := regexp.MustCompile(`\(default ([^)]*)\)`).FindStringSubmatch(text)
	if found == nil {
		return ""
	}
	return found[1]
}

func namesOf(f *ast.Field) (names []string) {
	for _, n := range f.Names {
		names = append(names, n.Name)
	}
	return names
}
