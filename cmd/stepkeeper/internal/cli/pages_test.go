package cli

import (
	"cmp"
	"fmt"
	"go/ast"
	exact "go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/reference"
)

// TestLimitsPage checks that docs/reference/limits.md has the limits of the code. The first sentence of a
// constant's comment defines it, and the others say what happens beyond it.
func TestLimitsPage(t *testing.T) {
	var b strings.Builder
	for _, limit := range [][3]string{
		{"an order, as JSON", "port/store.go", "MaxOrder"},
		{"levels of any JSON", "rawjson/check.go", "MaxLevels"},
		{"a message, such as a request to an agent", "port/queue.go", "MaxMessage"},
		{"a workflow file", "workflow/source/yaml.go", "MaxFile"},
		{"steps of a workflow", "workflow/source/yaml.go", "MaxSteps"},
		{"output of a step, as JSON", "core/limits.go", "MaxOutput"},
		{"the document of an order", "port/store.go", "MaxDocument"},
		{"output of a workflow", "protocol/end.go", "maxOutput"},
		{"an expression", "expression/meter.go", "MaxSource"},
		{"result of an expression, as JSON", "expression/meter.go", "MaxResult"},
		{"work of an evaluation, in metered steps", "expression/meter.go", "MaxSteps"},
		{"a JSON Schema", "schema/schema.go", "MaxSize"},
	} {
		value, comment := constant(t, filepath.Join(root, "shared", limit[1]), limit[2])
		shown := strconv.Itoa(value)
		switch {
		case value%(1<<20) == 0:
			shown = fmt.Sprintf("%d MiB", value>>20)
		case value%(1<<10) == 0:
			shown = fmt.Sprintf("%d KiB", value>>10)
		default:
			for i := len(shown) - 3; i > 0; i -= 3 {
				shown = shown[:i] + "," + shown[i:]
			}
		}
		_, beyond, _ := strings.Cut(comment, ". ")
		b.WriteString(strings.TrimSpace(fmt.Sprintf("- **%s: %s.** %s", limit[0], shown, beyond)) + "\n")
	}
	reference.Show(t, filepath.Join(root, "docs/reference/limits.md"), "limits", b.String())
}

// constant returns the value of a constant of a file, and its comment.
func constant(t *testing.T, file, name string) (value int, comment string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	require.NoError(t, err)
	for _, d := range parsed.Decls {
		declared, ok := d.(*ast.GenDecl)
		if !ok || declared.Tok != token.CONST {
			continue
		}
		for _, s := range declared.Specs {
			spec := s.(*ast.ValueSpec)
			if spec.Names[0].Name != name {
				continue
			}
			about := cmp.Or(spec.Doc.Text(), declared.Doc.Text())
			v, err := types.Eval(token.NewFileSet(), nil, token.NoPos, types.ExprString(spec.Values[0]))
			require.NoError(t, err)
			n, _ := exact.Int64Val(v.Value)
			return int(n), strings.Join(strings.Fields(about), " ")
		}
	}
	t.Fatalf("%s has no constant %s", file, name)
	return 0, ""
}
