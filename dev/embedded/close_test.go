package embedded_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// broken reads a field of something that the order does not have, so that its first step fails without a
// claim.
var broken = strings.Replace(fixed, "order.n }", "order.amount.value }", 1)

const fixed = `
workflow: pair
agents:
  shop: {queueAllowance: 5s}
steps:
  first:
    agent: shop
    operation: first
    input: {of: "${ order.n }"}
    timeout: 5s
    onFailure: stop
    undo: undo-first
    grade: fenced
`

// taken takes n statuses out of the application's queue.
func taken(t *testing.T, s *embedded.Runtime, n int) (all []*message.Status) {
	t.Helper()
	q := queueOf(t, s, embedded.Status("shop"))
	for len(all) < n {
		deliveries, err := q.Receive(t.Context(), 10, patience, time.Minute)
		require.NoError(t, err, "%+v", n)
		require.NotEmpty(t, deliveries, "%+v", n)
		for _, d := range deliveries {
			status, err := message.Of[message.Status](d)
			require.NoError(t, err)
			all = append(all, status)
		}
	}
	return all
}
