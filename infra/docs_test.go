package infra_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
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

// What the pages name is there: outputs, targets of make, settings of the app. Links are followed by
// TestLinks.
func TestDocs(t *testing.T) {
	var golden tmpl
	require.NoError(t, json.Unmarshal([]byte(file(t, "infra", "testdata", "shop.template.json")),
		&golden))
	settings := firsts(`(?m)^//\t([a-z0-9-]+)  `, file(t, "infra", "app", "main.go"))
	makefile := file(t, "Makefile")
	for _, name := range pages {
		text := page(t, name)
		for _, output := range firsts(`\b(Engine[A-Z][A-Za-z]*(?:Url|Table|Topic|Function|Policy))\b`, text) {
			_, there := golden.Outputs[output]
			require.True(t, there, "%s: there is no output %s", name, output)
		}
		for _, target := range firsts("(?:`|    )make ([a-z-]+)", text) {
			require.True(t, regexp.MustCompile("(?m)^"+target+":").MatchString(makefile), name)
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

// Every command of the pages can be typed: subcommands and flags of stepkeeper,
// scripts, and the variables
// that those scripts and make read.
func TestCommandsInDocs(t *testing.T) {
	program := filepath.Join(t.TempDir(), "stepkeeper")
	_, err := exec.Command("go", "build", "-o", program,
		"../cmd/stepkeeper").CombinedOutput()
	require.NoError(t, err)
	help := map[string]string{}
	helpOf := func(words ...string) string {
		key := strings.Join(words, " ")
		if help[key] == "" {
			out, _ := exec.Command(program, append(words, "--help")...).CombinedOutput()
			help[key] = string(out)
		}
		return help[key]
	}
	scripts := file(t, "localstack", "start.sh") + file(t, "localstack", "integration.sh") +
		file(t, "localstack", "process", "start.sh") +
		file(t, "localstack", "ministack", "start.sh") + file(t, "localstack", "compose.yaml") +
		file(t, "Makefile")
	checked := 0
	for _, name := range pages {
		text := strings.ReplaceAll(page(t, name), "\\\n", " ")
		for _, command := range firsts("(?:`|\\| |    )(?:bin/)?stepkeeper ([^`|#\n]*)", commandsOf(text)) {
			words := strings.Fields(regexp.MustCompile(`--(stack|region|server)[ =]\S+|--stack$`).
				ReplaceAllString(command, ""))
			var sub []string
			for _, w := range words {
				if !regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`).MatchString(w) || len(sub) == 2 ||
					len(sub) == 1 && !regexp.MustCompile(`(?m)^  `+w+` `).MatchString(helpOf(sub...)) {
					break
				}
				sub = append(sub, w)
			}
			if len(sub) > 0 && !regexp.MustCompile(`(?m)^  `+sub[0]+` `).MatchString(helpOf()) {
				t.Errorf("%s: stepkeeper has no command %s", name, sub[0])
				continue
			}
			for _, flag := range firsts(`(--[a-z-]+)`, command) {
				checked++
				require.Contains(t, helpOf(sub...), flag+" ", name)
			}
			checked++
		}
		for _, line := range firsts("(make smoke [^`\n]*--[^`\n]*)", text) {
			for _, flag := range firsts(`(--[a-z-]+)`, line) {
				checked++
				require.Contains(t, helpOf("doctor"), flag+" ", name)
			}
		}
		if name == "localstack.md" {
			for _, variable := range firsts(
				"\\b((?:LOCALSTACK|MINISTACK)_[A-Z]+|BACKEND|KEEP|STATE|PYTHON)\\b", text) {
				checked++
				require.Contains(t, scripts, variable, name)
			}
		}
		for _, script := range firsts(`((?:localstack|infra|shared|internal)/[a-z/-]+\.sh)\b`, text) {
			checked++
			_, err := os.Stat(filepath.Join("..", script))
			require.NoError(t, err, name)
		}
	}
	require.GreaterOrEqual(t, checked, 30)
}

// commandsOf are the lines and the words of a page that are set as code.
func commandsOf(text string) string {
	return strings.Join(regexp.MustCompile("(?m)^    .*$|`[^`\n]+`").FindAllString(text, -1), "\n")
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
