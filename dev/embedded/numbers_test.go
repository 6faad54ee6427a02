package embedded_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
	require.NoError(t, err)
	require.NoError(t, s.Submit(t.Context(), []message.SubmitOrder{o})[0].Err)
	require.Equal(t, core.Processed, wait(t, s, "one").ProcessState)
	want := `[1e3,16,0.5,"02134",12345678901234567890123,1.10,19.90,59.7,0.3,9223372036854775808,` +
		`0.3333333333333333333333333333333333,true,4]`
	require.Equal(t, want, <-sent)
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
		require.NoError(t, err)
		require.NoError(t, s.Submit(t.Context(), []message.SubmitOrder{o})[0].Err)
		untilStep(t, s, id, "first", core.Processing)
	}
	before := requestBodies(t, s, orders)
	closeRuntime(t, s)
	s = w.open()
	defer closeRuntime(t, s)
	after := requestBodies(t, s, orders)
	for id, input := range before {
		require.Equal(t, input, after[id], id)
	}
}

// requestBodies takes n requests of the shop and returns their inputs by order.
func requestBodies(t *testing.T, s *embedded.Runtime, n int) map[string]string {
	t.Helper()
	q, err := s.Queue(port.Requests("shop"))
	require.NoError(t, err)
	inputs := map[string]string{}
	for len(inputs) < n {
		got, err := q.Receive(t.Context(), 10, patience, time.Minute)
		require.NoError(t, err, n)
		require.NotEmpty(t, got, n)
		for _, d := range got {
			r, err := message.Of[message.Request](d)
			require.NoError(t, err)
			inputs[r.OrderID] = string(r.Input)
		}
	}
	return inputs
}
