package integration

import (
	"fmt"
	"strings"
)

// stopping stops for the operator where a step fails for good.
const stopping = `workflow: stopping
grace: 2s
tellAfter: 2s
agents:
  payment: {queueAllowance: 2s, clockSkew: 100ms}
steps:
  settle:
    agent: payment
    operation: settle
    timeout: 1s
    retry: {maxFailures: 2, backoff: {initial: 50ms, max: 100ms}}
    onFailure: stop
    undo: unsettle
    grade: idempotent
`

// links is the length of the long chain; Lambda cuts chains after about 16 invocations of one
// function (rule 1).
const links = 30

// thirty is a chain of steps, one after the other.
func thirty() string {
	var b strings.Builder
	b.WriteString("workflow: thirty\ngrace: 2s\ntellAfter: 2s\nagents:\n  inventory: {queueAllowance: 5s, clockSkew: 100ms}\nsteps:\n")
	for n := 1; n <= links; n++ {
		fmt.Fprintf(&b, "  link-%d:\n    agent: inventory\n    operation: forge\n", n)
		if n > 1 {
			fmt.Fprintf(&b, "    after: [link-%d]\n", n-1)
		}
		b.WriteString("    timeout: 2s\n    retry: {maxFailures: 4, backoff: {initial: 50ms, max: 100ms}}\n    onFailure: undo\n    undo: none\n    grade: idempotent\n")
	}
	return b.String()
}
