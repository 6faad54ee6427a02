package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Rule 4: if the deployment is set to do so, requests have the tenant of their order, and no other messages
// do.
func TestFairQueues(t *testing.T) {
	for _, c := range []struct {
		fair       bool
		order      string
		want, wake string
	}{
		{true, "acme:1001", "acme", ""},
		{true, "acme:eu:1001", "acme", ""},
		{true, "1001", "", ""},
		{true, ":1001", "", ""},
		{false, "acme:1001", "", ""},
	} {
		clock := memory.NewClock(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
		queues, err := memory.NewQueues(clock,
			[]memory.QueueConfig{{Name: "requests-payment"}, {Name: port.Control}})
		require.NoError(t, err)
		e := engine.Engine{Config: engine.Config{Parts: engine.Parts{
			Queues: queues, Clock: clock,
			Logger: slog.New(slog.DiscardHandler), FairQueues: c.fair,
		}}}
		err = e.Send(context.Background(), core.SendRequest{Agent: "payment", OrderID: c.order},
			core.SendWake{OrderID: c.order})
		require.NoError(t, err)
		for name, want := range map[string]string{"requests-payment": c.want, port.Control: c.wake} {
			q, err := queues.Queue(name)
			require.NoError(t, err)
			ds, err := q.Receive(context.Background(), 1, 0, time.Minute)
			require.NoError(t, err, c.order)
			require.Len(t, ds, 1, c.order)
			require.Equal(t, want, ds[0].Group, c.order)
		}
	}
}

// A Wake is delayed in its queue if the queue allows such a delay. Later ones are left to the Supervisor.
func TestWakesOfTheLongestDelay(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	clock := memory.NewClock(now)
	queues, err := memory.NewQueues(clock, []memory.QueueConfig{{Name: port.Control}})
	require.NoError(t, err)
	e := engine.Engine{Config: engine.Config{Parts: engine.Parts{
		Queues: queues, Clock: clock,
		Logger: slog.New(slog.DiscardHandler), WakeSlack: time.Second,
	}}}
	longest := core.TimeOf(now.Add(port.MaxDelay - time.Second))
	err = e.Send(context.Background(), core.SendWake{OrderID: "o-1", WakeAt: longest},
		core.SendWake{OrderID: "o-2", WakeAt: longest + 1})
	require.NoError(t, err)
	at, hidden := queues.Next()
	require.True(t, hidden, "the first Wake comes at %s, %t", at)
	require.True(t, at.Equal(now.Add(port.MaxDelay)), "the first Wake comes at %s, %t", at, hidden)
	q, err := queues.Queue(port.Control)
	require.NoError(t, err)
	d, err := q.Depth(context.Background())
	require.NoError(t, err)
	require.Equal(t, 1, d.Delayed)
}

// A line of the log names the task of an event, and the run, step and attempt where it has them.
func TestLogLinesNameWhatAnEventIsOf(t *testing.T) {
	const attempt, step, run = "[order o-1 step a run 2 attempt 3]", "[order o-1 step a]", "[order o-1 run 2]"
	for _, c := range []struct {
		ev   core.Event
		want string
	}{
		{core.Reply{Step: "a", Run: 2, Attempt: 3}, attempt},
		{core.Progress{Step: "a", Run: 2, Attempt: 3}, attempt},
		{core.Wake{Step: "a", Run: 2, Attempt: 3}, attempt},
		{core.ChildEnded{Parent: core.Parent{Step: "a", Run: 2, Attempt: 3}}, attempt},
		{core.Answered{Step: "a", Run: 2}, "[order o-1 step a run 2]"},
		{core.Command{Name: core.Cancel, Run: 2}, run},
		{core.Command{Name: core.Resolve, Step: "a"}, step},
		{core.Settle{}, "[order o-1]"},
	} {
		require.Equal(t, c.want, fmt.Sprint(engine.About("o-1", c.ev)), "%+v", c.ev)
	}
}
