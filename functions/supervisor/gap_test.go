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

// P32: a request or a reply that waits in its queue is not a failed attempt. It may wait while nobody takes messages,
// if more are there than are taken at a time, or if the oldest is no younger. If the queue does not know the age, only
// the first two count. The next request may wait longer, but not because of a reply: on a busy Scheduler the alert about
// a step in doubt would come ever later.
func TestAnAgentThatIsAway(t *testing.T) {
	const agent = "requests-agent-a"
	const kept, longer = 20 * core.Second, 40 * core.Second
	depth := func(visible, inFlight int, oldest time.Duration) port.Depth {
		return port.Depth{Visible: visible, InFlight: inFlight, Oldest: oldest}
	}
	for name, c := range map[string]struct {
		queue     string
		capacity  int
		depth     port.Depth // 31 s after the request was sent, and 1 s after the step's time was over
		uncounted int
		allowance core.Duration
	}{
		"empty":                                  {agent, 5, depth(0, 0, 0), 0, kept},
		"as many in hand as are taken":           {agent, 5, depth(0, 5, 0), 0, kept},
		"in hand and before it, as many":         {agent, 5, depth(2, 3, 0), 0, kept},
		"one more than is taken":                 {agent, 5, depth(2, 4, 0), 1, longer},
		"returned or throttled, none visible":    {agent, 5, depth(0, 6, 0), 1, longer},
		"sent with a delay":                      {agent, 5, port.Depth{InFlight: 5, Delayed: 3}, 0, kept},
		"ten, which is usual":                    {agent, 0, depth(0, 10, 0), 0, kept},
		"eleven":                                 {agent, 0, depth(0, 11, 0), 1, longer},
		"nothing takes its request":              {agent, 5, depth(1, 0, 31*time.Second), 1, longer},
		"it may still be there":                  {agent, 5, depth(1, 1, 26*time.Second), 1, longer},
		"all came since, and one is in hand":     {agent, 5, depth(2, 1, 26*time.Second-1), 0, kept},
		"others wait, and nothing takes them":    {agent, 5, depth(1, 0, 5*time.Second), 1, longer},
		"others have just come":                  {agent, 5, depth(1, 0, 5*time.Second-1), 0, kept},
		"on SQS, and nothing takes it":           {agent, 5, depth(1, 0, 0), 1, longer},
		"the reply, sent in time":                {port.Replies, 5, depth(1, 1, time.Second), 2, kept},
		"a reply that is too late":               {port.Replies, 5, depth(1, 1, time.Second-1), 0, kept},
		"on SQS, the Scheduler takes no replies": {port.Replies, 5, depth(1, 0, 0), 2, kept},
		"on SQS, it takes some":                  {port.Replies, 5, depth(1, 1, 0), 0, kept},
		"a reply that was taken":                 {port.Replies, 5, depth(0, 1, 0), 0, kept},
		"more replies than are taken":            {port.Replies, 5, depth(0, 6, 0), 2, longer},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := late(t, 1, func(q *watched) {
				q.shown = map[string]port.Depth{c.queue: c.depth}
				q.capacity = map[string]int{"agent-a": c.capacity, supervisor.Scheduler: c.capacity}
			})
			r := sweep(t, w)
			require.Equal(t, c.uncounted, r.Uncounted, "%+v", r)
			require.Equal(t, 2-c.uncounted, r.HandedBack, "%+v", r)
			require.Equal(t, c.allowance, w.Task("o-1").Step("a").Claim.Allowance)
		})
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

// P43, P32: an attempt that has reported is in no queue of requests. Its reply may wait in that of replies.
func TestBacklogBehindAnAttemptThatHasReported(t *testing.T) {
	for queue, uncounted := range map[string]int{"requests-agent-a": 0, port.Replies: 2} {
		def := actorstest.Definition()
		def.Steps[0].MaxDuration = core.Hour
		w := begun(t, def, 1, func(w *actorstest.World) {
			w.Sweeping = func(cfg *supervisor.Config) { cfg.Capacity = func(string) int { return 2 } }
		})
		w.Send(port.Replies, &message.Reply{
			Schema: 1, OrderID: "o-1", Step: "a", Attempt: 1, Agent: "agent-a", Operation: core.Do,
			Outcome: message.Progress, Percent: 40,
		})
		for w.Handle(port.Replies) > 0 {
		}
		require.NotNil(t, w.Task("o-1").Step("a").Claim.Progress)
		for range 3 {
			w.Send(queue, &message.Request{Schema: 1})
		}
		w.Clock.Advance(31 * time.Second)
		require.Equal(t, uncounted, sweep(t, w).Uncounted, queue)
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
