package scheduler_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/internal/actorstest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// P13, P28: a message whose request is too large leads to another decision, and stays in the queue until that
// decision is stored and sent too.
func TestMessageStaysUntilItsFollowUpIsDone(t *testing.T) {
	large := func() *message.SubmitOrder {
		o := actorstest.Order("o-1")
		o.Order = json.RawMessage(`"` + strings.Repeat("x", 5000) + `"`)
		return o
	}
	toOperator := func(string, port.Message) error { return nil }
	for name, c := range map[string]struct {
		store actorstest.Faulty
		fail  func(queue string, m port.Message) error
	}{
		"its commit fails": {store: actorstest.Faulty{FailCommit: actorstest.OnCall(2, actorstest.ErrFailing)}},
		"its load fails":   {store: actorstest.Faulty{FailLoad: actorstest.OnCall(1, actorstest.ErrFailing)}},
		"its status fails, and cannot be recorded": {
			store: actorstest.Faulty{FailCommit: actorstest.OnCall(3, actorstest.ErrFailing)},
			fail: func(queue string, m port.Message) error {
				if s, ok := m.Value.(*message.Status); ok && s.Kind == core.StatusUndone {
					return port.ErrUnavailable
				}
				return toOperator(queue, m)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			def := actorstest.Definition()
			def.Steps = def.Steps[:1] // so that there is nothing else to undo than what has no effect
			def.Steps[0].Undo = nil
			w := actorstest.New(t, def).Boot()
			w.Limit = 4000
			w.Fail = c.fail
			store := c.store
			store.Store = w.Store
			sick := w.SchedulerOn(&store, 0, "sick")
			failed := sick.Handle(ctx, port.Intake, deliver(large()))
			require.Equal(t, []string{"r0"}, failed)
			w.Fail = nil
			require.Empty(t, w.Scheduler.Handle(ctx, port.Intake, again(deliver(large()))))
			task := w.Task("o-1")
			e := task.Step("a").Error
			require.Equal(t, core.Compensated, task.ProcessState)
			require.NotNil(t, e, "%s, %+v", task.ProcessState, e)
			require.Equal(t, "input-too-large", e.Code)
			require.Equal(t, 1, e.Attempt)
			require.Contains(t, task.Step("a").Error.Message, "reference")
			if w.Listen(); w.FinalStatus("o-1") == "" || task.End.ResendAt != 0 {
				t.Errorf("reported %q, report %s", w.FinalStatus("o-1"), task.End.ResendAt)
			}
		})
	}
}

// P13: only those messages of a batch come back whose own effects were not sent, wherever the failure is in
// the batches of the queue.
func TestOnlyWhatWasNotSentComesBack(t *testing.T) {
	const orders = 25
	for _, sick := range []int{0, 9, 10, 13, 24} {
		w := actorstest.New(t, actorstest.Definition()).Boot()
		w.Fail = func(queue string, m port.Message) error {
			if r, ok := m.Value.(*message.Request); ok && r.OrderID == fmt.Sprintf("o-%d", sick) &&
				queue == "requests-agent-b" {
				return port.ErrUnavailable
			}
			return nil
		}
		values := make([]port.Value, orders)
		for i := range values {
			values[i] = actorstest.Order(fmt.Sprintf("o-%d", i))
		}
		failed := w.Scheduler.Handle(ctx, port.Intake, deliver(values...))
		require.Equal(t, []string{fmt.Sprintf("r%d", sick)}, failed, "%v", sick)
		require.Len(t, w.Take("requests-agent-b"), orders-1, "%v", sick)
	}
}

