package cost_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/internal/cost"
	"github.com/stepkeeper/stepkeeper/shared/awsclient"
	"github.com/stepkeeper/stepkeeper/shared/dynamo/dynamotest"
)

// The committed units are those of this code: a smaller measurement gives the same lines. Times and
// the sizes that hang on the length of IDs aside, nothing may differ, to the last request.
func TestTheCommittedUnitsAreThoseOfTheCode(t *testing.T) {
	dynamotest.Config(t, awsclient.Options{}) // skips, and says so, without a DynamoDB
	if !dynamotest.Emulated() {
		t.Skip("NOT RUN: measured on this machine only")
	}
	committed := cost.Measured()
	small := map[string]options{}
	for name, o := range shapes {
		// Multiples of every batch's size, so that batches are full: 10 to the Scheduler, 5 to agents, or 3
		// to each.
		o.orders = map[bool]int{true: 3, false: 60}[o.scheduler == 1]
		small[name] = o
	}
	measured, err := measureAll(t.Context(), os.Getenv(dynamotest.Variable), small)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range committed.Shapes {
		got, there := measured.Shapes[name]
		if !there {
			t.Errorf("%s is committed and is not measured any more", name)
			continue
		}
		for _, d := range differ(want, got) {
			t.Errorf("%s: %s; if that is meant, run `make cost` and look at cost.md", name, d)
		}
	}
	for name := range measured.Shapes {
		if _, there := committed.Shapes[name]; !there {
			t.Errorf("%s is measured and not committed: run `make cost`", name)
		}
	}
}

// differ says in what two measurements of one shape differ.
func differ(want, got cost.Shape) []string {
	type name struct {
		service, operation, resource string
		application                  bool
	}
	lines := map[name][2]cost.Line{}
	for i, shape := range []cost.Shape{want, got} {
		for _, l := range shape.Lines {
			pair := lines[name{l.Service, l.Operation, l.Resource, l.Application}]
			pair[i] = l
			lines[name{l.Service, l.Operation, l.Resource, l.Application}] = pair
		}
	}
	var all []string
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-6 }
	for n, p := range lines {
		a, b := p[0], p[1]
		var differ []string
		for _, figure := range []struct {
			name                string
			committed, measured float64
		}{
			{"calls", a.Calls, b.Calls},
			{"requests", a.Requests, b.Requests},
			{"WRU", a.WRU, b.WRU},
			{"WRU of the index", a.IndexWRU, b.IndexWRU},
			{"RRU", a.RRU, b.RRU},
			{"RRU of the index", a.IndexRRU, b.IndexRRU},
		} {
			if !near(figure.committed, figure.measured) {
				text := fmt.Sprintf("%s: committed %v, measured %v", figure.name, figure.committed,
					figure.measured)
				differ = append(differ, text)
			}
		}
		if len(differ) > 0 {
			all = append(all,
				fmt.Sprintf("%s %s %s: %s", n.service, n.operation, n.resource, strings.Join(differ, "; ")))
		}
	}
	for function, n := range want.Invocations {
		if !near(n, got.Invocations[function]) {
			all = append(all, fmt.Sprintf("invocations of %s: committed %v, measured %v", function, n,
				got.Invocations[function]))
		}
	}
	if math.Abs(float64(want.ItemBytes-got.ItemBytes)) > 16 {
		all = append(all, fmt.Sprintf("the largest item: committed %d bytes, measured %d", want.ItemBytes,
			got.ItemBytes))
	}
	return all
}

// A difference is found.
func TestADifferenceIsFound(t *testing.T) {
	a := cost.Shape{Lines: []cost.Line{{Service: "sqs", Operation: "SendMessageBatch", Resource: "replies",
		Calls: 1, Requests: 1}}, Invocations: map[string]float64{"scheduler": 0.5}}
	if d := differ(a, a); len(d) > 0 {
		t.Errorf("the same: %v", d)
	}
	b := cost.Shape{Lines: []cost.Line{{Service: "sqs", Operation: "SendMessageBatch", Resource: "replies",
		Calls: 1, Requests: 2}}, Invocations: map[string]float64{"scheduler": 0.6}, ItemBytes: 100}
	if d := differ(a, b); len(d) != 3 {
		t.Errorf("others: %v", d)
	}
}
