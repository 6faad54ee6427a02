package scheduler_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/actorstest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// alive runs a function. It reports whether the function ended without the panic that stands for a kill.
func alive(run func()) (ended bool) {
	defer func() {
		if p := recover(); p != nil && p != "killed" {
			panic(p)
		}
	}()
	run()
	return true
}

// noGap checks that the application has received every numbered status of an order.
func noGap(t *testing.T, w *actorstest.World, id string) {
	t.Helper()
	w.Listen()
	for n := 1; n <= w.Task(id).StatusSeq; n++ {
		require.Contains(t, w.Statuses, fmt.Sprintf("%s/%d", id, n))
	}
}

// P12, P27: a process that is killed before any of its sends has lost its queues in memory. The next process
// sends what the document says is unsent, so the numbers of the statuses have no gap.
func TestNoStatusIsLostByAKill(t *testing.T) {
	for name, script := range map[string]func(*message.Request) *message.Reply{
		"done": nil,
		"undone": func(r *message.Request) *message.Reply {
			if r.Step == "c" && r.Operation == core.Do {
				return actorstest.Failed(r, "no")
			}
			return actorstest.Done(r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for n, kills := 1, true; kills; n++ {
				w := actorstest.New(t, actorstest.Definition())
				w.CacheFor = 10
				w.Script = script
				w.Boot()
				sends := 0
				w.Fail = func(string, port.Message) error {
					if sends++; sends == n {
						panic("killed")
					}
					return nil
				}
				kills = false
				if !alive(func() { w.Scheduler.Submit(ctx, []message.SubmitOrder{*actorstest.Order("o-1")}) }) {
					kills = true
					w.Kill()
				}
				for range 100 {
					if !alive(w.Round) {
						kills = true
						w.Kill()
					}
				}
				require.True(t, w.Task("o-1").Terminal() && w.Task("o-1").AtRest(), "send %d", n)
				noGap(t, w, "o-1")
			}
		})
	}
}

// P12, P27: another handling commits and sends while the first one has not sent its status yet. Then the
// process is killed.
func TestAStatusOvertakenByOthersIsSentAfterAKill(t *testing.T) {
	for _, last := range []string{"b", "c"} { // the step whose end overtakes the status of step a
		t.Run(last, func(t *testing.T) {
			def := actorstest.Definition()
			def.Steps[2].After = []string{"b"}
			w := actorstest.New(t, def)
			w.CacheFor = 10
			w.Boot()
			w.Scheduler.Submit(ctx, []message.SubmitOrder{*actorstest.Order("o-1")})
			asked := requests(t, w)
			w.Fail = func(queue string, m port.Message) error {
				if s, ok := m.Value.(*message.Status); !ok || s.Step != "a" || s.Kind != core.StatusStepFinished {
					return nil
				}
				w.Fail = nil
				w.Scheduler.Handle(ctx, port.Replies, deliver(actorstest.Done(asked["o-1 b/1 do"])))
				if c := requests(t, w)["o-1 c/1 do"]; last == "c" {
					w.Scheduler.Handle(ctx, port.Replies, deliver(actorstest.Done(c)))
				}
				panic("killed")
			}
			require.False(t, alive(func() {
				w.Scheduler.Handle(ctx, port.Replies, deliver(actorstest.Done(asked["o-1 a/1 do"])))
			}))
			w.Kill()
			for range 40 {
				w.Round()
			}
			require.Equal(t, core.Processed, w.Task("o-1").ProcessState)
			noGap(t, w, "o-1")
		})
	}
}

// P12: a Scheduler is killed after its commit, and before it sends. Others take the order to its end before the message
// of the first one comes again.
func TestAStatusOvertakenByOtherProcessesIsSentWhenItsMessageComesAgain(t *testing.T) {
	w := actorstest.New(t, actorstest.Definition()).Boot()
	submitted := deliver(actorstest.Order("o-1"))
	w.Fail = func(string, port.Message) error { panic("killed") }
	require.False(t, alive(func() { w.Scheduler.Handle(ctx, port.Intake, submitted) }))
	w.Fail = nil
	w.Boot()
	for range 100 {
		w.Round()
	}
	require.Equal(t, core.Processed, w.Task("o-1").ProcessState)
	require.NotContains(t, w.Statuses, "o-1/1", "nobody but the first Scheduler has the status")
	w.Scheduler.Handle(ctx, port.Intake, again(submitted))
	noGap(t, w, "o-1")
}

