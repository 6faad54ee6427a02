package scheduler_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/functions/supervisor"
	"github.com/stepkeeper/stepkeeper/internal/actorstest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
)

// waiting has three steps: a, then a wait, then c.
func waiting(d core.Duration) *core.Definition {
	def := actorstest.Definition()
	def.Schema = 2
	def.Steps[1] = core.StepDefinition{
		Name: "b", Wait: &core.Wait{For: d}, After: []string{"a"},
		OnFailure: core.OnFailureUndo,
	}
	delete(def.Agents, "agent-b")
	return def
}

// P34: a delayed message alone ends a wait of up to 15 minutes. The Supervisor ends a longer one, and also
// one whose message is lost.
func TestAWaitEndsAtItsTime(t *testing.T) {
	for _, c := range []struct {
		wait core.Duration
		lost bool
		late time.Duration // longest delay after the time
	}{
		{10 * core.Minute, false, 2 * time.Second},
		{10 * core.Minute, true, 8 * time.Second},
		{48 * core.Hour, false, 4 * time.Second},
		{366 * core.Day, false, 4 * time.Second},
	} {
		w := actorstest.New(t, waiting(c.wait)).Boot()
		w.Send(port.Intake, actorstest.Order("o-1"))
		w.Round()
		w.Round()
		began := w.Clock.Now()
		if s := w.Task("o-1").Step("b"); s.State != core.Waiting || s.Claim.By != "" {
			t.Fatalf("after a the wait is %s, locked by %q", s.State, s.Claim.By)
		}
		if c.lost {
			w.Clock.Advance(c.wait.Std() + time.Second) // beyond its delay
			w.Take(port.Control)
		} else {
			w.Clock.Advance(c.wait.Std() - 5*time.Second)
		}
		for n := 0; w.Task("o-1").Step("b").State == core.Waiting && n < 30; n++ {
			w.Round()
		}
		s := w.Task("o-1").Step("b")
		lasted := s.Finish.At.Std().Sub(s.Claim.At.Std())
		if s.State != core.Processed || lasted < c.wait.Std() || lasted > c.wait.Std()+c.late {
			t.Errorf("a wait of %s from %s is %s after %s", c.wait, began, s.State, lasted)
		}
		w.Round()
		require.Equal(t, core.Processed, w.Task("o-1").ProcessState)
		require.Len(t, w.Ledger, 2)
	}
}

// A Scheduler and a Supervisor of a version without waits work on the same store and queues. They return the
// messages of an order with a wait to the queue, do not change that order, and handle all others.
func TestOlderCodeLeavesWaitsAlone(t *testing.T) {
	const waitTime = 10 * core.Minute
	w := actorstest.New(t, waiting(waitTime))
	w.Boot()
	knows := state.New(state.Config{
		Store: w.Store, Definitions: w.Defs, Current: func(string) *core.Definition { return nil },
		Encode: workflow.Encode,
		// as it was before there were kinds
		Compile: func(hash string, data []byte) (*core.Definition, error) {
			d, err := workflow.Decode(hash, data)
			if err == nil && d.Schema > 1 {
				return nil, workflow.ErrNewer
			}
			return d, err
		},
	})
	old := scheduler.New(w.SchedulerConfig(knows, "old"))
	oldSweep := supervisor.New(supervisor.Config{Parts: w.Parts(knows, w.Leases, "old")})
	w.Scheduler.Handle(ctx, port.Intake, deliver(actorstest.Order("o-1")))
	asked := requests(t, w)
	unchanged := func(what string, failed []string) {
		t.Helper()
		version := w.Task("o-1").Version
		require.Len(t, failed, 1)
		if task := w.Task("o-1"); task.Version != version || task.ProcessState != core.Processing {
			t.Errorf("after %s the order is %s, version %d", what, task.ProcessState, task.Version)
		}
	}
	reply := deliver(actorstest.Done(asked["o-1 a/1 do"]))
	unchanged("a reply", old.Handle(ctx, port.Replies, reply))
	require.Empty(t, w.Scheduler.Handle(ctx, port.Replies, reply))
	require.Equal(t, core.Waiting, w.Task("o-1").Step("b").State)
	w.Clock.Advance(waitTime.Std() + time.Hour)
	wake := deliver(&message.Control{OrderID: "o-1", Event: core.Wake{Step: "b", Attempt: 1}})
	unchanged("a wake", old.Handle(ctx, port.Control, wake))
	before := w.Task("o-1").Version
	if r, err := oldSweep.Sweep(ctx); err != nil || r.Failed != 1 {
		t.Error("an older Supervisor does not say that it cannot read the definition")
	}
	require.Equal(t, before, w.Task("o-1").Version, "an older Supervisor changed the order")
	w.Scheduler.Handle(ctx, port.Control, wake)
	w.Scheduler.Handle(ctx, port.Replies, deliver(actorstest.Done(requests(t, w)["o-1 c/1 do"])))
	require.Equal(t, core.Processed, w.Task("o-1").ProcessState)
}

// A Wake names the run of its order, so that one of an earlier run changes nothing.
func TestAWakeNamesItsRun(t *testing.T) {
	w, _ := begun(t)
	w.Send(port.Replies, failure("o-1"))
	for range 20 {
		w.Handle(port.Replies)
		w.Agents()
	}
	again := message.Control{OrderID: "o-1", Event: core.Command{
		Name:   core.Resubmit,
		ID:     "r-1",
		Number: w.Task("o-1").Commands.Number,
	}}
	if v, err := w.Scheduler.Command(ctx, again); err != nil || !v.Accepted {
		t.Fatal(v, err)
	}
	w.Take(port.Control)
	for _, r := range requests(t, w) {
		require.Empty(t, w.Scheduler.Handle(ctx, port.Replies, deliver(actorstest.Later(r))))
	}
	w.Clock.Advance(10 * time.Second)
	wakes := w.Take(port.Control)
	for _, d := range wakes {
		c := d.Value.(*message.Control)
		if wake, ok := c.Event.(core.Wake); !ok || wake.Run != 1 {
			t.Errorf("%+v", c)
		}
	}
	require.NotEmpty(t, wakes, "no wake was sent")
}
