package importrules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// single are the rooms whose handlers the simulator runs step by step: a goroutine or a channel in
// them would be a choice that it cannot replay.
var single = []string{
	"shared/core", "shared/protocol", "shared/engine", "shared/state",
	"functions/scheduler", "functions/supervisor",
}

func TestNoGoroutines(t *testing.T) {
	for _, room := range single {
		files, err := filepath.Glob(filepath.Join("../..", room, "*.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s: %d files, %v", room, len(files), err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, place := range goroutines(t, file, text) {
				t.Errorf("%s starts a goroutine: handlers must be a sequence that a simulator can replay",
					place)
			}
		}
	}
}

func TestGoroutinesAreFound(t *testing.T) {
	const text = "package p\nfunc f(g interface{ Go(func()) }) {\n\tgo f(nil)\n\tg.Go(func() " +
		"{})\n\tgoing()\n}\nfunc going() {}\n"
	if got := goroutines(t, "p.go", []byte(text)); len(got) != 2 || got[0] != "p.go:3:2" ||
		got[1] != "p.go:4:2" {
		t.Errorf("%q", got)
	}
}

// goroutines lists the places of go statements, and of calls of a method Go.
func goroutines(t *testing.T, name string, text []byte) []string {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	var places []string
	ast.Inspect(file, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.GoStmt:
			places = append(places, set.Position(x.Pos()).String())
		case *ast.CallExpr:
			if s, ok := x.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Go" {
				places = append(places, set.Position(x.Pos()).String())
			}
		}
		return true
	})
	return places
}

// products are the folders whose goroutines run in `stepkeeper dev`, in an agent or on Lambda.
var products = []string{"dev", "functions", "shared", "cmd/stepkeeper", "demo/services", "demo/shifted"}

// suites are packages below the products that only tests use.
var suites = []string{"dev/api/apitest", "functions/agent/agenttest"}

// unguarded are the functions that start goroutines without port.Guard, with the reason.
var unguarded = map[string]string{
	"cmd/stepkeeper/internal/author/agenttry.go start": "its process ends with the one command",
	"cmd/stepkeeper/internal/cli/report.go waitForAll": "its process ends with the one command",
	"cmd/stepkeeper/internal/cli/smoke.go wait":        "its process ends with the one command",
	"dev/api/stream.go submitStream":                   "readLines guards each line",
	"functions/agent/worker/worker.go Batch":           "Handle of a worker recovers",
	"functions/agent/worker/pump.go drain":             "it only waits and closes channels",
}

// A panic that no function recovers ends the process, whichever goroutine it is in.
func TestGoroutinesAreGuarded(t *testing.T) {
	excused := map[string]bool{}
	for _, product := range products {
		err := filepath.WalkDir(filepath.Join("../..", product),
			func(path string, entry os.DirEntry, err error) error {
				name := strings.TrimPrefix(filepath.ToSlash(path), "../../")
				switch {
				case err != nil:
					return err
				case entry.IsDir() && slices.Contains(suites, name):
					return filepath.SkipDir
				case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
					return nil
				}
				text, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				for place, function := range bare(t, path, text) {
					if key := name + " " + function; unguarded[key] != "" {
						excused[key] = true
						continue
					}
					t.Errorf(
						"%s, in %s: a panic in this goroutine ends the process; call it with port.Guard "+
							"or port.Always", place, function)
				}
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
	}
	for key := range unguarded {
		if !excused[key] {
			t.Errorf("%s starts no goroutine without port.Guard any more: remove its excuse", key)
		}
	}
}

func TestBareGoroutinesAreFound(t *testing.T) {
	const text = `package p
func f(g interface{ Go(func()) }) {
	go f(nil)
	g.Go(func() { _ = port.Guard(nil, "f", nil) })
	go func() { port.Always(ctx, nil, "f", nil) }()
	g.Go(func() { port.Sleep() })
}
`
	got := bare(t, "p.go", []byte(text))
	if want := (map[string]string{"p.go:3:2": "f", "p.go:6:2": "f"}); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// bare returns the places of goroutines without port.Guard and port.Always, with the functions that start
// them.
func bare(t *testing.T, name string, text []byte) map[string]string {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, started := n.(*ast.CallExpr)
			if started {
				s, ok := call.Fun.(*ast.SelectorExpr)
				started = ok && s.Sel.Name == "Go"
			}
			if _, ok := n.(*ast.GoStmt); (ok || started) && !guards(n) {
				found[set.Position(n.Pos()).String()] = f.Name.Name
			}
			return true
		})
	}
	return found
}

func guards(n ast.Node) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := s.X.(*ast.Ident)
		found = found || ok && x.Name == "port" && (s.Sel.Name == "Guard" || s.Sel.Name == "Always")
		return true
	})
	return found
}
