package embedded_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// once is a workflow that gives up at its first counted failure.
const once = `workflow: pair
grace: 100ms
agents:
  shop: {queueAllowance: 1s, clockSkew: 10ms}
steps:
  first: {agent: shop, operation: first, timeout: 5s, onFailure: undo, undo: unfirst, grade: fenced, maxQueueTime: 1h, retry: {maxFailures: 1}}
`

const orders = 20

func submitMany(t *testing.T, s *embedded.Runtime) {
	t.Helper()
	for i := range orders {
		submit(t, s, fmt.Sprintf("o-%d", i), "")
	}
}

func tasks(t *testing.T, s *embedded.Runtime) (all []*protocol.Task) {
	t.Helper()
	for i := range orders {
		task, _, err := s.Task(t.Context(), fmt.Sprintf("o-%d", i))
		require.NoError(t, err)
		all = append(all, task)
	}
	return all
}

// pass moves the clock in small steps. After each step it waits until the sweeps have handled what is due.
func pass(t *testing.T, s *embedded.Runtime, clock *memory.Clock, d time.Duration) {
	t.Helper()
	for end := clock.Now().Add(d); clock.Now().Before(end); {
		clock.Advance(250 * time.Millisecond)
		eventually(t, "what is due is handled", func() bool {
			for _, task := range tasks(t, s) {
				if task.Due != 0 && task.Due.Passed(core.TimeOf(clock.Now())) {
					return false
				}
			}
			return true
		})
	}
}

// uncounted checks that all orders go forward and that no failure was counted.
func uncounted(t *testing.T, s *embedded.Runtime) {
	t.Helper()
	for _, task := range tasks(t, s) {
		require.Equal(t, core.Processing, task.ProcessState, "%s: %+v", task.OrderID, task.Steps[0])
		require.Zero(t, task.Steps[0].Failures.Do, "%s: %+v", task.OrderID, task.Steps[0])
	}
}

// answerAll does all requests that wait for an agent outside.
func answerAll(t *testing.T, s *embedded.Runtime, agent string) {
	t.Helper()
	q := queueOf(t, s, port.Requests(agent))
	replies := queueOf(t, s, port.Replies)
	taken, err := q.Receive(t.Context(), 10, 0, time.Minute)
	require.NoError(t, err)
	for _, d := range taken {
		r, err := message.Of[message.Request](d)
		require.NoError(t, err)
		require.NoError(t, replies.Send(t.Context(), []port.Message{{Value: &message.Reply{
			Schema: message.Schema, OrderID: r.OrderID, Run: r.Run, Step: r.Step, Agent: r.Agent,
			Attempt: r.Attempt, Operation: r.Operation, Outcome: core.OutcomeDone,
		}}})[0])
	}
}

func allProcessed(t *testing.T, s *embedded.Runtime) bool {
	t.Helper()
	for _, task := range tasks(t, s) {
		if task.ProcessState != core.Processed {
			require.Equal(t, core.Processing, task.ProcessState, "%s: %+v", task.OrderID, task.Steps[0])
			return false
		}
	}
	return true
}

func onceOnItsOwnClock(t *testing.T) (*fixture, *memory.Clock) {
	t.Helper()
	w := newFixture(t, "5s")
	w.write(once)
	clock := memory.NewClock(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC))
	w.options.Clock = clock
	w.options.SweepEvery = quick
	return w, clock
}

// P32: after a restart the requests are in their queues anew. Their age proves nothing: while their agent
// outside stays away, nothing is counted.
func TestARestartWithAnAbsentAgentCountsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, clock := onceOnItsOwnClock(t)
		w.outside()
		log := w.logs()
		s := w.open()
		submitMany(t, s)
		closeRuntime(t, s)
		clock.Advance(25 * time.Second) // longer than the time that the step has
		s = w.open()
		defer func() { closeRuntime(t, s) }()
		pass(t, s, clock, 20*time.Second)
		uncounted(t, s)
		eventually(t, "one alert names the agent", func() bool {
			clock.Advance(time.Second)
			return log.count("ALERT: agent shop is not called") == 1
		})
		require.Contains(t, s.Health(t.Context()).Checks["agent shop"], "no-consumer since 2026-11-21T10:00:")
		closeRuntime(t, s)
		clock.Advance(25 * time.Second)
		s = w.open()
		eventually(t, "the orders are done", func() bool {
			answerAll(t, s, "shop")
			clock.Advance(10 * time.Millisecond)
			return allProcessed(t, s)
		})
		eventually(t, "the outage is over", func() bool {
			return s.Health(t.Context()).Checks["agent shop"] == "" &&
				log.count("ALERT: agent shop is called again") == 1
		})
	})
}

