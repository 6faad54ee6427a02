package importrules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// single are the rooms whose handlers the simulator runs step by step: a goroutine or a channel in
// them would be a choice that it cannot replay.
var single = []string{"shared/core", "shared/engine", "shared/state", "functions/scheduler", "functions/supervisor"}

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
				t.Errorf("%s starts a goroutine: handlers must be a sequence that a simulator can replay", place)
			}
		}
	}
}

func TestGoroutinesAreFound(t *testing.T) {
	const text = "package p\nfunc f(g interface{ Go(func()) }) {\n\tgo f(nil)\n\tg.Go(func() {})\n\tgoing()\n}\nfunc going() {}\n"
	if got := goroutines(t, "p.go", []byte(text)); len(got) != 2 || got[0] != "p.go:3:2" || got[1] != "p.go:4:2" {
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
