package importrules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// taken are the keys that the handlers of log/slog, and Lambda's, give to what every line has; and one that
// would be a second name of an order's ID, whose key is order.
var taken = []string{"time", "timestamp", "level", "msg", "message", "source", "requestId", "task"}

// TestLogKeys: no line of a log gives a value the key of what every line has, since a reader of JSON sees one
// of the two only; and the ID of an order has one key.
func TestLogKeys(t *testing.T) {
	for _, file := range product(t) {
		for _, place := range takenKeys(t, file, nil) {
			t.Errorf(
				"%s gives a value a key that every line has, or that is not the usual one: use another, "+
					"as messageId or order", place)
		}
	}
}

// product lists the files that are no tests.
func product(t *testing.T) []string {
	t.Helper()
	isTest := func(path string) bool { return strings.HasSuffix(path, "_test.go") }
	return slices.DeleteFunc(goFiles(t), isTest)
}

// goFiles lists the files of the module, tests too.
func goFiles(t *testing.T) (files []string) {
	t.Helper()
	for _, room := range []string{"client", "cmd", "demo", "dev", "examples", "functions", "infra",
		"internal", "localstack", "shared", "simulate", "verify", "workflows", "workflowtest"} {
		err := filepath.WalkDir(filepath.Join("../..", room),
			func(path string, _ fs.DirEntry, err error) error {
				if strings.HasSuffix(path, ".go") && !strings.Contains(path, "node_modules") {
					files = append(files, path)
				}
				return err
			})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func TestTakenKeysAreFound(t *testing.T) {
	const text = `package p

func f() {
	log.Warn("message", "messageId", id)
	x.log.ErrorContext(ctx, "level", "queue", q, "message", id)
	slog.Group("g", "message", 1)
	log.Info("m", slog.String("time", "x"))
}
`
	if got := takenKeys(t, "p.go", text); !slices.Equal(got, []string{"p.go:5:47", "p.go:7:28"}) {
		t.Errorf("%q", got)
	}
}

// takenKeys lists the arguments of log calls, after what the line says, that are such a key.
func takenKeys(t *testing.T, file string, text any) (places []string) {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		arguments := call.Args
		switch name := callee(call); {
		case slices.Contains([]string{"Debug", "Info", "Warn", "Error"}, name) && len(arguments) > 1:
			arguments = arguments[1:]
		case slices.Contains([]string{"DebugContext", "InfoContext", "WarnContext", "ErrorContext"}, name) &&
			len(arguments) > 2:
			arguments = arguments[2:]
		case slices.Contains([]string{"String", "Int", "Any", "Duration"}, name) && len(arguments) == 2 &&
			receiver(call) == "slog":
			arguments = arguments[:1]
		default:
			return true
		}
		for _, a := range arguments {
			if literal, ok := a.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if key, err := strconv.Unquote(literal.Value); err == nil && slices.Contains(taken, key) {
					places = append(places, set.Position(a.Pos()).String())
				}
			}
		}
		return true
	})
	return places
}

func callee(call *ast.CallExpr) string {
	if s, ok := call.Fun.(*ast.SelectorExpr); ok {
		return s.Sel.Name
	}
	return ""
}

func receiver(call *ast.CallExpr) string {
	if s, ok := call.Fun.(*ast.SelectorExpr); ok {
		if p, ok := s.X.(*ast.Ident); ok {
			return p.Name
		}
	}
	return ""
}
