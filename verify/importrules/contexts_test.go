package importrules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestContextsArePassedOn: where there is a context none is made, so that the end of a request, of a Lambda's
// time or of the process reaches every call. context.WithoutCancel says that it must not.
func TestContextsArePassedOn(t *testing.T) {
	for _, file := range product(t) {
		for _, place := range newContexts(t, file, nil) {
			t.Errorf("%s makes a context where there is one: pass that on, or context.WithoutCancel of it",
				place)
		}
	}
}

// newContexts lists the calls of context.Background and context.TODO within a function that takes a context,
// or that has made one before.
func newContexts(t *testing.T, name string, text any) (places []string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, 0)
	require.NoError(t, err)
	type extent struct{ from, to token.Pos }
	var having []extent // where there is a context
	var end token.Pos   // of the declaration on the package's level
	ast.Inspect(file, func(n ast.Node) bool {
		if d, ok := n.(ast.Decl); ok && d.End() > end {
			end = d.End()
		}
		switch n := n.(type) {
		case *ast.FuncDecl:
			if takes(n.Type) {
				having = append(having, extent{n.Pos(), n.End()})
			}
		case *ast.FuncLit:
			if takes(n.Type) {
				having = append(having, extent{n.Pos(), n.End()})
			}
		case *ast.AssignStmt:
			first, named := n.Lhs[0].(*ast.Ident)
			call, called := n.Rhs[0].(*ast.CallExpr)
			if n.Tok == token.DEFINE &&
				(named && first.Name == "ctx" || called && receiver(call) == "context") {
				having = append(having, extent{n.End(), end})
			}
		case *ast.CallExpr:
			if made := callee(n); receiver(n) == "context" && (made == "Background" || made == "TODO") &&
				slices.ContainsFunc(having,
					func(e extent) bool { return e.from <= n.Pos() && n.Pos() < e.to }) {
				places = append(places, set.Position(n.Pos()).String())
			}
		}
		return true
	})
	return places
}

// takes reports a parameter that is a context.
func takes(f *ast.FuncType) bool {
	return slices.ContainsFunc(f.Params.List, func(p *ast.Field) bool {
		s, ok := p.Type.(*ast.SelectorExpr)
		return ok && s.Sel.Name == "Context"
	})
}

// product lists the module's Go files outside tests.
func product(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == ".git" || entry.Name() == "bin") {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			files = append(files, path)
		}
		return err
	})
	require.NoError(t, err)
	return files
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
