package scheduler_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/actorstest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

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
	v, err := w.Scheduler.Command(ctx, again)
	require.NoError(t, err)
	require.True(t, v.Accepted)
	w.Take(port.Control)
	for _, r := range requests(t, w) {
		require.Empty(t, w.Scheduler.Handle(ctx, port.Replies, deliver(actorstest.Later(r))))
	}
	w.Clock.Advance(10 * time.Second)
	wakes := w.Take(port.Control)
	for _, d := range wakes {
		c := d.Value.(*message.Control)
		wake, ok := c.Event.(core.Wake)
		require.True(t, ok, "%+v", c)
		require.Equal(t, 1, wake.Run)
	}
	require.NotEmpty(t, wakes, "no wake was sent")
}
