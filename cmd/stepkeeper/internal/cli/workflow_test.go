package cli

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
)

const shipped = "../../../../examples/order"

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

// TestRefusedCallsSayWhatToDo and TestOutputOfSuccessfulCalls have the text.
func TestWorkflowValidate(t *testing.T) {
	r := call{}.run(t, "workflow", "validate", "testdata/broken.yaml", filepath.Join(shipped, "order.yaml"), "--output", "json")
	r.want(t, failure.Usage)
	docs := decodeLines(t, r.out)
	require.Len(t, docs, 2)
	require.Equal(t, false, docs[0]["valid"])
	require.Equal(t, true, docs[1]["valid"])
	require.Equal(t, "order", docs[1]["workflow"])
	require.Empty(t, docs[1]["problems"].([]any))
	first := docs[0]["problems"].([]any)[0].(map[string]any)
	require.NotNil(t, first["line"])
	require.Equal(t, "error", first["severity"])
	require.NotEmpty(t, first["what"])
	agents := write(t, "agents.yaml", "agents:\n  payment: {url: 'https://${env:NOT_SET}'}\n")
	call{}.run(t, "workflow", "validate", filepath.Join(shipped, "order.yaml"), "--agents", agents).want(t,
		failure.Usage, "there is no agent inventory", "known agents: payment")
	call{}.run(t, "workflow", "validate", t.TempDir()).want(t, failure.NotFound, "has no workflow files")
}
