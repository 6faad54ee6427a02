package importrules

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNoMapOrder: in the rooms that a simulator replays nothing depends on the order of a map. A loop
// over one is permitted where its comment says "in any order", which is an argument for its reader.
func TestNoMapOrder(t *testing.T) {
	rooms := append(slices.Clone(single), "functions/agent/worker")
	packages := compiled(t, rooms)
	for _, room := range rooms {
		files, err := filepath.Glob(filepath.Join("../..", room, "*.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s: %d files, %v", room, len(files), err)
		}
		var texts []string
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, file, string(text))
		}
		for _, place := range mapLoops(t, packages, texts...) {
			t.Errorf(
				`%s ranges over a map: sort its keys, or say above the loop why it may go "in any order"`,
				place)
		}
	}
}

func TestMapLoopsAreFound(t *testing.T) {
	const text = "package p\n\nimport \"maps\"\n\nvar m = map[int]int{}\n\nfunc f(s []int) (n int) " +
		"{\n\tfor range s {\n\t}\n" +
		"\tfor k := range m {\n\t\tn += k\n\t}\n\t// in any order: a sum\n\tfor _, v := range m {\n\t\tn " +
		"+= v\n\t}\n\tfor k := range maps.Keys(m) {\n\t\tn += k\n\t}\n\treturn n\n}\n"
	require.Equal(t, []string{"p.go:10:2", "p.go:17:2"}, mapLoops(t, compiled(t, nil), "p.go", text))
}

var set = token.NewFileSet()

// compiled returns an importer of the compiled packages that the rooms and the standard library's maps need.
// One go list names the files of all.
func compiled(t *testing.T, rooms []string) types.Importer {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}", "maps"}
	for _, room := range rooms {
		args = append(args, Module+"/"+room)
	}
	out, err := exec.Command("go", args...).Output()
	require.NoError(t, err)
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, export, _ := strings.Cut(strings.TrimSpace(line), "\t")
		exports[path] = export
	}
	return importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
}

// mapLoops lists the loops over maps in the files of one package, given by names and texts.
func mapLoops(t *testing.T, packages types.Importer, files ...string) (places []string) {
	t.Helper()
	var parsed []*ast.File
	for i := 0; i < len(files); i += 2 {
		file, err := parser.ParseFile(set, files[i], files[i+1], parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, file)
	}
	info := types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	c := types.Config{Importer: packages}
	if _, err := c.Check("p", set, parsed, &info); err != nil {
		t.Fatal(err)
	}
	for _, file := range parsed {
		ast.Inspect(file, func(n ast.Node) bool {
			if loop, ok := n.(*ast.RangeStmt); ok && unordered(&info, loop.X) && !argued(file, loop) {
				places = append(places, set.Position(loop.Pos()).String())
			}
			return true
		})
	}
	return places
}

// unordered: a map, or what package maps makes of one.
func unordered(info *types.Info, x ast.Expr) bool {
	if _, isMap := info.TypeOf(x).Underlying().(*types.Map); isMap {
		return true
	}
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return false
	}
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	name, ok := s.X.(*ast.Ident)
	return ok && name.Name == "maps"
}

// argued: the comment that ends on the line above says "in any order".
func argued(file *ast.File, loop *ast.RangeStmt) bool {
	line := set.Position(loop.Pos()).Line
	return slices.ContainsFunc(file.Comments, func(c *ast.CommentGroup) bool {
		return set.Position(c.End()).Line == line-1 && strings.Contains(c.Text(), "in any order")
	})
}
