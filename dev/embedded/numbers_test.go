package embedded_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Thirteen numbers of a file and of an order reach the service as they are meant.
func TestNumbersOfAFileAndOfAnOrder(t *testing.T) {
	w := newFixture(t, "60s")
	w.write("\ufeff" + `workflow: pair
grace: 1s
tellAfter: 1s
agents:
  shop: {queueAllowance: 60s, clockSkew: 10ms}
steps:
  first:
    agent: shop
    operation: first
    timeout: 60s
    onFailure: undo
    undo: none
    grade: idempotent
    input:
      - 1e3
      - 0x10
      - .5
      - "02134"
      - 12345678901234567890123
      - 1.10
      - ${ order.price }
      - ${ order.price * 3 }
      - ${ sum([0.1, 0.2]) }
      - ${ order.big + 1 }
      - ${ 1 / 3 }
      - ${ order.total - 0.3 == order.price * 2 }
      - ${ 8 / 2 }
`)
	sent := make(chan string, 10)
	w.options.Operations = map[string]worker.Operations{
		"shop": {worker.AnyOperation: {Run: func(_ context.Context, c worker.Call) (any, error) {
			sent <- string(c.Input)
			return nil, nil
		}}},
	}
	s := w.open()
	defer closeRuntime(t, s)
	o, err := message.DecodeSubmit([]byte(`{"schema":1,"orderId":"one","workflow":"pair","order":{"price":19.90,"big":9223372036854775807,"total":40.1}}`))
	if err != nil {
		t.Fatal(err)
	}
	if r := s.Submit(t.Context(), []message.SubmitOrder{o})[0]; r.Err != nil {
		t.Fatal(r.Err)
	}
	if task := wait(t, s, "one"); task.ProcessState != core.Processed {
		t.Fatalf("%s: %s", task.ProcessState, task.Reason.Text)
	}
	want := `[1e3,16,0.5,"02134",12345678901234567890123,1.10,19.90,59.7,0.3,9223372036854775808,` +
		`0.3333333333333333333333333333333333,true,4]`
	if got := <-sent; got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
}

// Orders whose expressions work on long numbers are taken up again at a restart, and send what they sent
// before.
func TestRestartWithOrdersOfLongNumbers(t *testing.T) {
	w := newFixture(t, "60s")
	w.write(strings.ReplaceAll(strings.ReplaceAll(pair, "%[1]s", "60s"), `input: {n: "${ order.n }"}`,
		`input: {n: "${ sum(order.l, # / 1e90) }", m: "${ count(order.l, # > order.l[0]) }"}`))
	w.outside()
	s := w.open()
	long := strings.TrimSuffix(strings.Repeat(strings.Repeat("7", 128)+",", 300), ",")
	const orders = 12
	for i := range orders {
		id := "long-" + string(rune('a'+i))
		o, err := message.DecodeSubmit([]byte(`{"schema":1,"orderId":"` + id +
			`","workflow":"pair","order":{"l":[` + long + `]}}`))
		if err != nil {
			t.Fatal(err)
		}
		if r := s.Submit(t.Context(), []message.SubmitOrder{o})[0]; r.Err != nil {
			t.Fatal(r.Err)
		}
		untilStep(t, s, id, "first", core.Processing)
	}
	before := requestBodies(t, s, orders)
	closeRuntime(t, s)
	s = w.open()
	defer closeRuntime(t, s)
	after := requestBodies(t, s, orders)
	for id, input := range before {
		if after[id] != input {
			t.Errorf("%s is sent %.100s after the restart, and was sent %.100s", id, after[id], input)
		}
	}
}

// requestBodies takes n requests of the shop and returns their inputs by order.
func requestBodies(t *testing.T, s *embedded.Runtime, n int) map[string]string {
	t.Helper()
	q, err := s.Queue(port.Requests("shop"))
	if err != nil {
		t.Fatal(err)
	}
	inputs := map[string]string{}
	for len(inputs) < n {
		got, err := q.Receive(t.Context(), 10, patience, time.Minute)
		if err != nil || len(got) == 0 {
			t.Fatalf("%d of %d requests came: %v", len(inputs), n, err)
		}
		for _, d := range got {
			r, err := message.Of[message.Request](d)
			if err != nil {
				t.Fatal(err)
			}
			inputs[r.OrderID] = string(r.Input)
		}
	}
	return inputs
}
