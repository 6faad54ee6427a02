package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// patientOrder is the example's workflow with longer times of its plain step: where the emulator takes longer
// than that, nobody can know whether the call had an effect, and the order waits for the operator.
func patientOrder() (string, error) {
	data, err := os.ReadFile(filepath.Join("..", "..", "examples", "order", "order.yaml"))
	if err != nil {
		return "", err
	}
	text := string(data)
	for _, change := range [][2]string{
		{"  shipping: {queueAllowance: 2s,", "  shipping: {queueAllowance: 20s,"},
		{"      shipTo: ${ order.shipTo }\n    timeout: 1s\n", "      shipTo: ${ order.shipTo }\n    timeout: 10s\n"},
	} {
		if strings.Count(text, change[0]) != 1 {
			return "", fmt.Errorf("examples/order/order.yaml does not have %q once", change[0])
		}
		text = strings.Replace(text, change[0], change[1], 1)
	}
	return text, nil
}

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

// ticking starts by the clock, each minute, and calls no agent.
const ticking = `workflow: ticking
schedule: {cron: "* * * * *", zone: Asia/Kolkata, overlap: allow, input: {from: clock}}
steps:
  pause: {wait: 1s}
`

// writing keeps the agent busy that has a queue for high priority.
const writing = `workflow: writing
grace: 2s
tellAfter: 2s
steps:
  write: {agent: notification, operation: settle, timeout: 20s, onFailure: stop, undo: none, grade: idempotent}
`

// family has a child for each item, and one more that gets the order; theirs is leaf.
const family = `workflow: family
grace: 2s
tellAfter: 2s
steps:
  each: {each: "${ order.items }", workflow: leaf, input: {sku: "${ item.sku }"}, collect: true}
  one: {workflow: leaf, after: [each]}
`

const leaf = `workflow: leaf
grace: 2s
tellAfter: 2s
agents:
  payment: {queueAllowance: 20s, clockSkew: 100ms}
steps:
  settle:
    agent: payment
    operation: settle
    timeout: 2s
    retry: {maxFailures: 2, backoff: {initial: 50ms, max: 100ms}}
    onFailure: undo
    undo: unsettle
    grade: fenced
output: {settled: "${ orderId }"}
`

// linking sends a token with which one person answers.
const linking = `workflow: linking
grace: 2s
tellAfter: 2s
agents:
  payment: {queueAllowance: 2s, clockSkew: 100ms}
steps:
  approve:
    ask: {agent: payment, operation: ask, timeout: 2s, input: {token: '${ token("approve", "ann") }'}}
    approval: {question: May it go on?, answers: [go, halt], who: [ann], timeout: 1h, onTimeout: undo}
`

// chain is a workflow of steps, one after the other.
func chain(name string, links int) string {
	var b strings.Builder
	fmt.Fprintf(&b,
		"workflow: %s\ngrace: 2s\ntellAfter: 2s\nagents:\n  inventory: {queueAllowance: 5s, clockSkew: "+
			"100ms}\nsteps:\n", name)
	for n := 1; n <= links; n++ {
		fmt.Fprintf(&b, "  link-%d:\n    agent: inventory\n    operation: forge\n", n)
		if n > 1 {
			fmt.Fprintf(&b, "    after: [link-%d]\n", n-1)
		}
		b.WriteString("    timeout: 2s\n    retry: {maxFailures: 4, backoff: {initial: 50ms, max: 100ms}}\n    " +
			"onFailure: undo\n    undo: none\n    grade: idempotent\n")
	}
	return b.String()
}
