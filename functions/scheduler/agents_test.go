package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/internal/actorstest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// twoAgents returns a world whose step a has a second agent.
func twoAgents(t *testing.T) *actorstest.World {
	def := actorstest.Definition()
	def.Steps[0].Others = []string{"agent-east"}
	def.Agents["agent-east"] = core.AgentDefinition{QueueAllowance: 20 * core.Second, ClockSkew: core.Second}
	return actorstest.New(t, def).Boot()
}

// P44: after its agent failed, a step continues at its other agent. The reply of the other agent counts, and
// so does a late reply of the first.
func TestAStepGoesOnAtItsOtherAgent(t *testing.T) {
	for _, replies := range []string{"agent-a", "agent-east"} {
		w := twoAgents(t)
		handle(t, w, port.Intake, actorstest.Order("o-1"))
		first := requests(t, w)["o-1 a/1 do"]
		require.NotNil(t, first)
		require.Equal(t, "agent-a", first.Agent)
		handle(t, w, port.Replies, actorstest.Later(first))
		w.Clock.Advance(5 * time.Second)
		for w.Handle(port.Control) > 0 {
		}
		second := requests(t, w)["o-1 a/2 do"]
		require.NotNil(t, second, "asked %+v", second)
		require.Equal(t, "agent-east", second.Agent)
		require.Equal(t, first.Key, second.Key)
		done := map[string]*message.Reply{"agent-a": actorstest.Done(first), "agent-east": actorstest.Done(second)}
		handle(t, w, port.Replies, done[replies])
		require.Equal(t, core.Processed, w.Task("o-1").Step("a").State, replies)
	}
}

// P44, P32: a queue wait is learnt for the agent that was asked, and the next order asks the other agent.
func TestAWaitIsLearntOfTheAgentThatWasAsked(t *testing.T) {
	w := twoAgents(t)
	for i, want := range []string{"agent-a", "agent-east", "agent-a"} {
		id := string(rune('p' + i))
		handle(t, w, port.Intake, actorstest.Order(id))
		r := requests(t, w)[id+" a/1 do"]
		require.NotNil(t, r, "%v %v", i, want)
		require.Equal(t, want, r.Agent, "%v", i)
		w.Clock.Advance(time.Duration(20+20*i) * time.Second)
		reply := actorstest.Done(r)
		reply.Waited = core.Duration(20+20*i) * core.Second // the second one waits longer
		handle(t, w, port.Replies, reply)
	}
}

// P44: if an agent stops replying, its queue grows, and the other agent is asked. The queue lengths are read
// every 10 s.
func TestAnAgentWithALongQueueIsLeft(t *testing.T) {
	w := twoAgents(t)
	config := w.SchedulerConfig(w.NewState(w.Store, 0), "s")
	config.Capacity = func(agent string) int { return map[string]int{"agent-a": 2, "agent-east": 4}[agent] }
	s := scheduler.New(config)
	var copied *message.Request
	asks := func(id, want string) {
		t.Helper()
		require.Empty(t, s.Handle(ctx, port.Intake, deliver(actorstest.Order(id))))
		copied = requests(t, w)[id+" a/1 do"]
		require.NotNil(t, copied)
		require.Equal(t, want, copied.Agent)
	}
	fill := func(agent string, n int) {
		for range n {
			w.Send(port.Requests(agent), copied)
		}
	}
	asks("first", "agent-a") // the Scheduler now knows that there is a choice
	fill("agent-a", 4)
	asks("long", "agent-east") // which empties the queues
	w.Clock.Advance(9 * time.Second)
	asks("soon", "agent-east")
	w.Clock.Advance(time.Second)
	asks("over", "agent-a")
	w.Clock.Advance(10 * time.Second)
	fill("agent-a", 1) // no more than one round of the agent
	asks("one", "agent-a")
	w.Clock.Advance(10 * time.Second)
	fill("agent-a", 4)
	fill("agent-east", 8) // the same number of rounds
	asks("both", "agent-a")
	w.Clock.Advance(10 * time.Second)
	fill("agent-a", 4)
	q, err := w.Queues.Queue(port.Requests("agent-a"))
	require.NoError(t, err)
	_, err = q.Receive(ctx, 3, 0, time.Hour)
	require.NoError(t, err)
	asks("received", "agent-east") // what is in flight counts
}

// P44: a queue whose length cannot be read keeps its last length, and nothing fails.
func TestAQueueThatCannotBeAskedKeepsItsLength(t *testing.T) {
	w := twoAgents(t)
	config := w.SchedulerConfig(w.NewState(w.Store, 0), "s")
	config.Capacity = func(string) int { return 1 }
	down := false
	config.Queues = queuesThat{config.Queues, func() bool { return down }}
	s := scheduler.New(config)
	var copied *message.Request
	for i, id := range []string{"first", "second", "third"} {
		for range i % 2 * 4 {
			w.Send(port.Requests("agent-a"), copied)
		}
		require.Empty(t, s.Handle(ctx, port.Intake, deliver(actorstest.Order(id))))
		want := []string{"agent-a", "agent-east", "agent-east"}[i]
		copied = requests(t, w)[id+" a/1 do"]
		require.NotNil(t, copied, id)
		require.Equal(t, want, copied.Agent, id)
		w.Clock.Advance(time.Minute)
		down = i == 1
	}
}

// queuesThat do not report their depths while they are down.
type queuesThat struct {
	port.Queues
	down func() bool
}

func (q queuesThat) Queue(name string) (port.Queue, error) {
	queue, err := q.Queues.Queue(name)
	return depthless{queue, q.down}, err
}

type depthless struct {
	port.Queue
	down func() bool
}

func (q depthless) Depth(ctx context.Context) (port.Depth, error) {
	if q.down() {
		return port.Depth{}, port.ErrUnavailable
	}
	return q.Queue.Depth(ctx)
}

func handle(t *testing.T, w *actorstest.World, queue string, v port.Value) {
	t.Helper()
	require.Empty(t, w.Scheduler.Handle(ctx, queue, deliver(v)))
}
