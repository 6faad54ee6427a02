package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/golden"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
)

const shipped = "../../../../examples/order"

func TestWorkflowValidate(t *testing.T) {
	call{}.run(t, "workflow", "validate", shipped).want(t, failure.OK,
		"order.yaml: valid, workflow order, 4 steps", "provision.yaml: valid")
	broken := write(t, "broken.yaml",
		"workflow: broken\nsteps:\n  a:\n    agent: payment\n    operaton: charge\n    onFailure: stop\n")
	r := call{}.run(t, "workflow", "validate", broken)
	r.want(t, failure.Usage, broken+":5:", "operaton", "fix:")
	r = call{}.run(t, "workflow", "validate", broken, filepath.Join(shipped, "order.yaml"), "--output",
		"json")
	r.want(t, failure.Usage)
	docs := decodeLines(t, r.out)
	require.Len(t, docs, 2)
	require.Empty(t, docs[1]["problems"].([]any))
	require.Equal(t, false, docs[0]["valid"])
	require.Equal(t, true, docs[1]["valid"])
	require.Equal(t, "order", docs[1]["workflow"])
	first := docs[0]["problems"].([]any)[0].(map[string]any)
	require.NotNil(t, first["line"])
	require.Equal(t, "error", first["severity"])
	require.NotEmpty(t, first["what"])
	agents := write(t, "agents.yaml", "agents:\n  payment: {url: 'https://${env:NOT_SET}'}\n")
	call{}.run(t, "workflow", "validate", filepath.Join(shipped, "order.yaml"), "--agents", agents).want(t,
		failure.Usage, "there is no agent inventory", "known agents: payment")
	call{}.run(t, "workflow", "validate", broken, "--agents", write(t, "bad.yaml", "agents: [")).want(t,
		failure.Usage, "check the indentation")
	call{}.run(t, "workflow", "validate", t.TempDir()).want(t, failure.NotFound, "has no workflow files")
}

// The reported use of the budget grows with the order. Without an order it is not printed.
func TestWorkflowValidateReportsTheBudget(t *testing.T) {
	file := filepath.Join(shipped, "order.yaml")
	call{}.run(t, "workflow", "validate", file).want(t, failure.OK, "largest expression ", " of 500 parts\n")
	item := `{"sku":"a","quantity":2,"unitPrice":9,"physical":true}`
	used := func(items int) float64 {
		order := write(t, "order.json", `{"items":[`+strings.TrimSuffix(strings.Repeat(item+",", items), ",")+
			`]}`)
		call{}.run(t, "workflow", "validate", file, "--order", order).want(t, failure.OK,
			" of 1000000 steps of work for this order")
		r := call{}.run(t, "workflow", "validate", file, "--order", order, "--output", "json")
		b := decodeLines(t, r.out)[0]["budget"].(map[string]any)
		require.EqualValues(t, 500, b["partsAllowed"])
		require.EqualValues(t, 1000000, b["stepsAllowed"])
		require.GreaterOrEqual(t, b["parts"].(float64), float64(5))
		require.LessOrEqual(t, b["parts"].(float64), float64(30))
		return b["steps"].(float64)
	}
	one := used(1)
	many := used(100)
	require.GreaterOrEqual(t, many, 50*one)
	require.LessOrEqual(t, many, 100*one)
	call{}.run(t, "workflow", "validate", file, "--order", write(t, "bad.json", "{")).want(t, failure.Usage,
		"is not JSON")
	call{}.run(t, "workflow", "validate", file, "--order", "no-such.json").want(t, failure.NotFound,
		"cannot be read")
}

// An order that does not match the schema of its workflow makes the check fail.
func TestWorkflowValidateChecksTheOrder(t *testing.T) {
	file := write(t, "shop.yaml", `workflow: shop
order: {schema: {required: [email]}}
steps: {a: {agent: a, operation: run, timeout: 1s, onFailure: stop, undo: none, grade: fenced}}
`)
	call{}.run(t, "workflow", "validate", file, "--order", write(t, "order.json", `{"email":""}`)).want(t,
		failure.OK, "valid")
	r := call{}.run(t, "workflow", "validate", file, "--order", write(t, "order.json", `{}`))
	r.want(t, failure.Usage, "order.json: the order does not match the schema of the workflow shop: at the "+
		"top it lacks \"email\"")
	require.NotContains(t, r.out, "valid")
}

func TestWorkflowGraph(t *testing.T) {
	file := filepath.Join(shipped, "order.yaml")
	r := call{}.run(t, "workflow", "graph", file)
	r.want(t, failure.OK, "flowchart TD", "book-shipment")
	j := call{}.run(t, "workflow", "graph", file, "--output", "json")
	d := decodeLines(t, j.out)
	require.Len(t, d, 1)
	require.Equal(t, r.out, d[0]["mermaid"])
	require.Equal(t, "order", d[0]["workflow"])
	call{}.run(t, "workflow", "graph", shipped).want(t, failure.Usage, "is a folder")
	call{}.run(t, "workflow", "graph", write(t, "x.yaml", "steps: 5")).want(t, failure.Usage,
		"is no valid workflow", "fix:")
}

func TestWorkflowSchema(t *testing.T) {
	r := call{}.run(t, "workflow", "schema")
	r.want(t, failure.OK)
	var schema map[string]any
	require.NoError(t, json.Unmarshal([]byte(r.out), &schema))
	require.NotNil(t, schema["$schema"])
}

func TestWorkflowList(t *testing.T) {
	c := call{server: serve(t, newBackend(noon)).URL}
	r := c.run(t, "workflow", "list")
	r.want(t, failure.OK, "provision.yaml:3:1: steps is empty")
	golden.Assert(t, r.out, "workflows.txt")
	r = c.run(t, "workflow", "list", "--output", "json")
	d := decodeLines(t, r.out)
	require.Len(t, d, 2)
	require.Equal(t, "order", d[0]["name"])
	call{}.run(t, "workflow", "list").want(t, failure.Unreachable, "stepkeeper dev")
	call{}.run(t, "workflow", "list", "--server", "nonsense").want(t, failure.Usage, "cannot be used")
}

func TestWorkflowNothing(t *testing.T) {
	r := call{}.run(t, "workflow")
	r2 := call{}.run(t, "workflow", "--help")
	require.Equal(t, failure.OK, r.code, "a group alone explains itself")
	require.Equal(t, r2.out, r.out)
	require.Contains(t, r.out, "validate")
}
