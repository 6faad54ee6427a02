// Package cost_test measures the request units and messages of an order, with the real Scheduler, Supervisor
// and agents on a DynamoDB. docs/explanation/cost.md shows the result. `make cost` measures again.
package cost_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/demo/load"
	"github.com/stepkeeper/stepkeeper/internal/reference"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
)

const page = "../../../docs/explanation/cost.md"

// consumed is the consumption of one order.
type consumed struct {
	writes, reads float64 // request units of DynamoDB
	replies       float64 // messages from agents to the Scheduler
	others        float64 // further messages to the Scheduler: orders, answers, Wakes, ends of child orders
	requests      float64 // messages to agents
	statuses      float64 // messages to the application
	events        float64 // statuses on an event bus
	bytes         float64 // size of the task's largest item
}

func (c consumed) less(d consumed) consumed {
	return consumed{
		c.writes - d.writes, c.reads - d.reads, c.replies - d.replies, c.others - d.others,
		c.requests - d.requests, c.statuses - d.statuses, c.events - d.events, c.bytes - d.bytes,
	}
}

// messages returns the number of messages in queues of SQS.
func (c consumed) messages() float64 { return c.replies + c.others + c.requests + c.statuses }

// row describes an order to measure.
type row struct {
	name    string
	file    string        // file of the workflow; "" means the step a, and the steps below
	head    string        // lines of the workflow before its steps
	steps   string        // lines of further steps
	order   string        // content; "" means {}
	output  string        // output of each call; "" means {"ok":true}
	silent  bool          // the order names no reply-to
	answer  bool          // a person answers "yes" to the step b
	pause   time.Duration // time that passes whenever no message is visible; 0 means 10 s
	sweeps  bool          // the Supervisor sweeps after each pause
	ends    core.State    // final state; "" means Processed
	options dynamo.Options
}

const (
	first = "  a: {agent: shop, operation: do, timeout: 10s, onFailure: undo, undo: undo, grade: idempotent}\n"
	again = "  b: {after: [a], agent: shop, operation: do, timeout: 10s, onFailure: undo, undo: undo, grade: "
)

// base is the order to which all rows without a file are compared.
var base = row{name: "an order of one call of an idempotent service"}

var rows = []row{
	{name: "a further call, grade `fenced`", steps: again + "fenced}\n"},
	{name: "a further call, grade `idempotent`", steps: again + "idempotent}\n"},
	{name: "a further call, grade `plain`", steps: again + "plain}\n"},
	{name: "a further call, the point of no return", steps: "  b: {after: [a], agent: shop, operation: do, " +
		"timeout: 10s, onFailure: stop, pointOfNoReturn: true, grade: idempotent}\n"},
	{name: "a further call, whose first attempt fails", steps: strings.Replace(again, ": do", ": flaky", 1) +
		"idempotent, retry: {backoff: {initial: 1s}}}\n"},
	{
		name: "a further call, which is refused, and the undo of the first", ends: core.Compensated,
		steps: strings.Replace(again, ": do", ": refuse", 1) + "fenced}\n",
	},
	{name: "a further call, which reports its progress once", steps: strings.Replace(again, ": do",
		": report, maxDuration: 10m", 1) + "idempotent}\n"},
	{name: "a wait of ten minutes", steps: "  b: {wait: 10m, after: [a]}\n", pause: 11 * time.Minute},
	{
		name: "a wait of 20 minutes, which a sweep ends", steps: "  b: {wait: 20m, after: [a]}\n",
		pause: 21 * time.Minute, sweeps: true,
	},
	{name: "an approval by one person", answer: true, pause: 6 * time.Hour, steps: "  b: {approval: {" +
		"question: 'Go on?', answers: ['yes', 'no'], timeout: 7d, onTimeout: undo}, after: [a]}\n"},
	{
		name: "two child orders of one call each", order: `{"items":[{"n":1},{"n":2}]}`,
		steps: "  b: {each: '${ order.items }', workflow: part, after: [a]}\n",
	},
	{name: "a rule (`fail`) that does not hold", steps: "  b: {fail: {code: never, " +
		"message: 'Never.'}, when: 'false', after: [a]}\n"},
	{name: "without a reply-to", silent: true},
	{name: "a status `step-finished`", head: "notify: [step-finished]\n"},
	{name: "a status `started`", head: "notify: [started]\n"},
	{name: "an end on the event bus (`events: true`)", head: "events: true\n"},
	{name: "`TaskTTL`", options: dynamo.Options{TTL: 10_000 * 24 * time.Hour}},
	{name: "`FinishedOrders`", options: dynamo.Options{FinishedIndex: true}},
	{name: "an order of 900 bytes", order: incompressible(900)},
	{name: "an output of 900 bytes", output: incompressible(900)},
}

var wholes = []row{
	{name: "the saga: four calls in a row, 308 bytes", file: "../saga.yaml", order: load.Order},
	{
		name: "[order.yaml](../../examples/order/order.yaml), 178 bytes, outputs of 56 bytes",
		file: "../../../examples/order/order.yaml", order: sample,
		output: `{"chargeId":"c-48213","reservationId":"","shipmentId":""}`,
	},
}

