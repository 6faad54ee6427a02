package scheduler_test

import (
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/verify/world"
)

// twoAgents has a second agent for its step a.
func twoAgents(t *testing.T) *world.World {
	def := world.Definition()
	def.Steps[0].Others = []string{"agent-east"}
	def.Agents["agent-east"] = core.AgentDefinition{QueueAllowance: 20 * core.Second, ClockSkew: core.Second}
	return world.New(t, def).Boot()
}

// P44: a step whose agent failed goes on at its other agent, whose reply counts; so does a late one of the first.
func TestAStepGoesOnAtItsOtherAgent(t *testing.T) {
	for _, replies := range []string{"agent-a", "agent-east"} {
		w := twoAgents(t)
		handle(t, w, port.Intake, world.Order("o-1"))
		first := requests(t, w)["o-1 a/1 do"]
		if first == nil || first.Agent != "agent-a" {
			t.Fatalf("asked %+v", first)
		}
		handle(t, w, port.Replies, world.Later(first))
		w.Clock.Advance(5 * time.Second)
		for w.Handle(port.Control) > 0 {
		}
		second := requests(t, w)["o-1 a/2 do"]
		if second == nil || second.Agent != "agent-east" || second.Key != first.Key {
			t.Fatalf("asked %+v", second)
		}
		done := map[string]*message.Reply{"agent-a": world.Done(first), "agent-east": world.Done(second)}
		handle(t, w, port.Replies, done[replies])
		if s := w.Task("o-1").Step("a"); s.State != core.Processed {
			t.Errorf("%s: the step is %s", replies, s.State)
		}
	}
}

// P44, P32: a wait is learnt of the agent that was asked, and the next order asks the other one.
func TestAWaitIsLearntOfTheAgentThatWasAsked(t *testing.T) {
	w := twoAgents(t)
	for i, want := range []string{"agent-a", "agent-east", "agent-a"} {
		id := string(rune('p' + i))
		handle(t, w, port.Intake, world.Order(id))
		r := requests(t, w)[id+" a/1 do"]
		if r == nil || r.Agent != want {
			t.Fatalf("order %d asked %+v, want %s", i, r, want)
		}
		w.Clock.Advance(time.Duration(20+20*i) * time.Second)
		reply := world.Done(r)
		reply.Waited = core.Duration(20+20*i) * core.Second // the second one waits longer
		handle(t, w, port.Replies, reply)
	}
}

func handle(t *testing.T, w *world.World, queue string, v port.Value) {
	t.Helper()
	if failed := w.Scheduler.Handle(ctx, queue, deliver(v)); len(failed) > 0 {
		t.Fatalf("given back: %v", failed)
	}
}
