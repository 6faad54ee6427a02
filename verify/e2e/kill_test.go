package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/demo/audit"
)

// seed is that of the environment, or a new one; it is printed, so that a failure can be repeated.
func seed(t *testing.T) uint64 {
	t.Helper()
	n := rand.Uint64N(1_000_000)
	if given := os.Getenv("STEPKEEPER_E2E_SEED"); given != "" {
		var err error
		n, err = strconv.ParseUint(given, 10, 64)
		require.NoError(t, err, "STEPKEEPER_E2E_SEED")
	}
	t.Logf("seed %d; repeat with STEPKEEPER_E2E_SEED=%d", n, n)
	return n
}

// 2,000 orders are under way when the process is killed: each goes on within one second of the next
// one's readiness (P27). The bound here is looser, for machines with much else to do; the figure is
// printed. It is that of the orders' own documents, so that no poll is in the way.
func TestEveryOrderContinuesAfterKill(t *testing.T) {
	n := 2000
	bound := 5 * time.Second
	if testing.Short() {
		n = 500
	}
	shop := newShop(t, time.Hour)
	s := shop.newSite(t)
	p := s.start()
	ids := p.submit("held", n)
	shop.waits(t)
	p.kill()
	shop.Calm()

	p = s.start()
	for _, id := range ids {
		p.end(id, "Processed")
	}
	var last, sum time.Duration
	for _, id := range ids {
		task := p.get(id) // its next version was that of its first step's reply
		after := max(0, task.Steps[0].FinishedAt.Std().Sub(p.readyAt))
		last = max(last, after)
		sum = sum + after
	}
	t.Logf(
		"%d orders under way: ready %d ms after the start; their next versions %d ms (mean) and %d ms "+
			"(last) after that",
		n, p.took.Milliseconds(), (sum / time.Duration(n)).Milliseconds(), last.Milliseconds())
	require.LessOrEqual(t, last, bound)
	p.stop()
	shop.holds(t, processed(ids))
}

// freeAddress is one that the processes of a test can follow each other at. Such a test must not be
// parallel: another process could take the port in between.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// A client that is sending when the process is killed goes on with the next one at the same address:
// every order is acknowledged once and done once.
func TestClientOutlivesRestart(t *testing.T) {
	shop := newShop(t, 0)
	s := shop.newSite(t, "--listen", freeAddress(t))
	p := s.start()
	const n = 1000
	middle := make(chan struct{})
	back := make(chan struct{})
	orders := func(yield func(client.Order) bool) {
		for i := range n {
			if !yield(client.Order{
				ID: fmt.Sprintf("streamed-%d", i), Workflow: "sale", Content: json.RawMessage(good),
			}) {
				return
			}
			if i == n/3 { // the rest is for the next process
				close(middle)
				<-back
			}
		}
	}
	answers := map[string]int{}
	sent := make(chan error, 1)
	go func() {
		sent <- p.client.SubmitAll(t.Context(), orders, func(r client.Result) {
			if !r.Accepted {
				t.Errorf("order %s: %v", r.OrderID, r.Err)
			}
			answers[r.OrderID]++
		})
	}()
	<-middle
	p.kill()
	next := s.start()
	close(back)
	require.NoError(t, (<-sent))
	require.Len(t, answers, n)
	for id, times := range answers {
		require.Equal(t, 1, times, id)
		next.end(id, "Processed")
	}
	next.stop()
	shop.holds(t, processed(slices.Collect(maps.Keys(answers))))
}

// Killed at any moment, before it is ready too, while a client sends: every order is acknowledged,
// comes to the right end, and has its effects exactly once or not at all.
func TestKilledAtAnyMoment(t *testing.T) {
	n := 1200
	kills := 25
	if testing.Short() {
		n = 300
		kills = 6
	}
	shop := newShop(t, 0)
	s := shop.newSite(t, "--listen", freeAddress(t))
	s.write("workflows/sale.yaml", strings.NewReplacer("queueAllowance: 30s", "queueAllowance: 1s",
		"timeout: 20s", "timeout: 1s").Replace(sale))
	p := s.start()
	rng := rand.New(rand.NewPCG(seed(t), 1))

	ended := make(chan struct{})
	orders := func(yield func(client.Order) bool) {
		for i := range n {
			if i%(n/kills) == 0 { // spread over the kills
				select {
				case <-ended:
				case <-time.After(100 * time.Millisecond):
				}
			}
			content := good
			if i%10 == 7 {
				content = refused
			}
			if !yield(client.Order{
				ID: fmt.Sprintf("any-%d", i), Workflow: "sale", Content: json.RawMessage(content),
			}) {
				return
			}
		}
	}
	accepted := 0
	sent := make(chan error, 1)
	patient, err := client.New(p.URL(), client.WithRetry(1000, time.Minute))
	require.NoError(t, err)
	go func() {
		sent <- patient.SubmitAll(t.Context(), orders, func(r client.Result) {
			if r.Accepted {
				accepted++
			} else {
				t.Errorf("order %s: %v", r.OrderID, r.Err)
			}
		})
	}()
	p.kill()
	early := 0
	for k := range kills - 1 {
		longest := 300 // ms: in the middle of its work
		if k%2 == 0 {
			longest = 60 // while it comes up
		}
		cmd := exec.Command(binary, s.args()...)
		var out bytes.Buffer
		cmd.Stdout = &out
		require.NoError(t, cmd.Start())
		time.Sleep(time.Duration(rng.IntN(longest)) * time.Millisecond) // the random point
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if out.String() == "" {
			early++
		}
	}
	close(ended)
	p = s.start()
	require.NoError(t, (<-sent))
	require.Equal(t, n, accepted)
	outcomes := map[string]audit.Outcome{}
	for i := range n {
		id := fmt.Sprintf("any-%d", i)
		if i%10 == 7 {
			p.end(id, "Compensated")
			outcomes[id] = audit.Undone
		} else {
			p.end(id, "Processed")
			outcomes[id] = audit.Processed
		}
	}
	t.Logf("%d orders, killed %d times, %d of them before it was ready", n, kills, early)
	p.stop()
	shop.holds(t, outcomes)
}

// SIGTERM drains: the process ends in good order within 5 s, and nothing is lost.
func TestTermDrains(t *testing.T) {
	t.Parallel()
	shop := newShop(t, 300*time.Millisecond)
	s := shop.newSite(t)
	p := s.start()
	const n = 300
	ids := p.submit("drained", n)
	shop.waits(t)
	p.stop()
	shop.Calm()
	p = s.start()
	for _, id := range ids {
		p.end(id, "Processed")
	}
	p.stop()
	shop.holds(t, processed(ids))
}

// A call that hangs does not keep the process from ending.
func TestTermWithHangingCalls(t *testing.T) {
	t.Parallel()
	shop := newShop(t, time.Hour)
	s := shop.newSite(t)
	p := s.start()
	ids := p.submit("hanging", 50)
	shop.waits(t)
	p.stop()
	shop.Calm()
	p = s.start()
	for _, id := range ids {
		p.end(id, "Processed")
	}
}