// P12: an operator takes up an order whose end was stored and not reported. The status of that end is not lost.
// If the process is killed once more, a status without content has its number.
func TestAnEndThatIsLeftIsReported(t *testing.T) {
	for _, want := range []core.StatusKind{core.StatusFailed, core.StatusSuperseded} {
		def := actorstest.Definition()
		def.Steps[0].OnFailure = core.OnFailureStop
		w := actorstest.New(t, def).Boot()
		w.Scheduler.Submit(ctx, []message.SubmitOrder{*actorstest.Order("o-1")})
		failed := deliver(actorstest.Failed(requests(t, w)["o-1 a/1 do"], "no"))
		w.Fail = func(string, port.Message) error { panic("killed") }
		require.False(t, alive(func() { w.Scheduler.Handle(ctx, port.Replies, failed) }))
		end := w.Task("o-1").End
		require.NotZero(t, end.ResendAt)
		if want == core.StatusFailed {
			w.Fail = nil
		}
		alive(func() {
			_, err := w.Boot().Scheduler.Command(ctx, message.Control{
				OrderID: "o-1",
				Event:   core.Command{Name: core.Resubmit, ID: "r-1", Number: 0},
			})
			require.NoError(t, err)
		})
		w.Fail = nil
		if want == core.StatusSuperseded {
			w.Kill()
		}
		for range 40 {
			w.Round()
		}
		require.Equal(t, core.Processed, w.Task("o-1").ProcessState)
		noGap(t, w, "o-1")
		require.Contains(t, w.Statuses[fmt.Sprintf("o-1/%d", end.Seq)], fmt.Sprintf("%q:%q", "status", want))
	}
}

// P12b: the task records from which number on the receiver has no status. "received" has no number.
func TestAStatusWithoutANumberIsNotRecorded(t *testing.T) {
	w := actorstest.New(t, actorstest.Definition()).Boot()
	w.Fail = func(queue string, _ port.Message) error {
		if queue == "shop" {
			return port.ErrNotFound
		}
		return nil
	}
	require.Empty(t, w.Scheduler.Handle(ctx, port.Intake, deliver(actorstest.Order("o-1"))))
	require.Equal(t, 1, w.Task("o-1").Undelivered[0].First)
}

// P12b: an order whose queue was deleted, is forbidden or refuses goes on like others, and none of its messages comes
// again. When the queue is there again, it gets everything.
func TestAStatusThatCannotBeSentDelaysNothing(t *testing.T) {
	for reason, err := range map[string]error{
		"it does not exist, or is not deployed as a reply-to": port.ErrNotFound,
		"access is denied to it, or to its KMS key":           port.ErrForbidden,
		"it is unavailable or throttled":                      port.ErrUnavailable,
		"it refuses the message":                              errors.New("rejected"),
	} {
		w, asked := begun(t)
		w.Fail = func(queue string, _ port.Message) error {
			if queue == "shop" {
				return err
			}
			return nil
		}
		require.Empty(t, end(t, w, asked), reason)
		require.Equal(t, core.Processed, w.Task("o-1").ProcessState, reason)
		require.Equal(t, reason, w.Task("o-1").Undelivered[0].Reason)
		require.False(t, w.Task("o-1").AtRest(), reason)
		w.Fail = nil
		w.Clock.Advance(31 * time.Second)
		_, err := w.Supervisor.Sweep(ctx)
		require.NoError(t, err)
		w.Handle(port.Control)
		require.True(t, w.Task("o-1").AtRest(), reason)
		noGap(t, w, "o-1")
	}
}

// P12b: after two weeks, the statuses are given up, and the order comes to rest. Its later statuses are tried
// again.
func TestStatusesAreGivenUp(t *testing.T) {
	w, asked := begun(t)
	w.Fail = func(queue string, m port.Message) error {
		if queue == "shop" {
			return errors.New("rejected")
		}
		return nil
	}
	end(t, w, asked)
	require.False(t, w.Task("o-1").AtRest())
	require.Equal(t, "it refuses the message", w.Task("o-1").Undelivered[0].Reason)
	for range 15 * 24 {
		_, err := w.Supervisor.Sweep(ctx)
		require.NoError(t, err)
		w.Handle(port.Control)
		w.Clock.Advance(time.Hour)
	}
	task := w.Task("o-1")
	require.True(t, task.AtRest())
	require.Equal(t, 2, task.Undelivered[0].First)
	require.Zero(t, task.Undelivered[0].ResendAt)
}