// P27: a restart reports each task that it cannot continue by its name, and continues the others. A damaged document
// is logged and counted, and is no error.
func TestRestartReportsWhatItCannotTakeUp(t *testing.T) {
	for name, c := range map[string]struct {
		store actorstest.Faulty
		full  string // order whose requests no queue takes
		taken int
		err   string
	}{
		"an index": {actorstest.Faulty{FailDue: func(shard, _ int) error {
			if shard > 0 {
				return actorstest.ErrFailing
			}
			return nil
		}}, "", 4, "shard 1"},
		"one document": {actorstest.Faulty{Instead: map[string]string{"o-3": actorstest.Damaged}}, "", 11, ""},
		"all":          {actorstest.Faulty{FailLoad: func(int) error { return actorstest.ErrFailing }}, "", 0, "failing"},
		"a queue":      {actorstest.Faulty{}, "o-7", 11, `"o-7"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := actorstest.New(t, actorstest.Definition()).Boot()
			for i := range 12 {
				w.Scheduler.Handle(ctx, port.Intake, deliver(actorstest.Order(fmt.Sprintf("o-%d", i))))
			}
			requests(t, w)
			w.Fail = func(_ string, m port.Message) error {
				if r, ok := m.Value.(*message.Request); ok && r.OrderID == c.full {
					return port.ErrUnavailable
				}
				return nil
			}
			c.store.Store = w.Store
			n, err := w.SchedulerOn(&c.store, 0, "sick").Restart(ctx)
			require.Equal(t, c.taken, n)
			require.Len(t, w.Take("requests-agent-a"), c.taken)
			if c.err == "" {
				require.NoError(t, err)
				require.Equal(t, 1, w.Counts["damaged: set aside"])
				return
			}
			require.ErrorIs(t, err, port.ErrUnavailable)
			require.ErrorContains(t, err, c.err)
		})
	}
}

// If something cannot be read at the moment, only the messages that need it come again.
func TestFaultsOfReading(t *testing.T) {
	inline := func(*message.SubmitOrder) {}
	once := actorstest.OnCall(1, actorstest.ErrFailing)
	damaged := map[string]string{"o-2": actorstest.Damaged}
	for name, c := range map[string]struct {
		store    actorstest.Faulty
		order    func(*message.SubmitOrder)
		returned int // how many of three replies to two orders
		again    int // how many of them come back once more
	}{
		"no task is loaded":                  {actorstest.Faulty{FailLoad: once}, inline, 3, 0},
		"one of several tasks is not loaded": {actorstest.Faulty{Unread: "o-2"}, inline, 1, 1},
		"one document is damaged":            {actorstest.Faulty{Instead: damaged}, inline, 1, 1},
		"the order is not loaded":            {actorstest.Faulty{FailOrder: once}, apart, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w, asked := begunWith(t, c.order)
			w.Scheduler.Handle(ctx, port.Intake, deliver(actorstest.Order("o-2")))
			other := requests(t, w)["o-2 a/1 do"]
			c.store.Store = w.Store
			sick := w.SchedulerOn(&c.store, 0, "sick")
			ds := deliver(actorstest.Done(asked["o-1 a/1 do"]), actorstest.Done(asked["o-1 b/1 do"]),
				actorstest.Done(other))
			require.Len(t, sick.Handle(ctx, port.Replies, ds), c.returned)
			require.Len(t, sick.Handle(ctx, port.Replies, ds), c.again)
			require.Equal(t, core.Processing, w.Task("o-1").Step("c").State)
			require.Equal(t, c.again == 0, w.Task("o-2").Step("a").State == core.Processed)
		})
	}
	t.Run("a new order needs no load", func(t *testing.T) {
		w := actorstest.New(t, actorstest.Definition()).Boot()
		store := &actorstest.Faulty{Store: w.Store}
		failed := w.SchedulerOn(store, 0, "new").Handle(ctx, port.Intake, deliver(actorstest.Order("o-1"),
			actorstest.Order("o-2")))
		require.Empty(t, failed)
		require.Zero(t, store.Loads+store.Orders)
		require.Equal(t, 1, store.Commits)
	})
	t.Run("whether an order has expired is not known", func(t *testing.T) {
		w, _ := begun(t)
		require.NoError(t, w.Store.Forget(ctx, []string{"o-1"}))
		sick := w.SchedulerOn(&actorstest.Faulty{Store: w.Store, FailOrder: actorstest.OnCall(1, actorstest.ErrFailing)}, 0,
			"sick")
		r := sick.Submit(ctx, []message.SubmitOrder{*actorstest.Order("o-1")})[0]
		require.ErrorIs(t, r.Err, port.ErrUnavailable)
		r = sick.Submit(ctx, []message.SubmitOrder{*actorstest.Order("o-1")})[0]
		require.Equal(t, message.CodeExpired, r.Refusal.Code)
	})
	t.Run("definitions are not read", func(t *testing.T) {
		w, asked := begun(t)
		sick := w.SchedulerOn(w.Store, 0, "sick")
		w.Unread = actorstest.ErrFailing
		for queue, m := range map[string]port.Value{
			port.Intake: actorstest.Order("o-2"),
			port.Tasks:  childOf(w, core.AskStart, 1), port.Replies: actorstest.Done(asked["o-1 a/1 do"]),
		} {
			require.Len(t, sick.Handle(ctx, queue, deliver(m)), 1, queue)
		}
	})
	t.Run("the definition is not there", func(t *testing.T) {
		w, asked := begun(t)
		w.Defs = memory.NewDefinitions()
		w.Def = &core.Definition{Name: w.Def.Name, Hash: "another is deployed"}
		sick := w.SchedulerOn(w.Store, 0, "sick")
		failed := sick.Handle(ctx, port.Replies, deliver(actorstest.Done(asked["o-1 a/1 do"])))
		require.Len(t, failed, 1)
		require.Equal(t, int64(1), w.Task("o-1").Version)
		_, err := sick.Command(ctx, message.Control{OrderID: "o-1", Event: core.Command{Name: core.Cancel, ID: "c"}})
		var refused *core.Refusal
		require.ErrorAs(t, err, &refused)
		require.Equal(t, core.CodeDamaged, refused.Code)
	})
}

// P8: a decision is repeated after a conflict, up to a bound that a few other writers do not reach.
func TestConflictsAreDecidedAgain(t *testing.T) {
	for _, c := range []struct{ conflicts, failed int }{{7, 0}, {8, 1}} {
		w, asked := begun(t)
		store := &actorstest.Faulty{Store: w.Store, FailCommit: func(call int) error {
			if call <= c.conflicts {
				return port.ErrConflict
			}
			return nil
		}}
		sick := w.SchedulerOn(store, 0, "other")
		require.Len(t, sick.Handle(ctx, port.Replies, deliver(actorstest.Done(asked["o-1 a/1 do"]))), c.failed, "%v", c)
		require.Equal(t, c.failed == 0, w.Task("o-1").Step("a").State == core.Processed, "%v", c)
	}
}

// P12: if only the answer of the store is lost, no message is returned to the queue, and nothing is done
// twice.
func TestDoubtfulCommitIsLookedAt(t *testing.T) {
	for _, cached := range []int{0, 10} {
		w, asked := begun(t)
		store := &forgetful{Store: w.Store}
		s := w.SchedulerOn(store, cached, "other")
		require.Empty(t,
			s.Handle(ctx, port.Replies, deliver(actorstest.Done(asked["o-1 a/1 do"]), actorstest.Done(asked["o-1 b/1 do"]))))
		require.Equal(t, "c/1 do", names(requests(t, w)))
		require.Equal(t, int64(2), w.Task("o-1").Version)
		require.Empty(t, s.Handle(ctx, port.Intake, deliver(actorstest.Order("o-2"))))
		require.Len(t, requests(t, w), 2)
		require.Equal(t, int64(1), w.Task("o-2").Version)
	}
}

// P12: a write may have been lost with its answer; it is made again. If the time of the handling ends before it is
// known whether the commit was stored, the message comes back, also if the decision sends nothing.
func TestLostCommitIsMadeAgain(t *testing.T) {
	for name, c := range map[string]struct {
		replyTo  string
		ends     bool
		returned int
	}{
		"in time":                          {"shop", false, 0},
		"at the end of the time":           {"shop", true, 1},
		"at its end, and it sends nothing": {"", true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w, asked := begunWith(t, func(o *message.SubmitOrder) { o.ReplyTo = c.replyTo })
			handling, end := context.WithCancel(ctx)
			defer end()
			calls := 0
			s := w.SchedulerOn(&actorstest.Faulty{Store: w.Store, FailCommit: func(int) error {
				if calls++; calls > 1 {
					return nil
				}
				if c.ends {
					end()
				}
				return errors.New("connection lost")
			}}, 10, "other")
			done := deliver(actorstest.Done(asked["o-1 a/1 do"]))
			require.Len(t, s.Handle(handling, port.Replies, done), c.returned)
			require.Equal(t, c.ends, w.Task("o-1").Step("a").State == core.Processing)
		})
	}
}

// forgetful stores every write, and loses every second answer.
type forgetful struct {
	*memory.Store
	calls int
}

func (s *forgetful) Commit(ctx context.Context, writes []port.Write) []error {
	errs := s.Store.Commit(ctx, writes)
	if s.calls++; s.calls%2 == 1 {
		for i := range errs {
			errs[i] = errors.New("connection lost")
		}
	}
	return errs
}

// P28: an order whose task does not fit into the store is refused, and so are its copies in the batch. An
// order that is already stored is not.
func TestTaskThatDoesNotFitIsRefused(t *testing.T) {
	w := actorstest.New(t, actorstest.Definition()).Boot()
	store := &actorstest.Faulty{Store: w.Store, FailCommit: func(int) error { return port.ErrTooLarge }}
	s := w.SchedulerOn(store, 0, "other")
	require.Empty(t, s.Handle(ctx, port.Intake, deliver(actorstest.Order("o-1"), actorstest.Order("o-1"))))
	reported := statuses(t, w, "shop")
	require.Len(t, reported, 2)
	require.Equal(t, core.StatusRefused, reported[0].Kind)
	require.Equal(t, core.TimeOf(w.Clock.Now()), reported[0].At)
	require.Equal(t, message.CodeTooLarge, reported[1].Code)
	require.Contains(t, reported[0].Message, "reference")
	require.Empty(t, requests(t, w))
	require.Nil(t, w.Task("o-1"))
	w, asked := begun(t)
	s = w.SchedulerOn(&actorstest.Faulty{Store: w.Store, FailCommit: func(int) error { return port.ErrTooLarge }},
		0, "other")
	require.Len(t, s.Handle(ctx, port.Replies, deliver(actorstest.Failed(asked["o-1 a/1 do"], "no"))), 1)
	if reported := statuses(t, w, "shop"); len(reported) != 2 { // received and started, when it began
		t.Errorf("reported %+v", reported)
	}
}

// A command returns the stored verdict, or an error that names the command.
func TestCommandThatCannotBeStored(t *testing.T) {
	w, _ := begun(t)
	cancel := message.Control{OrderID: "o-1", Event: core.Command{Name: core.Cancel, ID: "c-1"}}
	full := &actorstest.Faulty{Store: w.Store, FailCommit: func(int) error { return port.ErrUnavailable }}
	sick := w.SchedulerOn(full, 0, "sick")
	v, err := sick.Command(ctx, cancel)
	require.ErrorIs(t, err, port.ErrUnavailable)
	require.Equal(t, protocol.Verdict{}, v)
	require.ErrorContains(t, err, `cancel task "o-1"`)
	for range 2 {
		v, err := w.Scheduler.Command(ctx, cancel)
		require.NoError(t, err)
		require.True(t, v.Accepted, "%+v %v", v, err)
		require.Equal(t, "cancel", v.Command)
	}
	require.Equal(t, 1, w.Task("o-1").Commands.Number)
}

// The text of a failure that an agent sends is kept for people, whatever it contains.
func TestReasonsOfAgents(t *testing.T) {
	for _, c := range []struct {
		given         *message.ReplyError
		code, message string
	}{
		{nil, "unspecified", "the agent gave no reason"},
		{&message.ReplyError{Code: "no-seats", Message: "none left"}, "no-seats", "none left"},
		{&message.ReplyError{}, "", ""},
		{&message.ReplyError{Code: "a\xffb", Message: "c\xffd"}, "a\ufffdb", "c\ufffdd"},
	} {
		w, asked := begun(t)
		r := actorstest.Failed(asked["o-1 a/1 do"], "")
		r.Error = c.given
		r.Output = json.RawMessage(`"an output of a failure"`)
		w.Scheduler.Handle(ctx, port.Replies, deliver(r))
		a := w.Task("o-1").Step("a")
		require.NotNil(t, a.Error, "%+v", c.given)
		require.Equal(t, c.code, a.Error.Code, "%+v", c.given)
		require.Equal(t, c.message, a.Error.Message, "%+v", c.given)
		require.Nil(t, a.Output, "%+v", c.given)
	}
}

func failure(order string) *message.Reply {
	return actorstest.Failed(&message.Request{Schema: 1, SendRequest: core.SendRequest{
		OrderID: order, Step: "a",
		Attempt: 1, Operation: core.Do,
	}}, "no")
}
