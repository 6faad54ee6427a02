package embedded_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// counter is an agent that makes one call at a time, each when the test says so: time is counted in calls.
type counter struct {
	t      *testing.T
	s      *embedded.Runtime
	called chan string // the order of the call that waits
	goes   chan struct{}
}

func newCounter(t *testing.T) *counter {
	w := newFixture(t, "1h")
	c := &counter{t: t, called: make(chan string), goes: make(chan struct{})}
	w.options.Inside.Concurrency = 1
	w.options.MaxOpen = 100_000
	w.options.Operations = map[string]worker.Operations{
		"shop": {worker.AnyOperation: {Run: func(ctx context.Context, call worker.Call) (any, error) {
			select {
			case c.called <- call.OrderID:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			<-c.goes
			return nil, nil
		}}},
	}
	c.s = w.open()
	t.Cleanup(func() { closeRuntime(t, c.s) })
	return c
}

func (c *counter) submit(rest string, ids ...string) {
	c.t.Helper()
	var orders []message.SubmitOrder
	for _, id := range ids {
		orders = append(orders, order(c.t, id, rest))
	}
	for _, r := range c.s.Submit(c.t.Context(), orders) {
		require.NoError(c.t, r.Err)
	}
}

// call lets one call happen, and answers whose it was; "" where none is to be made. A call takes much longer
// than the Scheduler takes for a reply.
func (c *counter) call() string {
	c.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		select {
		case id := <-c.called: // the reply of the call before was sent
			for busy(c.t, c.s) && time.Now().Before(end) {
				time.Sleep(50 * time.Microsecond)
			}
			c.goes <- struct{}{}
			return id
		case <-time.After(time.Millisecond):
			if d := depth(c.t, c.s, port.Requests("shop")); d.Visible+d.InFlight == 0 && !busy(c.t, c.s) {
				return ""
			}
		}
	}
	c.t.Fatal("no call is made, and there is work")
	return ""
}

// P46: orders of high priority go before the others, which still get every tenth call.
func TestHighPriorityGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		var normal, high []string
		for n := range 40 {
			normal = append(normal, fmt.Sprintf("normal-%d", n))
			high = append(high, fmt.Sprintf("high-%d", n))
		}
		c.submit("", normal...)
		require.True(t, strings.HasPrefix(c.call(), "normal-"))
		c.submit(`,"priority":"high"`, high...)
		n := c.s.Submit(t.Context(),
			[]message.SubmitOrder{order(t, "high-0", `,"priority":"high"`)})[0].Notes
		require.Nil(t, n)
		c.call() // of a normal one, received before
		others := 0
		for range 80 { // which have two steps each
			if id := c.call(); strings.HasPrefix(id, "normal-") {
				others++
			}
		}
		require.GreaterOrEqual(t, others, 7)
		require.LessOrEqual(t, others, 10)
		for c.call() != "" {
		}
		for _, id := range append(normal, high...) {
			require.Equal(t, core.Processed, wait(t, c.s, id).ProcessState, id)
		}
	})
}
