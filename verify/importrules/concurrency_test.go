package importrules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
		require.NoError(t, err, room)
		require.NotEmpty(t, files, room)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for place := range started(t, file, text) {
				t.Errorf("%s starts a goroutine: handlers must be a sequence that a simulator can replay",
					place)
			}
		}
	}
}

// products are the folders whose goroutines run in `stepkeeper dev`, in an agent or on Lambda.
var products = []string{"dev", "functions", "shared", "cmd/stepkeeper", "demo/services", "demo/shifted"}

// suites are packages below the products that only tests use.
var suites = []string{"dev/api/apitest", "functions/agent/agenttest"}

// unguarded are the functions that start goroutines without port.Guard, with the reason.
var unguarded = map[string]string{
	"cmd/stepkeeper/internal/author/agenttry.go start": "its process ends with the one command",
	"cmd/stepkeeper/internal/cli/report.go waitForAll": "its process ends with the one command",
	"cmd/stepkeeper/internal/cli/doctor.go wait":       "its process ends with the one command",
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
				for place, by := range started(t, path, text) {
					if by.guarded {
						continue
					}
					if key := name + " " + by.function; unguarded[key] != "" {
						excused[key] = true
						continue
					}
					t.Errorf(
						"%s, in %s: a panic in this goroutine ends the process; call it with port.Guard "+
							"or port.Always", place, by.function)
				}
				return nil
			})
		require.NoError(t, err)
	}
	for key := range unguarded {
		require.True(t, excused[key], "%s starts no goroutine without port.Guard any more: remove its excuse", key)
	}
}

// goroutine is one that a function starts.
type goroutine struct {
	function string
	guarded  bool // by port.Guard or port.Always
}

// started returns the go statements, and the calls of a method Go, by their places.
func started(t *testing.T, name string, text []byte) map[string]goroutine {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, 0)
	require.NoError(t, err)
	found := map[string]goroutine{}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, starts := n.(*ast.CallExpr)
			if starts {
				s, ok := call.Fun.(*ast.SelectorExpr)
				starts = ok && s.Sel.Name == "Go"
			}
			if _, ok := n.(*ast.GoStmt); ok || starts {
				found[set.Position(n.Pos()).String()] = goroutine{f.Name.Name, guards(n)}
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
