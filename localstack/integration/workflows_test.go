package integration

import (
	"archive/zip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	functions "github.com/stepkeeper/stepkeeper/infra/build"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
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

// pausing waits between two steps.
const pausing = `workflow: pausing
notify: [step-finished]
grace: 2s
tellAfter: 2s
agents:
  inventory: {queueAllowance: 5s, clockSkew: 100ms}
steps:
  one:
    agent: inventory
    operation: forge
    timeout: 2s
    retry: {maxFailures: 4, backoff: {initial: 50ms, max: 100ms}}
    onFailure: undo
    undo: none
    grade: idempotent
  pause: {wait: 3s, after: [one]}
  two:
    agent: inventory
    operation: forge
    after: [pause]
    timeout: 2s
    retry: {maxFailures: 4, backoff: {initial: 50ms, max: 100ms}}
    onFailure: undo
    undo: none
    grade: idempotent
`

// ticking starts by the clock, each minute, and calls no agent.
const ticking = `workflow: ticking
schedule: {cron: "* * * * *", zone: Asia/Kolkata, overlap: allow, input: {from: clock}}
steps:
  pause: {wait: 1s}
`

// going asks one of two agents, and goes on without that step where both fail.
const going = `workflow: going
grace: 2s
tellAfter: 2s
agents:
  payment: {queueAllowance: 20s, clockSkew: 100ms}
  shipping: {queueAllowance: 20s, clockSkew: 100ms}
steps:
  try:
    agents: [payment, shipping]
    operation: settle
    timeout: 1s
    retry: {maxFailures: 2, backoff: {initial: 50ms, max: 100ms}}
    onFailure: continue
    undo: unsettle
    grade: fenced
  other:
    agent: payment
    operation: settle
    after: [try]
    when: steps.try.failed
    timeout: 1s
    onFailure: undo
    undo: unsettle
    grade: fenced
`

// filming is work that may take longer than its timeout.
const filming = `workflow: filming
grace: 2s
tellAfter: 2s
agents:
  payment: {queueAllowance: 2s, clockSkew: 100ms}
steps:
  film: {agent: payment, operation: settle, timeout: 8s, maxDuration: 10m, onFailure: undo, undo: unsettle, grade: fenced}
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

// asking waits for two people, and for an event that may come before its step.
const asking = `workflow: asking
grace: 2s
tellAfter: 2s
steps:
  approve:
    approval: {question: May it go on?, answers: [go, halt], need: 2, timeout: 1h, onTimeout: undo}
  paid:
    event: {name: payment, timeout: 1h, onTimeout: undo}
    after: [approve]
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

// links is the length of the long chain; Lambda cuts chains after about 16 invocations of one
// function (rule 1).
const links = 30

// chain is a workflow of steps, one after the other.
func chain(name string, links int, onFailure string) string {
	var b strings.Builder
	fmt.Fprintf(&b,
		"workflow: %s\ngrace: 2s\ntellAfter: 2s\nagents:\n  inventory: {queueAllowance: 5s, clockSkew: "+
			"100ms}\nsteps:\n", name)
	for n := 1; n <= links; n++ {
		fmt.Fprintf(&b, "  link-%d:\n    agent: inventory\n    operation: forge\n", n)
		if n > 1 {
			fmt.Fprintf(&b, "    after: [link-%d]\n", n-1)
		}
		fmt.Fprintf(&b,
			"    timeout: 2s\n    retry: {maxFailures: 4, backoff: {initial: 50ms, max: 100ms}}\n    "+
				"onFailure: %s\n    undo: none\n    grade: idempotent\n", onFailure)
	}
	return b.String()
}

// tightBudget is the hop budget of the workflow "tight", which has more steps than that. A compiled
// definition has a budget that its own retries cannot use up, so this one is lowered by hand.
const tightBudget = 3

// tighten lowers the budget in the archives that the Scheduler is deployed with.
func tighten(assembly string) error {
	archives, err := filepath.Glob(filepath.Join(assembly, "asset.*.zip"))
	if err != nil {
		return err
	}
	tightened := 0
	for _, archive := range archives {
		folder, err := os.MkdirTemp(assembly, "tight-")
		if err != nil {
			return err
		}
		if err := extract(archive, folder); err != nil {
			return err
		}
		file := filepath.Join(folder, "workflows", "tight.json")
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) { // the function of another actor
			continue
		}
		if err != nil {
			return err
		}
		definition, err := workflow.Decode(workflow.Hash(data), data)
		if err != nil {
			return err
		}
		definition.HopBudget = tightBudget
		data, err = workflow.Encode(definition) // its bytes are what a hash is made of
		if err := errors.Join(err, os.WriteFile(file, data, 0o600), functions.ZipFile(archive, folder)); err != nil {
			return err
		}
		tightened++
	}
	if tightened == 0 {
		return errors.New("no function has the compiled workflow tight.json")
	}
	return nil
}

func extract(archive, folder string) error {
	r, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	return errors.Join(os.CopyFS(folder, r), r.Close())
}
