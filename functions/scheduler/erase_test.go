package scheduler_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/actorstest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

func erasing(order, id string, command int) *message.Control {
	return &message.Control{
		OrderID: order,
		Event: core.Command{
			Name: core.Erase,
			ID:   id, Number: command,
			Sender: core.Sender{By: "ann", Reason: "asked to"},
		},
	}
}

// undone returns an order that was cancelled, undone and reported.
func undone(t *testing.T, w *actorstest.World, o *message.SubmitOrder) {
	t.Helper()
	w.Send(port.Intake, o)
	w.Handle(port.Intake)
	v, err := w.Scheduler.Command(ctx, message.Control{
		OrderID: o.OrderID,
		Event:   core.Command{Name: core.Cancel, ID: "cancel"},
	})
	require.NoError(t, err)
	require.True(t, v.Accepted)
	for range 40 {
		w.Agents()
		w.Handle(port.Replies)
	}
	task := w.Task(o.OrderID)
	require.True(t, task.Terminal(), "it is %s", task.ProcessState)
	require.True(t, task.AtRest(), "it is %s", task.ProcessState)
}

// P52: the content that an order keeps apart is removed by the message that erased the order, also if its
// handling died after the commit; a submission that comes again is recognised, and a fresh command repeats
// the removal.
func TestErasedContent(t *testing.T) {
	w := actorstest.New(t, actorstest.Definition()).Boot()
	o := actorstest.Order("o-1")
	apart(o)
	undone(t, w, o)
	hash := state.HashOf(w.Task("o-1"))
	there := func() bool {
		_, err := w.Store.Content(ctx, "o-1", hash)
		return !errors.Is(err, port.ErrNotFound)
	}
	require.True(t, there(), "its content is not kept apart")
	if v, err := w.Scheduler.Command(ctx, *erasing("o-1", "e-0", 7)); err != nil || v.Accepted || !there() {
		t.Fatalf("%+v, %v", v, err)
	}
	sick := w.SchedulerOn(&actorstest.Faulty{Store: w.Store, FailOrder: actorstest.OnCall(1, actorstest.ErrFailing)}, 0,
		"sick")
	m := deliver(erasing("o-1", "e-1", w.Task("o-1").Commands.Number))
	require.Len(t, sick.Handle(ctx, port.Control, m), 1)
	require.NotNil(t, w.Task("o-1").Erased)
	require.True(t, there())
	require.Empty(t, w.Scheduler.Handle(ctx, port.Control, m))
	require.False(t, there())
	require.Equal(t, "known", answerOf(w.Scheduler.Submit(ctx, []message.SubmitOrder{*o})[0]))
	require.False(t, there())
	v, err := w.Scheduler.Command(ctx, *erasing("o-1", "e-2", w.Task("o-1").Commands.Number))
	require.NoError(t, err)
	require.True(t, v.Accepted)
	require.NotZero(t, w.Task("o-1").Erased.At)
}

// P52: a child is erased when all that it is a child of have come to rest. An order above the parent can still have its
// child undone.
func TestAChildIsErasedAfterAllAboveIt(t *testing.T) {
	w, _ := begun(t)
	w.Send(port.Intake, actorstest.Order("grand"))
	w.Handle(port.Intake)
	id := "grand"
	for range 2 {
		ask := askOf(w, core.AskCancel, 1)
		ask.Parent.OrderID = id
		id = ask.Parent.ChildID()
		ask.OrderID = id
		handled(t, w, toChild(ask))
	}
	for range 5 {
		w.Handle(port.Tasks)
	}
	task := w.Task(w.Task(id).Parent.OrderID)
	require.True(t, task.Terminal(), "the parent is %s", task.ProcessState)
	require.True(t, task.AtRest(), "the parent is %s", task.ProcessState)
	v, err := w.Scheduler.Command(ctx, *erasing(id, "e-1", w.Task(id).Commands.Number))
	require.NoError(t, err)
	require.False(t, v.Accepted)
	require.Contains(t, v.Reason, "child of grand,")
	cancel := message.Control{OrderID: "grand", Event: core.Command{Name: core.Cancel, ID: "c-1"}}
	_, err = w.Scheduler.Command(ctx, cancel)
	require.NoError(t, err)
	for range 40 {
		w.Agents()
		w.Handle(port.Replies)
	}
	v, err = w.Scheduler.Command(ctx, *erasing(id, "e-2", w.Task(id).Commands.Number))
	require.NoError(t, err)
	require.True(t, v.Accepted)
	require.NotNil(t, w.Task(id).Erased)
}

// P52: a parent that stopped in Error, or whose end is not reported, has not come to rest.
func TestAChildIsNotErasedBeforeItsParentRests(t *testing.T) {
	for name, c := range map[string]struct {
		begin      func(w *actorstest.World) // brings the parent there
		unreported bool
		want       core.State
	}{
		"in Error": {func(w *actorstest.World) { w.Send(port.Replies, failure("parent")) }, false, core.Error},
		"not reported": {func(w *actorstest.World) {
			w.Send(port.Control, &message.Control{OrderID: "parent", Event: core.Command{Name: core.Cancel, ID: "c-1"}})
		}, true, core.Cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			def := actorstest.Definition()
			def.Steps[0].OnFailure = core.OnFailureStop
			w := actorstest.New(t, def).Boot()
			w.Send(port.Intake, actorstest.Order("parent"))
			w.Handle(port.Intake)
			handled(t, w, childOf(w, core.AskCancel, 1))
			w.Take(port.Tasks)
			w.Fail = func(_ string, m port.Message) error {
				if s, ok := m.Value.(*message.Status); ok && c.unreported && s.OrderID == "parent" {
					return port.ErrUnavailable
				}
				return nil
			}
			c.begin(w)
			for range 40 {
				w.Handle(port.Replies)
				w.Handle(port.Control)
				w.Agents()
			}
			p := w.Task("parent")
			require.Equal(t, c.want, p.ProcessState)
			require.Equal(t, c.unreported, p.ResendTime() != 0)
			const id = "parent~all~2"
			v, err := w.Scheduler.Command(ctx, *erasing(id, "e-1", w.Task(id).Commands.Number))
			require.NoError(t, err)
			require.False(t, v.Accepted, "%+v, %v", v, err)
			require.Contains(t, v.Reason, "child of parent,")
		})
	}
}
