package e2e

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
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
	shop := newService(t)
	shop.hold()
	s := newSite(t, shop.agents(), pairOnly)
	p := s.start()
	ids := p.submit("pair", "held", n)
	eventually(t, "calls under way", func() bool { return shop.called("pick") >= 32 })
	p.kill()
	shop.open()

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
	require.Equal(t, 2*n, shop.done())
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
	shop := newService(t)
	s := newSite(t, shop.agents(), pairOnly, "--listen", freeAddress(t))
	p := s.start()
	const n = 1000
	middle := make(chan struct{})
	back := make(chan struct{})
	orders := func(yield func(client.Order) bool) {
		for i := range n {
			if !yield(client.Order{
				ID: fmt.Sprintf("streamed-%d", i), Workflow: "pair",
				Content: map[string]int{"n": i},
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
	require.Equal(t, 2*n, shop.done())
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
	shop := newService(t)
	shop.never = "7}" // every tenth order
	packed := strings.Replace(pair, "  send:\n    agent: shop\n    operation: send\n    after: [pick]",
		`  pack:
    agent: shop
    operation: pack
    input: {n: "${ order.n }"}
    after: [pick]
    timeout: 20s
    retry: {maxFailures: 20, backoff: {initial: 20ms, max: 200ms}}
    onFailure: undo
    undo: unpack
    grade: idempotent
  send:
    agent: shop
    operation: send
    after: [pack]`, 1)
	packed = strings.Replace(strings.Replace(packed, "queueAllowance: 30s", "queueAllowance: 1s", 1),
		"timeout: 20s", "timeout: 1s", 3)
	shop.slow(2 * time.Millisecond)
	s := newSite(t, shop.agents(), map[string]string{"pair.yaml": packed}, "--listen", freeAddress(t))
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
			if !yield(client.Order{
				ID: fmt.Sprintf("any-%d", i), Workflow: "pair",
				Content: map[string]int{"n": i},
			}) {
				return
			}
		}
	}
	accepted := 0
	sent := make(chan error, 1)
	patient, err := client.New(p.url, client.WithRetry(1000, time.Minute))
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
		cmd := s.command()
		out := &buffer{}
		cmd.Stdout = out
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
	want := 0
	for i := range n {
		if id := fmt.Sprintf("any-%d", i); i%10 == 7 {
			p.end(id, "Compensated")
		} else {
			p.end(id, "Processed")
			want += 3
		}
	}
	t.Logf("%d orders, killed %d times, %d of them before it was ready", n, kills, early)
	require.Equal(t, want, shop.done())
}

// SIGTERM drains: the process ends in good order within 5 s, and nothing is lost.
func TestTermDrains(t *testing.T) {
	t.Parallel()
	shop := newService(t)
	shop.slow(300 * time.Millisecond)
	s := newSite(t, shop.agents(), pairOnly)
	p := s.start()
	const n = 300
	ids := p.submit("pair", "drained", n)
	eventually(t, "calls under way", func() bool { return shop.called("pick") >= 32 })
	code, took := p.stop()
	t.Logf("ended %s after SIGTERM, with %d of %d effects done", took.Round(time.Millisecond), shop.done(),
		2*n)
	require.Zero(t, code)
	require.LessOrEqual(t, took, 5*time.Second)
	shop.slow(0)
	p = s.start()
	for _, id := range ids {
		p.end(id, "Processed")
	}
	require.Equal(t, 2*n, shop.done())
}

// A call that hangs does not keep the process from ending.
func TestTermWithHangingCalls(t *testing.T) {
	t.Parallel()
	shop := newService(t)
	shop.hold()
	s := newSite(t, shop.agents(), pairOnly)
	p := s.start()
	ids := p.submit("pair", "hanging", 50)
	eventually(t, "calls under way", func() bool { return shop.called("pick") >= 32 })
	code, took := p.stop()
	require.Zero(t, code)
	require.LessOrEqual(t, took, 5*time.Second)
	shop.open()
	p = s.start()
	for _, id := range ids {
		p.end(id, "Processed")
	}
}
