package cli

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/format"
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
)

// goSnippet is Go code of a document: a whole file, declarations, statements, or fields of infra.Props.
type goSnippet struct {
	snippet
	head, tail string // code around it in the compiled file
}

var propsField = regexp.MustCompile(`(?m)^\s*[A-Z]\w+: +(map\[|\[\]|infra\.).*$`)

// splitGo returns the Go code of a block, and the rest of the block.
func splitGo(s snippet) (code []goSnippet, rest string) {
	if g, ok := asGo(s); ok {
		return []goSnippet{g}, ""
	}
	rest = propsField.ReplaceAllStringFunc(s.text, func(line string) string {
		if g, ok := asGo(snippet{s.file, s.line, fieldText(line)}); ok {
			code = append(code, g)
			return ""
		}
		return line
	})
	return code, rest
}

// fieldText ends a field with the comma that it has in a literal.
func fieldText(line string) string {
	code, _, _ := strings.Cut(line, "//")
	return strings.TrimRight(strings.TrimSpace(code), ",") + ",\n"
}

func asGo(s snippet) (goSnippet, bool) {
	if strings.HasPrefix(s.text, "{") || !strings.ContainsAny(s.text, "({") {
		return goSnippet{}, false
	}
	text := s.text
	if propsField.MatchString(text) && !strings.HasSuffix(strings.TrimSpace(text), ",") &&
		strings.Count(text, "\n") == 1 {
		text = fieldText(text)
	}
	for _, around := range [][2]string{
		{"", ""},
		{"package snippets\n", ""},
		{"package snippets\nfunc _() error {\n", "return nil\n}\n"},
		{"package snippets\nvar _ = infra.Props{\n", "}\n"},
	} {
		if f, err := parser.ParseFile(token.NewFileSet(), s.file, around[0]+text+around[1], 0); err == nil &&
			calls(f) {
			s.text = text
			return goSnippet{s, around[0], around[1]}, true
		}
	}
	return goSnippet{}, false
}

// calls matches a name of a package. Without one, a line for the shell can look like Go.
func calls(f *ast.File) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			x, ok := s.X.(*ast.Ident)
			found = found || ok && imports[x.Name] != ""
		}
		return true
	})
	return found
}

const module = "github.com/stepkeeper/stepkeeper/"

// imports of the snippets, by the name of the package.
var imports = map[string]string{
	"context": "context", "fmt": "fmt", "os": "os", "signal": "os/signal", "slog": "log/slog",
	"syscall": "syscall", "testing": "testing", "time": "time",
	"agent": module + "functions/agent", "agenttest": module + "functions/agent/agenttest",
	"client": module + "client",
	"core":   module + "shared/core", "infra": module + "infra", "sim": module + "simulate/sim",
	"workflowtest":        module + "workflowtest",
	"awsevents":           "github.com/aws/aws-cdk-go/awscdk/v2/awsevents",
	"awseventstargets":    "github.com/aws/aws-cdk-go/awscdk/v2/awseventstargets",
	"awssqs":              "github.com/aws/aws-cdk-go/awscdk/v2/awssqs",
	"awssnssubscriptions": "github.com/aws/aws-cdk-go/awscdk/v2/awssnssubscriptions",
	"jsii":                "github.com/aws/jsii-runtime-go",
}

// around declares the names that the text around a snippet introduces.
const around = `package snippets

import (
	"context"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/functions/agent"
	"github.com/stepkeeper/stepkeeper/functions/agent/agenttest"
	"github.com/stepkeeper/stepkeeper/infra"
)

type input struct{}

func reserve(context.Context, input, agent.Call) (any, error) { return nil, nil }
func release(context.Context, input, agent.Call) (any, error) { return nil, nil }
func book(context.Context, input, agent.Call) (any, error)    { return nil, nil }
func start(context.Context, string, string) error             { return nil }
func cancel(context.Context, input, agent.Call) (any, error)  { return nil, nil }

type next struct{ ID string }

var shop *client.Client

type account struct{}

func (account) Charges(string) int { return 0 }
func (account) Refunds(string) int { return 0 }
func (account) RefuseAll(bool)     {}

var (
	ctx        context.Context
	t          *testing.T
	booking    map[string]any
	sandbox    account
	operations agent.Operations
	probe      agenttest.Probe
	status     awssqs.IQueue
	topic      awssns.Topic
	bus        awsevents.IEventBus
	engine     *infra.Stepkeeper
	boundary   awsiam.IManagedPolicy
	stack      awscdk.Stack
	data       awscdk.Stack
	props      = &infra.Props{}
)
`

// compile compiles all snippets, each as a package of its own that exists in an overlay only.
func compile(t *testing.T, all []goSnippet) {
	t.Helper()
	base, err := filepath.Abs("testdata/snippets")
	require.NoError(t, err)
	dir := t.TempDir()
	replace := map[string]string{}
	packages := []string{}
	add := func(n int, name, text string) {
		real := filepath.Join(dir, fmt.Sprintf("%d-%s", n, name))
		require.NoError(t, os.WriteFile(real, []byte(text), 0o600))
		replace[filepath.Join(base, fmt.Sprintf("s%d", n), name)] = real
	}
	for n, s := range all {
		file, err := sourceOf(s)
		if err != nil {
			t.Errorf("%s: %v", s, err)
			continue
		}
		add(n, "snippet.go", file)
		if strings.HasPrefix(file, "package snippets") {
			add(n, "around.go", around)
		}
		packages = append(packages, fmt.Sprintf("./testdata/snippets/s%d", n))
	}
	overlay := filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, text, 0o600))
	out, err := exec.Command("go", append([]string{"build", "-overlay", overlay, "-gcflags=-e"},
		packages...)...).CombinedOutput()
	if err == nil {
		return
	}
	reported := false
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "#") || strings.Contains(line, "declared and not used") {
			reported = reported || strings.Contains(line, "declared and not used")
			continue
		}
		reported = true
		t.Error(strings.TrimSpace(line))
	}
	require.True(t, reported, "go build: %v\n%s", err, out)
}

// sourceOf returns the file to compile, with line numbers of the document.
func sourceOf(s goSnippet) (string, error) {
	text := s.head + s.text + s.tail
	f, err := parser.ParseFile(token.NewFileSet(), s.file, text, 0)
	if err != nil {
		return "", err
	}
	if s.head == "" {
		// a main package would be linked as well
		return strings.Replace(text, "package main", "package snippet", 1), nil
	}
	used := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if x, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := x.X.(*ast.Ident); ok && imports[id.Name] != "" {
				used[imports[id.Name]] = true
			}
		}
		return true
	})
	var lines []string
	for path := range used {
		lines = append(lines, fmt.Sprintf("import %q", path))
	}
	slices.Sort(lines)
	head := strings.Replace(s.head, "package snippets\n", "package snippets\n"+strings.Join(lines, "\n")+"\n",
		1)
	// A main function in a snippet is part of a page, not a program.
	body := strings.Replace(s.text, "func main()", "func _()", 1)
	if _, err := format.Source([]byte(head + body + s.tail)); err != nil {
		return "", err
	}
	return head + fmt.Sprintf("//line %s:%d\n", filepath.Join("/", s.file), s.line) + body + s.tail, nil
}
