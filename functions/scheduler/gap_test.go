package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/internal/actorstest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// P8, H21: if a cached task is too old for a message, the task is loaded again, and the message is not
// delayed for ever.
func TestCachedTaskIsLoadedAgain(t *testing.T) {
	w, asked := begun(t)
	cached := w.SchedulerOn(w.Store, 10, "cached")
	require.Empty(t, cached.Handle(ctx, port.Control, deliver(&message.Control{OrderID: "o-1", Event: core.Settle{}})))
	w.Scheduler.Handle(ctx, port.Replies, deliver(actorstest.Later(asked["o-1 a/1 do"])))
	w.Clock.Advance(core.Minute.Std())
	w.Handle(port.Control) // the wake claims a again
	again := requests(t, w)["o-1 a/2 do"]
	require.NotNil(t, again, "not claimed again")
	require.Empty(t, cached.Handle(ctx, port.Replies, deliver(actorstest.Done(again))),
		"returned, though the store knows the attempt")
	require.Equal(t, core.Processed, w.Task("o-1").Step("a").State)
}

// silent fails to raise alerts.
type silent struct{}

func (silent) Raise(context.Context, core.RaiseAlert) error { return errors.New("no topic") }

// P11: the status of an Error is sent after its alert.
func TestNoStatusBeforeItsAlert(t *testing.T) {
	def := actorstest.Definition()
	def.Steps[0].OnFailure = core.OnFailureStop
	w := actorstest.New(t, def)
	w.Config = func(c *scheduler.Config) { c.Alerts = silent{} }
	w.Boot()
	w.Scheduler.Handle(ctx, port.Intake, deliver(actorstest.Order("o-1")))
	asked := requests(t, w)
	failed := w.Scheduler.Handle(ctx, port.Replies, deliver(actorstest.Failed(asked["o-1 a/1 do"], "no")))
	w.Listen()
	task := w.Task("o-1")
	require.Len(t, failed, 1)
	require.Equal(t, core.Error, task.ProcessState)
	require.NotZero(t, task.End.ResendAt)
	require.Empty(t, w.FinalStatus("o-1"))
}

// P11, P12b: an end that the bus refuses is sent to the bus again at the resend time. The reply-to gets it once.
func TestTheBusGetsTheEnd(t *testing.T) {
	def := actorstest.Definition()
	def.Events = true
	def.Steps = def.Steps[:1]
	w := actorstest.New(t, def).Boot()
	w.Scheduler.Handle(ctx, port.Intake, deliver(actorstest.Order("o-1")))
	done := deliver(actorstest.Done(requests(t, w)["o-1 a/1 do"]))
	w.Refuse = core.Events
	require.Empty(t, w.Scheduler.Handle(ctx, port.Replies, done))
	require.Equal(t, core.Processed, w.Task("o-1").ProcessState)
	require.False(t, w.Task("o-1").AtRest())
	w.Refuse = ""
	w.Clock.Advance(31 * time.Second)
	_, err := w.Supervisor.Sweep(ctx)
	require.NoError(t, err)
	w.Handle(port.Control)
	require.True(t, w.Task("o-1").AtRest(), "%+v", w.Task("o-1"))
	shop := statuses(t, w, "shop")
	bus := statuses(t, w, core.Events)
	require.Len(t, bus, 1)
	require.Equal(t, shop[len(shop)-1], bus[0])
	require.Len(t, shop, 4, "received, started, step-finished and completed, once each")
}

// P27: a restart continues all tasks, however many there are.
func TestRestartTakesAllPages(t *testing.T) {
	const orders = 900 // orders in 4 shards, 200 to a page
	w := actorstest.New(t, actorstest.Definition()).Boot()
	for i := range orders {
		w.Scheduler.Handle(ctx, port.Intake, deliver(actorstest.Order(fmt.Sprintf("o-%d", i))))
	}
	n, err := w.Boot().Scheduler.Restart(ctx)
	require.Equal(t, orders, n)
	require.NoError(t, err)
}

// contentless has lost the content of orders.
type contentless struct{ *memory.Store }

func (contentless) Content(_ context.Context, id, _ string) ([]byte, error) {
	return nil, fmt.Errorf("order %q: %w", id, port.ErrNotFound)
}

// Content that is kept apart is read when a claim needs it. While it cannot be read, nothing is lost.
func TestAnOrderThatIsKeptApart(t *testing.T) {
	w, asked := begunWith(t, apart)
	sick := w.SchedulerOn(contentless{w.Store}, 0, "sick")
	require.Empty(t, sick.Handle(ctx, port.Replies, deliver(actorstest.Done(asked["o-1 a/1 do"]))),
		"what needs no content of the order was returned to the queue")
	last := deliver(actorstest.Done(asked["o-1 b/1 do"])) // the next claim needs it
	require.Len(t, sick.Handle(ctx, port.Replies, last), 1)
	require.Empty(t, requests(t, w))
	w.Clock.Advance(core.Hour.Std())
	seen, err := w.SupervisorOn(contentless{w.Store}, "sick").Sweep(ctx)
	require.NoError(t, err)
	require.Equal(t, 1, seen.Damaged, "the order is set aside")
	require.Empty(t, w.Take(port.Control))

	for range 2 { // the order is back in its place, then it is overdue
		w.Clock.Advance(core.Hour.Std())
		_, err = w.Supervisor.Sweep(ctx)
		require.NoError(t, err)
	}
	w.Clock.Advance(core.Minute.Std()) // the backoff
	require.Empty(t, w.Scheduler.Handle(ctx, port.Control, w.Take(port.Control)))
	again := requests(t, w)["o-1 b/2 do"]
	require.NotNil(t, again, "asked again: %+v, want b with its key", again)
	require.Equal(t, asked["o-1 b/1 do"].Key, again.Key)
	require.Contains(t, string(again.Input), "12.50")
}

// apart makes the content of an order so long that it is kept apart.
func apart(o *message.SubmitOrder) {
	o.Order = append(slices.Clip(o.Order), strings.Repeat(" ", protocol.InlineOrder)...)
}
