package supervisor_test

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/supervisor"
	"github.com/stepkeeper/stepkeeper/internal/actorstest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// P32: requests that an agent has received are not a backlog, as long as they are not more than it takes at a
// time. Hidden messages beyond that were throttled or returned, and count as waiting.
func TestWorkInHandIsNoBacklog(t *testing.T) {
	for _, c := range []struct {
		name                        string
		capacity, visible, hidden   int
		uncounted, counted, delayed int
	}{
		{"all in hand", 5, 0, 5, 0, 2, 0},
		{"in hand and before it, as much as is taken", 5, 2, 3, 0, 2, 0},
		{"one more than is taken", 5, 2, 4, 1, 1, 0},
		{"returned or throttled, none visible", 5, 0, 6, 1, 1, 0},
		{"what is sent with a delay does not wait yet", 5, 0, 5, 0, 2, 3},
	} {
		w := begun(t, actorstest.Definition(), 1, func(w *actorstest.World) {
			w.Sweeping = func(cfg *supervisor.Config) {
				cfg.Capacity = func(string) int { return c.capacity }
			}
		})
		w.Clock.Advance(31 * time.Second)
		q, err := w.Queues.Queue(port.Requests("agent-a"))
		require.NoError(t, err)
		w.Take(port.Requests("agent-a"))
		for i := range c.visible + c.hidden + c.delayed {
			m := port.Message{Value: &message.Request{Schema: 1}}
			if i >= c.visible+c.hidden {
				m.Delay = time.Minute
			}
			require.NoError(t, q.Send(ctx, []port.Message{m})[0])
		}
		ds, err := q.Receive(ctx, max(c.hidden, 1), 0, time.Minute)
		require.Len(t, ds, c.hidden)
		require.NoError(t, err)
		for i := range ds { // half of them are returned to the queue for a time
			if i%2 == 0 {
				require.NoError(t, q.Extend(ctx, []port.Extension{{Receipt: ds[i].Receipt, For: 2 * time.Second}})[0])
			}
		}
		r := sweep(t, w)
		require.Equal(t, c.uncounted, r.Uncounted, c.name)
		require.Equal(t, c.counted, r.HandedBack, c.name)
	}
}

// P32: a request that its agent has not received is not a failed attempt, however few requests wait. A
// received request counts, and so does one beside requests that wait only for a moment.
func TestAnAgentThatIsAway(t *testing.T) {
	for name, c := range map[string]struct {
		ours, others int           // requests of step a, and of other orders
		held         int           // requests received by an agent that has died since
		age          time.Duration // age of the other requests
		uncounted    int
	}{
		"nothing takes its request":                          {1, 0, 0, 0, 1},
		"the dead agent holds a request of another order":    {1, 1, 1, time.Minute, 1},
		"the agent has received it, and not answered":        {1, 0, 1, 0, 0},
		"the queue is empty: it was received, and not done":  {0, 0, 0, 0, 0},
		"others wait, and nothing takes them":                {0, 1, 0, 10 * time.Second, 1},
		"others have just come":                              {0, 1, 0, time.Second, 0},
		"others have come since, and the agent works at one": {0, 2, 1, 10 * time.Second, 0},
	} {
		w := actorstest.New(t, actorstest.Definition())
		w.Sweeping = func(cfg *supervisor.Config) { cfg.Capacity = func(string) int { return 100 } }
		w.Boot()
		q, err := w.Queues.Queue(port.Requests("agent-a"))
		require.NoError(t, err)
		others := func() {
			for range c.others {
				w.Send(q.Name(), &message.Request{Schema: 1})
			}
		}
		if c.age > 31*time.Second {
			others()
			w.Clock.Advance(c.age - 31*time.Second)
		}
		w.Send(port.Intake, actorstest.Order("o-1"))
		w.Handle(port.Intake)
		w.Take(port.Requests("agent-b"))
		if c.ours == 0 {
			w.Take(q.Name())
		}
		if c.age > 31*time.Second {
			w.Clock.Advance(31 * time.Second)
		} else {
			w.Clock.Advance(31*time.Second - c.age)
			others()
			w.Clock.Advance(c.age)
		}
		if c.held > 0 {
			ds, err := q.Receive(ctx, c.held, 0, time.Hour)
			require.Len(t, ds, c.held, name)
			require.NoError(t, err, name)
		}
		r := sweep(t, w)
		require.Equal(t, c.uncounted, r.Uncounted, name)
		require.Equal(t, 2-c.uncounted, r.HandedBack, name)
	}
}

