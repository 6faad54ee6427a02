package scheduler_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/internal/actorstest"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// told records what a Scheduler reports of replies.
func told(c *scheduler.Config) *[]string {
	names := &[]string{}
	c.Replied = func(_ context.Context, r scheduler.Replied) { *names = append(*names, r.Agent+" "+r.Name) }
	return names
}

// P45: Replied gets the replies that have changed an order, with the operation that was asked for.
func TestRepliedGetsAcceptedReplies(t *testing.T) {
	w := actorstest.New(t, actorstest.Definition())
	var names *[]string
	w.Config = func(c *scheduler.Config) { names = told(c) }
	w.Boot()
	w.Scheduler.Handle(ctx, port.Intake, deliver(actorstest.Order("o-1")))
	asked := requests(t, w)

	a := actorstest.Done(asked["o-1 a/1 do"])
	w.Scheduler.Handle(ctx, port.Replies, deliver(a))
	require.Equal(t, []string{"agent-a do-a"}, *names)
	w.Scheduler.Handle(ctx, port.Replies, deliver(a))
	require.Equal(t, []string{"agent-a do-a"}, *names, "after a copy")
	stranger := *a
	stranger.OrderID = "o-2"
	w.Scheduler.Handle(ctx, port.Replies, deliver(&stranger))
	require.Equal(t, []string{"agent-a do-a"}, *names, "after a reply to an order that is not there")

	w.Scheduler.Handle(ctx, port.Replies, deliver(actorstest.Failed(asked["o-1 b/1 do"], "declined")))
	w.Scheduler.Handle(ctx, port.Replies, deliver(actorstest.Done(requests(t, w)["o-1 b/2 undo"])))
	require.Equal(t, []string{"agent-a do-a", "agent-b do-b", "agent-b undo-b"}, *names)
}

// A reply that could not be stored comes again, and is reported then.
func TestRepliedGetsNothingThatIsNotStored(t *testing.T) {
	w, asked := begun(t)
	config := w.SchedulerConfig(w.NewState(&actorstest.Faulty{
		Store: w.Store, FailCommit: actorstest.OnCall(1, actorstest.ErrFailing),
	}, 0), "sick")
	names := told(&config)
	s := scheduler.New(config)
	reply := deliver(actorstest.Done(asked["o-1 a/1 do"]))
	require.Len(t, s.Handle(ctx, port.Replies, reply), 1)
	require.Empty(t, *names)
	require.Empty(t, s.Handle(ctx, port.Replies, again(reply)))
	require.Equal(t, []string{"agent-a do-a"}, *names)
}

// Restarted gets every order that a restart has looked at.
func TestRestartedGetsEachOrder(t *testing.T) {
	w, _ := begun(t)
	config := w.SchedulerConfig(w.NewState(w.Store, 0), "next")
	var restarted []string
	config.Restarted = func(task *protocol.Task) { restarted = append(restarted, task.OrderID) }
	n, err := scheduler.New(config).Restart(ctx)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, []string{"o-1"}, restarted)
}
