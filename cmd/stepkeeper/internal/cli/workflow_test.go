package cli

import (
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