// sample is the order of docs/reference/document.md.
const sample = `{"currency":"EUR","customer":{"email":"a@example.com"},"items":[{"sku":"mug","quantity":2,` +
	`"unitPrice":1250,"physical":true}],"payment":{"card":"tok"},"shipTo":{"city":"Hamburg"}}`

// TestUnits measures the orders, and compares the measurement with the tables of the page.
func TestUnits(t *testing.T) {
	d := newTables(t)
	one := d.measure(t, base)
	var text strings.Builder
	text.WriteString("| | WRU | RRU | messages | bytes | dollars a million, full batches | single messages |\n" +
		"|---|---|---|---|---|---|---|\n")
	show := func(name, format string, c consumed) {
		fmt.Fprintf(&text, "| %s |", name)
		for _, n := range []float64{c.writes, c.reads, c.messages(), c.bytes} {
			text.WriteString(cell(format, n))
		}
		text.WriteString(cell(format+".2f", full.dollars(c)) + cell(format+".2f", single.dollars(c)) + "\n")
	}
	show(base.name, "%", one)
	for _, r := range rows {
		show(r.name, "%+", d.measure(t, r).less(one))
	}
	for _, r := range wholes {
		show(r.name, "%", d.measure(t, r))
	}
	writes, reads := d.sweep(t)
	fmt.Fprintf(&text, "| a sweep of the Supervisor that finds nothing | %g | %g | | | | |\n", writes, reads)
	require.Empty(t, d.meter.failed, "calls of DynamoDB whose units are unknown")
	reference.Show(t, page, "make cost: units", text.String())
	reference.Show(t, page, "make cost: saga", example(d.measure(t, wholes[0])))
}

// cell returns a cell of a table. The cell is empty if n rounds to 0.
func cell(format string, n float64) string {
	if math.Abs(n) < 0.005 {
		return " |"
	}
	if strings.HasSuffix(format, "f") {
		return " " + fmt.Sprintf(format, n) + " |"
	}
	return " " + fmt.Sprintf(format+"g", n) + " |"
}

// batches says how many requests to SQS, and invocations, a message takes.
type batches struct {
	replies, others, requests, statuses float64 // requests for one message, to send, receive and delete it
	invoked                             float64 // invocations of the Scheduler for one message to it
	seconds                             float64 // duration of an invocation
}

var (
	// full batches have 10 messages, and 5 requests for an agent, which sends their replies together.
	full   = batches{replies: 0.4, others: 0.3, requests: 0.5, statuses: 0.3, invoked: 0.1, seconds: 0.032}
	single = batches{replies: 3, others: 3, requests: 3, statuses: 3, invoked: 1, seconds: 0.002}
)

// item is a line of a bill for a million orders.
type item struct {
	what  string
	units float64 // for one order
	of    string
	price float64 // dollars for a million units
}

// bill applies the list prices of the page.
func (b batches) bill(c consumed) []item {
	invoked := b.invoked * (c.replies + c.others)
	return []item{
		{"DynamoDB, writes", c.writes, "WRU", 0.625},
		{"DynamoDB, reads", c.reads, "RRU", 0.125},
		{
			"SQS", b.replies*c.replies + b.others*c.others + b.requests*c.requests + b.statuses*c.statuses,
			"requests", 0.40,
		},
		{"EventBridge", c.events, "events", 1},
		{"Lambda, the Scheduler", invoked, "invocations", 0.20},
		{"Lambda, its time", invoked * b.seconds * 0.25, "GB-s", 13.3334},
	}
}

func (b batches) dollars(c consumed) (sum float64) {
	for _, i := range b.bill(c) {
		sum += i.units * i.price
	}
	return sum
}

// example returns the bill of an order as a table.
func example(c consumed) string {
	var text strings.Builder
	text.WriteString("| | full batches | single messages |\n|---|---|---|\n")
	alone := single.bill(c)
	for k, i := range full.bill(c) {
		if alone[k].units == 0 {
			continue
		}
		fmt.Fprintf(&text, "| %s |", i.what)
		for _, i := range []item{i, alone[k]} {
			fmt.Fprintf(&text, " %.3g %s × $%.4g = $%.2f |", i.units, i.of, i.price, i.units*i.price)
		}
		text.WriteString("\n")
	}
	fmt.Fprintf(&text, "| **a million orders** | **$%.2f** | **$%.2f** |\n", full.dollars(c), single.dollars(c))
	return text.String()
}

// incompressible returns JSON of n bytes that takes about three quarters of them in an item, as the base64 of a key
// or a signature does.
func incompressible(n int) string {
	text := make([]byte, 0, n)
	for i := 0; len(text) < n; i++ {
		sum := sha256.Sum256([]byte{byte(i)})
		text = base64.StdEncoding.AppendEncode(text, sum[:])
	}
	return `{"x":"` + string(text[:n-8]) + `"}`
}