// P45: an agent that is missing from the agents file after a restart has no queue. Its orders wait uncounted,
// and so does an undo. Health, the statistics and one alert name the agent. Once the agent is back, the orders
// go on at once.
func TestAnAgentThatIsMissingFromItsFileCountsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, clock := onceOnItsOwnClock(t)
		w.outside()
		s := w.open()
		submitMany(t, s)
		submit(t, s, "undone", "")
		cancel := message.Control{OrderID: "undone", Event: core.Command{Name: core.Cancel, ID: "c-1"}}
		_, err := s.Command(t.Context(), cancel)
		require.NoError(t, err)
		closeRuntime(t, s)

		log := w.logs()
		w.options.Operations = nil
		w.agents("shopp: {external: true}")
		s = w.open()
		defer func() { closeRuntime(t, s) }()
		pass(t, s, clock, 2*time.Minute)
		uncounted(t, s)
		eventually(t, "one alert names the agent", func() bool {
			return log.count("ALERT: agent shop is not called") == 1
		})
		health := s.Health(t.Context())
		require.Contains(t, health.Checks["agent shop"], "no-agent since 2026-11-21T10:00:")
		require.Contains(t, health.Checks["agent shop"], `agent "shop" is not deployed`)
		statistics, err := s.Statistics(t.Context())
		require.NoError(t, err)
		require.Contains(t, statistics.Agents, view.AgentStatistics{
			Agent:     "shop",
			Unknown:   "the agent is not deployed, so it has no queue",
			NotCalled: []view.NotCalled{{Code: core.CodeNoAgent, Since: statistics.Agents[1].NotCalled[0].Since}},
		})
		undone, _, err := s.Task(t.Context(), "undone")
		require.NoError(t, err)
		require.Equal(t, core.Compensating, undone.ProcessState)
		require.Zero(t, undone.Steps[0].Failures.Undo)
		closeRuntime(t, s)

		w.outside()
		s = w.open()
		back := clock.Now()
		eventually(t, "the orders are done", func() bool {
			answerAll(t, s, "shop")
			clock.Advance(10 * time.Millisecond)
			undone, _, err := s.Task(t.Context(), "undone")
			return err == nil && undone.ProcessState == core.Cancelled && allProcessed(t, s)
		})
		require.Less(t, clock.Now().Sub(back), 10*time.Second)
		require.NotContains(t, s.Health(t.Context()).Checks, "agent shop")
	})
}

// P45: a service that accepts no connection for minutes gives up no order. Health, the metric and one alert say
// so. Once the service is back, the waiting orders go on within seconds.
func TestAnOutageGivesUpNoOrder(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())

	w, clock := onceOnItsOwnClock(t)
	// Before the breaker opens, the calls of the first orders fail and count.
	w.write(strings.NewReplacer("onFailure: undo", "onFailure: stop", "maxFailures: 1",
		"maxFailures: 2, backoff: {initial: 5s}").Replace(once))
	w.options.Operations = nil
	w.agents("shop: {url: 'http://" + address + "', retry: {initial: 1ms, max: 5ms}, " +
		"breaker: {delay: 20ms}, operations: {'*': {path: '/{operation}'}}}")
	log := w.logs()
	s := w.open()
	defer closeRuntime(t, s)
	submitMany(t, s)
	rests := func() bool {
		d := depth(t, s, port.Requests("shop"))
		return d.Visible == 0 && d.InFlight == 0 && !busy(t, s)
	}
	down := clock.Now()
	for clock.Now().Sub(down) < 200*time.Second {
		clock.Advance(4 * time.Second)
		eventually(t, "it rests", func() bool { clock.Advance(time.Millisecond); return rests() })
		time.Sleep(time.Millisecond) // the breaker goes by the machine's clock
	}
	counted := 0
	for _, task := range tasks(t, s) {
		require.Equal(t, core.Processing, task.ProcessState, "%s: %+v", task.OrderID, task.Steps[0])
		counted += task.Steps[0].Failures.Do
	}
	require.LessOrEqual(t, counted, 10, "only calls before the breaker has opened count")
	require.Contains(t, s.Health(t.Context()).Checks["agent shop first"], "breaker-open since")
	require.Contains(t, scraped(s), `stepkeeper_breaker_open{agent="shop",operation="first"} 1`)
	require.Equal(t, 1, log.count("ALERT: agent shop, operation first, is not called"))

	listener, err = net.Listen("tcp", address)
	require.NoError(t, err)
	service := &httptest.Server{Listener: listener, Config: &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }),
	}}
	service.Start()
	defer service.Close()
	back := clock.Now()
	eventually(t, "the orders are done", func() bool {
		clock.Advance(100 * time.Millisecond)
		eventually(t, "it rests", func() bool { clock.Advance(time.Millisecond); return rests() })
		return allProcessed(t, s)
	})
	require.Less(t, clock.Now().Sub(back), 30*time.Second)
	require.NotContains(t, s.Health(t.Context()).Checks, "agent shop first")
	require.Contains(t, scraped(s), `stepkeeper_breaker_open{agent="shop",operation="first"} 0`)
}
