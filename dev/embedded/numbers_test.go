package embedded_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

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
	q := queueOf(t, s, port.Requests("shop"))
	inputs := map[string]string{}
	for len(inputs) < n {
		got, err := q.Receive(t.Context(), 10, patience, time.Minute)
		require.NoError(t, err, "%+v", n)
		require.NotEmpty(t, got, "%+v", n)
		for _, d := range got {
			r, err := message.Of[message.Request](d)
			require.NoError(t, err)
			inputs[r.OrderID] = string(r.Input)
		}
	}
	return inputs
}
