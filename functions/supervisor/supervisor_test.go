package supervisor_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/supervisor"
	"github.com/stepkeeper/stepkeeper/internal/actorstest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

var ctx = actorstest.Context

// begun returns a world with n orders, whose requests were received by agents that never reply.
func begun(t *testing.T, def *core.Definition, n int, change func(*actorstest.World)) *actorstest.World {
	t.Helper()
	w := actorstest.New(t, def)
	if change != nil {
		change(w)
	}
	w.Boot()
	for i := range n {
		w.Send(port.Intake, actorstest.Order(fmt.Sprintf("o-%d", i+1)))
	}
	for w.Handle(port.Intake) > 0 {
	}
	taken(w)
	return w
}

// taken lets the agents receive their waiting requests without a reply.
func taken(w *actorstest.World) {
	w.Take("requests-agent-a")
	w.Take("requests-agent-b")
}

func sweep(t *testing.T, w *actorstest.World) supervisor.Report {
	t.Helper()
	r, err := w.Supervisor.Sweep(ctx)
	require.NoError(t, err)
	return r
}

func controls(w *actorstest.World) (found []string) {
	for _, d := range w.Take(port.Control) {
		c := d.Value.(*message.Control)
		wake, _ := c.Event.(core.Wake)
		found = append(found, fmt.Sprintf("%s %s/%d", c.Kind(), wake.Step, wake.Attempt))
	}
	return found
}

// P16: counted once per claim, handed back, woken; no request.
func TestOverdueStepIsHandedBackOnce(t *testing.T) {
	w := begun(t, actorstest.Definition(), 1, nil)
	require.LessOrEqual(t, sweep(t, w).Scanned, 0)
	w.Clock.Advance(31 * time.Second)
	r := sweep(t, w)
	require.Equal(t, 1, r.Overdue)
	require.Equal(t, 2, r.HandedBack)
	require.Equal(t, time.Second, r.OldestOverdue)
	a := w.Task("o-1").Step("a")
	require.Equal(t, core.Pending, a.State)
	require.Equal(t, 1, a.Failures.Do)
	require.Empty(t, a.Claim.By)
	require.NotZero(t, a.Wait.At)
	r = sweep(t, w)
	require.LessOrEqual(t, r.HandedBack+r.Asked, 0)
	for _, agent := range []string{"a", "b"} {
		require.Empty(t, w.Take("requests-agent-"+agent))
	}
	w.Clock.Advance(3 * time.Second)
	got := controls(w)
	require.Len(t, got, 2)
	require.True(t, strings.HasPrefix(got[0], "wake "), "woken: %v", got)
	// The Wakes were lost: the Supervisor asks again after the grace, and counts nothing (P9a).
	w.Clock.Advance(6 * time.Second)
	r = sweep(t, w)
	require.Equal(t, 2, r.Asked)
	require.LessOrEqual(t, r.HandedBack, 0)
	require.Equal(t, 1, w.Task("o-1").Step("a").Failures.Do)
}

// P10: a stored due time can be too early, but never too late. A conditional commit moves it forward.
func TestDueIsPushedForward(t *testing.T) {
	w := begun(t, actorstest.Definition(), 1, nil)
	w.Clock.Advance(29 * time.Second)
	reply := func(step string) *message.Reply {
		return actorstest.Done(&message.Request{
			Schema:      1,
			SendRequest: core.SendRequest{OrderID: "o-1", Step: step, Attempt: 1, Operation: core.Do},
		})
	}
	w.Send(port.Replies, reply("a"), reply("b"))
	w.Handle(port.Replies)
	w.Clock.Advance(2 * time.Second)
	before := w.Task("o-1")
	r := sweep(t, w)
	after := w.Task("o-1")
	require.Equal(t, 1, r.Pushed)
	require.LessOrEqual(t, r.Overdue, 0)
	require.Equal(t, after.Step("c").CompleteBy, after.Due)
	require.Greater(t, after.Due, before.Due)
	require.Equal(t, before.Version+1, after.Version)
}

