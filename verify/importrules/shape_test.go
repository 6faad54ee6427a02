package importrules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// Bounds on the shape of Go code. A tab counts as four columns.
const (
	maxColumns = 110
	maxTargets = 3
)

// TestLinesAndAssignments reports lines that are too long, and assignments with too many targets. The lines
// of raw strings, struct tags, directives and long texts of tests cannot be wrapped, and the linter lll
// cannot leave them out.
func TestLinesAndAssignments(t *testing.T) {
	for _, path := range goFiles(t) {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, src, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		raw := unwrappable(files, file, strings.HasSuffix(path, "_test.go"))
		ast.Inspect(file, func(n ast.Node) bool {
			if a, ok := n.(*ast.AssignStmt); ok && len(a.Lhs) > maxTargets && !blanks(a) {
				t.Errorf("%s: the assignment has %d targets, and may have %d: write several statements",
					files.Position(a.Pos()), len(a.Lhs), maxTargets)
			}
			return true
		})
		for i, line := range strings.Split(string(src), "\n") {
			columns := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
			if columns > maxColumns && !raw[i+1] && !strings.HasPrefix(line, "//go:") {
				t.Errorf("%s:%d: the line has %d columns, and may have %d: wrap it", path, i+1, columns,
					maxColumns)
			}
		}
	}
}

// blanks reports whether so many of the targets are blank that at most three are assigned.
func blanks(a *ast.AssignStmt) bool {
	named := 0
	for _, target := range a.Lhs {
		if name, ok := target.(*ast.Ident); !ok || name.Name != "_" {
			named++
		}
	}
	return named <= maxTargets
}

// unwrappable returns the numbers of the lines that raw strings, struct tags and long texts of tests stand
// on.
func unwrappable(files *token.FileSet, file *ast.File, test bool) map[int]bool {
	lines := map[int]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		l, ok := n.(*ast.BasicLit)
		if ok && (strings.HasPrefix(l.Value, "`") || test && len(l.Value) > maxColumns/2) {
			for i := files.Position(l.Pos()).Line; i <= files.Position(l.End()).Line; i++ {
				lines[i] = true
			}
		}
		return true
	})
	return lines
}
