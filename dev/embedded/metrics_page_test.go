package embedded

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/reference"
)

// TestMetricsPage checks that docs/reference/metrics.md lists the metrics of metrics.go with their help.
func TestMetricsPage(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "metrics.go", nil, 0)
	require.NoError(t, err)
	var rows []string
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		var texts []string // name, help, labels
		for _, a := range call.Args {
			texts = append(texts, textsOf(a)...)
		}
		if len(texts) < 2 || !strings.HasPrefix(texts[0], "stepkeeper_") {
			return true
		}
		name := strings.TrimPrefix(texts[0], "stepkeeper_")
		if labels := strings.Join(texts[2:], ","); labels != "" {
			name += "{" + labels + "}"
		}
		rows = append(rows, fmt.Sprintf("- `%s`: %s\n", name, strings.TrimSuffix(texts[1], ".")))
		return false
	})
	require.GreaterOrEqual(t, len(rows), 20)
	slices.Sort(rows)
	reference.Show(t, "../../docs/reference/metrics.md", "metrics", strings.Join(rows, ""))
}

// textsOf returns the texts of an expression in order. Parts that are joined by + are one text.
func textsOf(e ast.Expr) (texts []string) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); e.Kind == token.STRING && err == nil {
			texts = []string{text}
		}
	case *ast.BinaryExpr:
		texts = []string{strings.Join(append(textsOf(e.X), textsOf(e.Y)...), "")}
	case *ast.KeyValueExpr:
		texts = textsOf(e.Value)
	case *ast.CompositeLit:
		for _, part := range e.Elts {
			texts = append(texts, textsOf(part)...)
		}
	}
	return texts
}