// P44, P32: of the agents that a step may ask, only the backlog of the agent that it has asked counts.
func TestBacklogOfTheAgentThatWasAsked(t *testing.T) {
	for agent, uncounted := range map[string]int{"agent-a": 0, "agent-east": 1} {
		def := actorstest.Definition()
		def.Steps[0].Others = []string{"agent-east"}
		def.Agents["agent-east"] = core.AgentDefinition{
			QueueAllowance: 20 * core.Second,
			ClockSkew:      core.Second,
		}
		w := begun(t, def, 1, func(w *actorstest.World) {
			w.Sweeping = func(cfg *supervisor.Config) { cfg.Capacity = func(string) int { return 2 } }
		})
		w.Send(port.Replies, &message.Reply{
			Schema: 1, OrderID: "o-1", Step: "a", Attempt: 1,
			Operation: core.Do, Outcome: core.OutcomeRetryLater,
			Error: &message.ReplyError{Code: "busy", Message: "later"},
		})
		for w.Handle(port.Replies) > 0 {
		}
		w.Clock.Advance(5 * time.Second)
		for w.Handle(port.Control) > 0 {
		}
		w.Take(port.Requests("agent-east"))
		for range 5 {
			w.Send(port.Requests(agent), &message.Request{Schema: 1})
		}
		w.Clock.Advance(31 * time.Second)
		require.Equal(t, uncounted, sweep(t, w).Uncounted, agent)
	}
}

// P32: a reply that waits for the Scheduler is not a failure of its step, and no Wakes are added to a control
// queue that is too long.
func TestBacklogOfTheScheduler(t *testing.T) {
	w := begun(t, actorstest.Definition(), 1, func(w *actorstest.World) {
		w.Sweeping = func(c *supervisor.Config) {
			c.Capacity = func(taker string) int { return map[string]int{supervisor.Scheduler: 2}[taker] }
		}
	})
	w.Clock.Advance(31 * time.Second)
	for range 3 {
		w.Send(port.Replies, &message.Reply{Schema: 1})
	}
	r := sweep(t, w)
	require.Equal(t, 2, r.Uncounted)
	require.LessOrEqual(t, r.HandedBack, 0)
	w.Send(port.Control, &message.Control{})
	w.Clock.Advance(time.Hour)
	r = sweep(t, w)
	require.LessOrEqual(t, r.Asked, 0)
	require.Equal(t, 1, r.Overdue)
	require.Len(t, controls(w), 3)
	require.Equal(t, 2, sweep(t, w).Asked)
}

// P32: one reply that was sent in time and that the Scheduler has not taken is no failure. If the queue does not
// know when it was sent, it may be this one only while the Scheduler takes nothing. A reply that was sent after the
// complete-by time is none of the step's. Either way the next request may wait no longer: on a busy Scheduler the alert
// about a step in doubt would come ever later.
func TestAReplyInItsQueueIsNoFailure(t *testing.T) {
	for name, x := range map[string]struct {
		replies   port.Depth
		uncounted int
	}{
		"sent in time":                         {port.Depth{Visible: 1, InFlight: 1, Oldest: 4 * time.Second}, 2},
		"sent too late":                        {port.Depth{Visible: 1, InFlight: 1, Oldest: 500 * time.Millisecond}, 0},
		"on SQS, and the Scheduler takes none": {port.Depth{Visible: 1}, 2},
		"on SQS, and the Scheduler takes some": {port.Depth{Visible: 1, InFlight: 1}, 0},
		"taken":                                {port.Depth{InFlight: 1}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := late(t, 1, func(q *watched) { q.replies = &x.replies })
			allowance := w.Task("o-1").Step("a").Claim.Allowance
			r := sweep(t, w)
			require.Equal(t, x.uncounted, r.Uncounted, "%+v", r)
			require.Equal(t, 2-x.uncounted, r.HandedBack, "%+v", r)
			require.LessOrEqual(t, w.Task("o-1").Step("a").Claim.Allowance, allowance, "no request has waited")
		})
	}
}

// Rule 17: each tick begins at the next shard, whichever process serves it: on Lambda each may be a
// new one.
func TestEachSweepBeginsElsewhere(t *testing.T) {
	for _, interval := range []time.Duration{0, 10 * time.Second} {
		w := begun(t, actorstest.Definition(), 0, func(w *actorstest.World) {
			w.Sweeping = func(c *supervisor.Config) { c.Interval = interval }
		})
		leases := &noted{}
		var begins []string
		for range w.Store.Shards() {
			leases.asked = nil
			_, err := w.SupervisorWith(w.Store, leases, "new").Sweep(ctx)
			require.NoError(t, err)
			require.Len(t, leases.asked, w.Store.Shards())
			begins = append(begins, leases.asked[0])
			w.Clock.Advance(cmp.Or(interval, time.Minute))
		}
		slices.Sort(begins)
		n := len(slices.Compact(begins))
		require.Equal(t, w.Store.Shards(), n, "%+v", interval)
		require.GreaterOrEqual(t, n, 2, "%+v", interval)
	}
}

// noted refuses every lease, and records which leases were requested.
type noted struct{ asked []string }

func (l *noted) Acquire(_ context.Context, name, _ string, _ time.Time, _ time.Duration) (bool, error) {
	l.asked = append(l.asked, name)
	return false, nil
}