// P11: if the Supervisor puts a task into Error, it raises the alert itself. With a reply-to the Scheduler
// sends all reports, and without one the alert is the only report.
func TestErrorIsReported(t *testing.T) {
	for _, replyTo := range []string{"shop", ""} {
		def := actorstest.Definition()
		def.Steps[0].OnFailure = core.OnFailureStop
		def.Steps[0].Retry.MaxFailures = 1
		w := actorstest.New(t, def).Boot()
		o := actorstest.Order("o-1")
		o.ReplyTo = replyTo
		w.Send(port.Intake, o)
		w.Handle(port.Intake)
		taken(w)
		w.Clock.Advance(31 * time.Second)
		r := sweep(t, w)
		task := w.Task("o-1")
		require.Equal(t, 1, r.Errors)
		require.Equal(t, core.Error, task.ProcessState)
		if replyTo == "" {
			require.Len(t, w.Alerts, 1)
			require.Zero(t, task.End.ResendAt)
			continue
		}
		require.NotZero(t, task.End.ResendAt, "settled, though the status was not reported")
		w.Handle(port.Control)
		w.Listen()
		task = w.Task("o-1")
		require.NotEmpty(t, w.Alerts)
		require.NotEmpty(t, w.FinalStatus("o-1"))
		require.Zero(t, task.End.ResendAt)
	}
}

// P11: an unreported end is asked for again.
func TestUnreportedEndIsAskedForAgain(t *testing.T) {
	w := actorstest.New(t, actorstest.Definition()).Boot()
	w.Send(port.Intake, actorstest.Order("o-1"))
	w.Handle(port.Intake)
	w.Refuse = "shop"
	for range 5 {
		w.Agents()
		w.Handle(port.Replies)
	}
	before := w.Task("o-1")
	require.Equal(t, core.Processed, before.ProcessState)
	require.NotZero(t, before.ResendTime())
	for _, wait := range []core.Duration{31 * core.Second, 31 * core.Second, 63 * core.Second} {
		w.Clock.Advance(wait.Std())
		r := sweep(t, w)
		after := w.Task("o-1")
		require.Equal(t, 1, r.Unreported)
		require.Greater(t, after.ResendTime(), before.ResendTime())
		require.Equal(t, after.ResendTime(), after.Due)
		require.Len(t, controls(w), 1)
		before = after
	}
}

// The index is only a hint: the sweep skips tasks that have come to rest or do not exist any more.
func TestStaleIndex(t *testing.T) {
	for _, forgotten := range []bool{false, true} {
		w := actorstest.New(t, actorstest.Definition()).Boot()
		w.Send(port.Intake, actorstest.Order("o-1"))
		w.Handle(port.Intake)
		w.Clock.Advance(31 * time.Second)
		r, err := w.SupervisorOn(&actorstest.Faulty{Store: w.Store, FailLoad: func(int) error {
			for range 5 {
				w.Agents()
				w.Handle(port.Replies)
			}
			if forgotten {
				return w.Store.Forget(ctx, []string{"o-1"})
			}
			return nil
		}}, "other").Sweep(ctx)
		require.NoError(t, err)
		require.Equal(t, 1, r.Stale)
		require.Zero(t, r.Overdue)
	}
}

// One sweep does a bounded amount of work, and the next begins at another shard, so that every shard is
// reached.
func TestSweepIsBounded(t *testing.T) {
	w := begun(t, actorstest.Definition(), 40, func(w *actorstest.World) {
		w.Sweeping = func(c *supervisor.Config) {
			c.PagesPerSweep = 2
			c.PageSize = 3
		}
	})
	w.Clock.Advance(31 * time.Second)
	total := 0
	for i := range 20 {
		r := sweep(t, w)
		require.LessOrEqual(t, r.Scanned, 6, "%v", i)
		if i == 0 && !r.Truncated {
			t.Error("it does not say that it ended early")
		}
		total += r.HandedBack
	}
	require.Equal(t, 80, total)
}
