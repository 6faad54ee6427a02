package scheduler_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/internal/actorstest"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// P12a: if two Schedulers handle the same reply, the one whose commit is stored asks for the next step. The
// other one finds the reply decided and does not, because n copies would lead to n requests.
func TestACopyThatLosesSendsNothing(t *testing.T) {
	w, asked := begun(t)
	w.Scheduler.Handle(ctx, port.Replies, deliver(actorstest.Done(asked["o-1 a/1 do"])))
	last := deliver(actorstest.Done(asked["o-1 b/1 do"]))
	store := &interfering{Store: w.Store, before: func() {
		require.Empty(t, w.Scheduler.Handle(ctx, port.Replies, last), "the one that was first did not ask for c")
		require.Len(t, requests(t, w), 1, "the one that was first did not ask for c")
	}}
	require.Empty(t, w.SchedulerOn(store, 0, "other").Handle(ctx, port.Replies, last))
	require.Empty(t, requests(t, w))
	// the first may have died before it sent
	if w.SchedulerOn(w.Store, 0, "third").Handle(ctx, port.Replies, again(last)); len(requests(t, w)) != 1 {
		t.Error("a redelivery does not ask again")
	}
}

// P12a: a submission or a command that came without a queue is not redelivered, so its handling continues
// until everything is sent, or until the process stops.
func TestWhatCameWithoutAQueueIsCarriedOn(t *testing.T) {
	for _, down := range []int{1, 3, 9} {
		w := actorstest.New(t, actorstest.Definition())
		pauses := 0
		w.Config = func(c *scheduler.Config) {
			c.Pause = func(_ context.Context, try int) error {
				if pauses++; try != pauses || try > 5 {
					return errors.New("enough")
				}
				return nil
			}
		}
		w.Boot()
		sends := 0
		w.Fail = func(queue string, m port.Message) error {
			if r, ok := m.Value.(*message.Request); ok && r.Step == "a" {
				if sends++; sends <= 2*down { // the world asks twice
					return port.ErrUnavailable
				}
			}
			return nil
		}
		r := w.Scheduler.Submit(ctx, []message.SubmitOrder{*actorstest.Order("o-1")})[0]
		asked := requests(t, w)
		carried := down <= 5
		require.Equal(t, r.Err == nil, carried, "%+v", down)
		require.Equal(t, asked["o-1 a/1 do"] != nil, carried, "%+v", down)
		require.Equal(t, min(down, 6), pauses, "%+v", down)
		require.NotNil(t, w.Task("o-1"), "%+v", down)
		require.NotEmpty(t, asked, "the step beside it was not asked for")
		require.NotNil(t, asked["o-1 b/1 do"], "the step beside it was not asked for")
	}
}
