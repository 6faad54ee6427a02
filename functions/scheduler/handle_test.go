package scheduler_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
)

var ctx = actorstest.Context

// deliver makes deliveries of values. Their receipts are r0, r1 and so on.
func deliver(values ...port.Value) []port.Delivery {
	ds := make([]port.Delivery, len(values))
	for i, v := range values {
		ds[i] = port.Delivery{
			Message: port.Message{Value: v}, ID: fmt.Sprintf("m%d", i),
			Receipt: fmt.Sprintf("r%d", i), Received: 1,
		}
	}
	return ds
}

// again returns the deliveries as they are redelivered if they were not deleted.
func again(ds []port.Delivery) []port.Delivery {
	ds = slices.Clone(ds)
	for i := range ds {
		ds[i].Received++
	}
	return ds
}

// requests takes the requests to the agents from their queues.
func requests(t *testing.T, w *actorstest.World) map[string]*message.Request {
	t.Helper()
	asked := map[string]*message.Request{}
	// in any order: it fills a map
	for agent := range w.Def.Agents {
		for _, d := range w.Take(port.Requests(agent)) {
			r, err := message.Of[message.Request](d)
			require.NoError(t, err)
			asked[fmt.Sprintf("%s %s/%d %s", r.OrderID, r.Step, r.Attempt, r.Operation)] = r
		}
	}
	return asked
}

func names(asked map[string]*message.Request) string {
	var all []string
	for _, k := range []string{"o-1 a/1 do", "o-1 b/1 do", "o-1 c/1 do", "o-1 a/2 do"} {
		if asked[k] != nil {
			all = append(all, k[4:])
		}
	}
	return strings.Join(all, ", ")
}

func begun(t *testing.T) (*actorstest.World, map[string]*message.Request) {
	t.Helper()
	return begunWith(t, func(*message.SubmitOrder) {})
}

func begunWith(t *testing.T, change func(*message.SubmitOrder)) (*actorstest.World, map[string]*message.Request) {
	t.Helper()
	w := actorstest.New(t, actorstest.Definition()).Boot()
	o := actorstest.Order("o-1")
	change(o)
	require.Empty(t, w.Scheduler.Handle(ctx, port.Intake, deliver(o)), "the order came back")
	return w, requests(t, w)
}

// begunInBacklog is begun in a Scheduler that knows a long wait, so that the next replies' waits count in full.
func begunInBacklog(t *testing.T) (*actorstest.World, map[string]*message.Request) {
	t.Helper()
	w, asked := begun(t)
	w.Config = inBacklog
	w.Kill()
	return w, asked
}

func inBacklog(c *scheduler.Config) {
	c.Waits = &scheduler.Waits{}
	long := scheduler.QueueTime{Least: core.Day, Before: core.Day}
	c.Waits.Set(map[string]scheduler.QueueTime{"agent-a": long, "agent-b": long})
}

// bomb is an expression that panics for one order.
type bomb struct{ core.Expressions }

func (b bomb) Value(part core.Part, step int, env core.Environment) (json.RawMessage, error) {
	if env.OrderID == "o-bomb" {
		panic("boom")
	}
	return b.Expressions.Value(part, step, env)
}

func TestOneBadMessageAffectsNoOther(t *testing.T) {
	def := actorstest.Definition()
	w := actorstest.New(t, def)
	def.Expr = bomb{def.Expr}
	w.Boot()
	body := func(text string) port.Delivery {
		return port.Delivery{Message: port.Message{Body: []byte(text)}}
	}
	ds := []port.Delivery{
		deliver(actorstest.Order("o-1"))[0],
		body(`{"schema":1,`),
		deliver(actorstest.Order("o-bomb"))[0],
		body(`{"schema":2,"orderId":"o-9"}`),
		deliver((*message.SubmitOrder)(nil))[0],
		body(`{"schema":1,"orderId":"o-x","replyTo":"shop","workflow":"order","order":1,"extra":1}`),
		body(`{"schema":1,"orderId":"o-y","workflow":"missing","order":1,"replyTo":"shop"}`),
		body(`{"schema":1,"orderId":"o-z","workflow":"missing","order":1}`),
		body(`{"schema":1,"orderId":"o-w","workflow":"order","order":1,"replyTo":"elsewhere"}`),
		deliver(actorstest.Order("o-2"))[0],
	}
	for i := range ds {
		ds[i].ID = fmt.Sprintf("m%d", i)
		ds[i].Receipt = fmt.Sprintf("r%d", i)
	}
	failed := w.Scheduler.Handle(ctx, port.Intake, ds)
	if strings.Join(failed, " ") != "r2 r3" { // the bomb, and the newer schema
		t.Errorf("returned: %v", failed)
	}
	for _, id := range []string{"o-1", "o-2"} {
		task := w.Task(id)
		require.NotNil(t, task, id)
		require.Equal(t, core.Processing, task.ProcessState, id)
	}
	require.Nil(t, w.Task("o-bomb"), "half of a decision was stored")
	quarantined := map[string]*message.Quarantined{}
	for _, d := range w.Take(port.Quarantine) {
		q := d.Value.(*message.Quarantined)
		quarantined[q.ID] = q
	}
	for id, part := range map[string]string{
		"m1": "not JSON", "m4": "panicked", "m7": "no workflow",
		"m8": "no reply-to",
	} {
		q := quarantined[id]
		require.NotNil(t, q, id)
		require.Contains(t, q.Reason, part, id)
		require.Equal(t, port.Intake, q.Queue, id)
	}
	require.Len(t, quarantined, 4)
	require.NotZero(t, w.Counts["quarantined: intake"])
	w.Listen()
	refused := map[string]string{}
	for _, s := range w.Unnumber {
		if s.Kind == core.StatusRefused {
			refused[s.OrderID] = s.Code
		}
	}
	require.Len(t, refused, 2)
	require.Equal(t, message.CodeUnknownField, refused["o-x"])
	require.Equal(t, message.CodeUnknownWorkflow, refused["o-y"])
}

func TestUnreadableRepliesAndCommands(t *testing.T) {
	w, asked := begun(t)
	good, _ := actorstest.Done(asked["o-1 a/1 do"]).Encode()
	for _, queue := range []string{port.Replies, port.Control} {
		ds := []port.Delivery{
			{Message: port.Message{Body: []byte(`{"schema":1}`)}, Receipt: "bad"},
			{Message: port.Message{Body: []byte(`{"schema":7}`)}, Receipt: "newer"},
		}
		if queue == port.Replies {
			ds = append(ds, port.Delivery{Message: port.Message{Body: good}, Receipt: "good"})
		}
		failed := w.Scheduler.Handle(ctx, queue, ds)
		require.Equal(t, []string{"newer"}, failed, queue)
		require.Len(t, w.Take(port.Quarantine), 1, queue)
	}
	require.Equal(t, core.Processed, w.Task("o-1").Step("a").State, "the good reply was lost")
	require.Len(t, w.Scheduler.Handle(ctx, "elsewhere", deliver(actorstest.Order("o-2"))), 1)
	require.Equal(t, 1, w.Counts["returned: elsewhere"])
}

// Replies for unknown tasks, replies that are ahead of the document (P8), and forged ones.
func TestRepliesThatDoNotFit(t *testing.T) {
	w, asked := begun(t)
	other := actorstest.Done(asked["o-1 a/1 do"])
	other.OrderID = "o-unknown"
	ahead := actorstest.Done(asked["o-1 a/1 do"])
	ahead.Attempt = 9
	nowhere := actorstest.Done(asked["o-1 a/1 do"])
	nowhere.Step = "z"
	before := w.Task("o-1").Version
	failed := w.Scheduler.Handle(ctx, port.Replies, deliver(other, ahead, nowhere))
	require.Equal(t, "r1", strings.Join(failed, " "))
	require.Equal(t, before, w.Task("o-1").Version)
	require.Nil(t, w.Task("o-unknown"))
	require.Equal(t, 1, w.Counts["ignored: no such task"])
}

// interfering lets another Scheduler commit between our load and our commit.
type interfering struct {
	*memory.Store
	before func()
}

func (s *interfering) Commit(ctx context.Context, writes []port.Write) []error {
	if f := s.before; f != nil {
		s.before = nil
		f()
	}
	return s.Store.Commit(ctx, writes)
}

// P8: of two Schedulers at once, the one whose commit is refused loads the task again and decides on the new
// version.
func TestLostCommitIsDecidedAgain(t *testing.T) {
	for _, cached := range []int{0, 10} {
		w, asked := begun(t)
		store := &interfering{Store: w.Store}
		other := w.SchedulerOn(store, cached, "other")
		require.Empty(t,
			other.Handle(ctx, port.Control, deliver(&message.Control{OrderID: "o-1", Event: core.Settle{}})))
		store.before = func() {
			require.Empty(t, w.Scheduler.Handle(ctx, port.Replies, deliver(actorstest.Done(asked["o-1 a/1 do"]))))
		}
		before := w.Task("o-1").Version
		require.Empty(t, other.Handle(ctx, port.Replies, deliver(actorstest.Done(asked["o-1 b/1 do"]))))
		task := w.Task("o-1")
		require.Equal(t, before+2, task.Version)
		require.Equal(t, core.Processing, task.Step("c").State)
		require.Equal(t, "other", task.Step("c").Claim.By)
		require.Equal(t, "c/1 do", names(requests(t, w)))
	}
}

// P14: two Schedulers create the same order at once.
func TestLostCreateIsTheSameOrder(t *testing.T) {
	w := actorstest.New(t, actorstest.Definition()).Boot()
	store := &interfering{Store: w.Store}
	other := w.SchedulerOn(store, 10, "other")
	spaced := actorstest.Order("o-1")
	spaced.Order = json.RawMessage(`{"total":12.5}`) // the same content, other bytes
	store.before = func() { w.Scheduler.Handle(ctx, port.Intake, deliver(actorstest.Order("o-1"))) }
	require.Empty(t, other.Handle(ctx, port.Intake, deliver(spaced)))
	require.Equal(t, int64(1), w.Task("o-1").Version)
	w.Agents() // fails where a request was emitted with other bytes (P12)
}

// flaky fails to raise the first alert.
type flaky struct {
	*actorstest.World
	tried *bool
}

func (f flaky) Raise(ctx context.Context, a core.RaiseAlert) error {
	if !*f.tried {
		*f.tried = true
		return errors.New("no topic")
	}
	return f.World.Raise(ctx, a)
}

// P28, P12a: an undo whose request no queue takes stops its order. The message that led to it raises the alert
// until the end is settled.
func TestUndoTooLargeForItsQueue(t *testing.T) {
	def := actorstest.Definition()
	def.Steps[1].Undo.Retry.MaxFailures = 1
	w := actorstest.New(t, def)
	w.Config = func(c *scheduler.Config) { c.Alerts = flaky{w, new(bool)} }
	w.Boot()
	o := actorstest.Order("o-1")
	o.Order = json.RawMessage(`"` + strings.Repeat("x", 5000) + `"`)
	w.Scheduler.Handle(ctx, port.Intake, deliver(o))
	w.Limit = 4000
	led := deliver(actorstest.Failed(requests(t, w)["o-1 b/1 do"], "no"))
	for _, want := range []struct{ returned, alerts int }{{1, 0}, {0, 2}, {0, 2}} { // the message and its follow-up
		failed := w.Scheduler.Handle(ctx, port.Replies, led)
		require.Len(t, failed, want.returned, "%v", want)
		require.Len(t, w.Alerts, want.alerts, "%v", want)
		led = again(led)
	}
	task := w.Task("o-1")
	require.Equal(t, core.Error, task.ProcessState)
	require.Equal(t, "input-too-large", task.Step("b").Error.Code)
}

func TestStatusTooLargeIsReportedWithoutItsOutput(t *testing.T) {
	def := actorstest.Definition()
	def.Output = json.RawMessage(`["${ steps.a.output }","${ steps.b.output }","${ steps.c.output }"]`)
	w := actorstest.New(t, def).Boot()
	w.Scheduler.Handle(ctx, port.Intake, deliver(actorstest.Order("o-1")))
	asked := requests(t, w)
	for _, step := range []string{"a", "b", "c"} {
		r := actorstest.Done(asked["o-1 "+step+"/1 do"])
		r.Output = json.RawMessage(`"` + strings.Repeat("x", 1500) + `"`)
		if step == "c" {
			w.Limit = 4000
		} else {
			w.Limit = 0
		}
		require.Empty(t, w.Scheduler.Handle(ctx, port.Replies, deliver(r)), step)
		maps.Copy(asked, requests(t, w))
	}
	w.Listen()
	task := w.Task("o-1")
	s := w.FinalStatus("o-1")
	require.Zero(t, task.End.ResendAt)
	require.Contains(t, s,
		`"output-too-large","message":"the output is too large for a message; look the order up by its ID"`)
	require.NotContains(t, s, "xxx")
}

// P9a: a Wake is sent with the delay of the wait and the slack; past 900 s the Supervisor sends it.
func TestDelayOfWakes(t *testing.T) {
	for _, c := range []struct {
		after core.Duration
		sent  bool
	}{{core.Minute, true}, {20 * core.Minute, false}} {
		w, asked := begun(t)
		r := actorstest.Later(asked["o-1 a/1 do"])
		r.RetryAfter = c.after
		require.Empty(t, w.Scheduler.Handle(ctx, port.Replies, deliver(r)))
		depth, _ := w.Control().Depth(ctx)
		require.Equal(t, c.sent, depth.Delayed == 1, "%v", c.after)
		require.LessOrEqual(t, depth.Visible, 0, "%v", c.after)
		w.Clock.Advance(c.after.Std())
		require.Empty(t, w.Take(port.Control), "%v", c.after)
		w.Clock.Advance(time.Second)
		require.Equal(t, c.sent, len(w.Take(port.Control)) == 1, "%v", c.after)
	}
}

// P32: the time that a reply waits for the Scheduler counts as time in a queue too. The time of a reply that
// was returned to the queue before is not used, and neither is that of a queue that reports no time.
func TestWaitsOfRepliesAreLearnt(t *testing.T) {
	for name, c := range map[string]struct {
		received int
		sent     bool
		want     core.Duration
	}{
		"once":         {1, true, 2 * 150 * core.Second},
		"returned":     {2, true, 2 * 100 * core.Second},
		"without time": {1, false, 2 * 100 * core.Second},
	} {
		w, asked := begunInBacklog(t)
		r := actorstest.Later(asked["o-1 a/1 do"])
		r.Waited = 100 * core.Second
		w.Clock.Advance(100 * time.Second)
		ds := deliver(r)
		ds[0].Received = c.received
		if c.sent {
			ds[0].SentAt = w.Clock.Now()
		}
		w.Clock.Advance(50 * time.Second)
		w.Scheduler.Handle(ctx, port.Replies, ds)
		require.Equal(t, c.want, allowed(t, w, w.Scheduler, "o-2"), name)
		require.Equal(t, 20*core.Second, w.Task("o-2").Step("b").Claim.Allowance, name)
	}
}

// P32: work on an unreadable message does not count as queue wait of the reply behind it.
func TestWorkOnABatchIsNoQueueWait(t *testing.T) {
	w, asked := begun(t)
	config := w.SchedulerConfig(w.NewState(w.Store, 0), "s")
	config.Waits = &scheduler.Waits{}
	config.Count = func(string, string) { w.Clock.Advance(10 * time.Second) }
	w.Clock.Advance(100 * time.Second)
	ds := deliver(nil, actorstest.Done(asked["o-1 a/1 do"]))
	ds[0].Body = []byte("{")
	ds[1].SentAt = w.Clock.Now()
	w.Clock.Advance(3 * time.Second)
	require.Empty(t, scheduler.New(config).Handle(ctx, port.Replies, ds))
	require.Len(t, w.Take(port.Quarantine), 1)
	require.Equal(t, 3*core.Second, config.Waits.All()["agent-a"].Least)
}

// P28, P32: the decision on a request that no queue takes is like the others: its claims use the known queue
// waits.
func TestWaitsCountWhereARequestIsTooLarge(t *testing.T) {
	w, asked := begunInBacklog(t)
	w.Clock.Advance(100 * time.Second)
	taught := false
	w.Fail = func(queue string, _ port.Message) error {
		if queue != port.Requests("agent-a") {
			return nil
		}
		if !taught {
			taught = true
			r := actorstest.Later(asked["o-1 b/1 do"])
			r.Waited = 100 * core.Second
			require.Empty(t, w.Scheduler.Handle(ctx, port.Replies, deliver(r)), "returned")
		}
		return port.ErrTooLarge
	}
	require.Empty(t, w.Scheduler.Handle(ctx, port.Intake, deliver(actorstest.Order("o-2"))))
	b := w.Task("o-2").Step("b")
	require.Equal(t, core.Compensating, b.State)
	require.Equal(t, 200*core.Second, b.Claim.Allowance)
}

// allowed submits another order, and returns how long its requests to agent-a may wait.
func allowed(t *testing.T, w *actorstest.World, s *scheduler.Scheduler, id string) core.Duration {
	t.Helper()
	require.Equal(t, "stored", answerOf(s.Submit(ctx, []message.SubmitOrder{*actorstest.Order(id)})[0]))
	return w.Task(id).Step("a").Claim.Allowance
}

// P32: a queue wait is learnt only from an accepted reply of the current attempt. It is at most the time
// since the request was made, and is halved after each minute.
func TestWhatTeachesWaits(t *testing.T) {
	waited := func(r *message.Reply, d core.Duration) *message.Reply { r.Waited = d; return r }
	send := func(t *testing.T, w *actorstest.World, values ...port.Value) {
		t.Helper()
		require.Empty(t, w.Scheduler.Handle(ctx, port.Replies, deliver(values...)))
	}
	t.Run("more than is possible", func(t *testing.T) {
		w, asked := begunInBacklog(t)
		w.Clock.Advance(100 * time.Second)
		send(t, w, waited(actorstest.Later(asked["o-1 a/1 do"]), core.Day))
		for i, want := range []core.Duration{
			200 * core.Second, 100 * core.Second, 50 * core.Second,
			25 * core.Second, 20 * core.Second,
		} {
			require.Equal(t, want, allowed(t, w, w.Scheduler, fmt.Sprintf("o-1%d", i)), "%v", i)
			w.Clock.Advance(time.Minute)
		}
	})
	t.Run("a copy, and an older attempt", func(t *testing.T) {
		w, asked := begunInBacklog(t)
		send(t, w, waited(actorstest.Later(asked["o-1 a/1 do"]), 0))
		w.Clock.Advance(100 * time.Second)
		send(t, w, waited(actorstest.Later(asked["o-1 a/1 do"]), core.Day))
		require.Equal(t, 20*core.Second, allowed(t, w, w.Scheduler, "o-2"))
		failed := w.Scheduler.Handle(ctx, port.Control,
			deliver(&message.Control{OrderID: "o-1", Event: core.Wake{Step: "a", Attempt: 1}}))
		require.Empty(t, failed)
		require.Equal(t, 2, w.Task("o-1").Step("a").Attempt)
		w.Clock.Advance(100 * time.Second)
		send(t, w, waited(actorstest.Done(asked["o-1 a/1 do"]), core.Day))
		require.Equal(t, 20*core.Second, allowed(t, w, w.Scheduler, "o-3"))
		require.Equal(t, core.Processed, w.Task("o-1").Step("a").State)
	})
	t.Run("a request that a restart has sent again", func(t *testing.T) {
		w, _ := begun(t)
		require.Equal(t, 20*core.Second, allowed(t, w, w.Scheduler, "o-2"))
		w.Config = func(c *scheduler.Config) {
			inBacklog(c)
			c.QueuesSince = core.TimeOf(w.Clock.Now())
		}
		w.Clock.Advance(100 * time.Second)
		w.Kill()
		send(t, w, waited(actorstest.Later(requests(t, w)["o-2 a/1 do"]), 100*core.Second))
		require.Equal(t, 20*core.Second, allowed(t, w, w.Scheduler, "o-3"), "no process ran for 100 s")
		w.Clock.Advance(60 * time.Second)
		send(t, w, waited(actorstest.Later(requests(t, w)["o-3 a/1 do"]), 60*core.Second))
		require.Equal(t, 120*core.Second, allowed(t, w, w.Scheduler, "o-4"), "made as soon as there were queues")
	})
	t.Run("one that is returned to the queue", func(t *testing.T) {
		w, asked := begunInBacklog(t)
		s := w.SchedulerOn(&actorstest.Faulty{Store: w.Store, FailCommit: actorstest.OnCall(1, port.ErrUnavailable)}, 0,
			"other")
		w.Clock.Advance(100 * time.Second)
		require.Len(t, s.Handle(ctx, port.Replies, deliver(waited(actorstest.Later(asked["o-1 a/1 do"]), core.Day))), 1)
		require.Equal(t, 20*core.Second, allowed(t, w, s, "o-2"))
	})
}

// end brings o-1 to Processed.
func end(t *testing.T, w *actorstest.World, asked map[string]*message.Request) []string {
	t.Helper()
	w.Scheduler.Handle(ctx, port.Replies,
		deliver(actorstest.Done(asked["o-1 a/1 do"]), actorstest.Done(asked["o-1 b/1 do"])))
	return w.Scheduler.Handle(ctx, port.Replies, deliver(actorstest.Done(requests(t, w)["o-1 c/1 do"])))
}

// P11: a Scheduler settles an end if it has sent all reports of it. Otherwise the message comes again.
func TestSettleOnlyWhatWasReportedHere(t *testing.T) {
	w, asked := begun(t)
	require.Empty(t, end(t, w, asked))
	task := w.Task("o-1")
	require.Zero(t, task.End.ResendAt)
	require.Zero(t, task.Due)
	require.True(t, task.AtRest(), "reported, but not settled: %+v", task)

	w, asked = begun(t)
	w.Fail = func(queue string, m port.Message) error { // the process dies before it sends the final status
		if s, ok := m.Value.(*message.Status); ok && s.Kind == core.StatusCompleted {
			panic("killed")
		}
		return nil
	}
	require.Panics(t, func() { end(t, w, asked) })
	w.Fail = nil
	task = w.Task("o-1")
	require.Equal(t, core.Processed, task.ProcessState)
	require.NotZero(t, task.End.ResendAt)
	require.NotZero(t, task.Due)
	// H27: a redelivered Submit is no reason to settle, Settle is.
	w.Boot().Scheduler.Handle(ctx, port.Intake, deliver(actorstest.Order("o-1")))
	require.NotZero(t, w.Task("o-1").End.ResendAt, "a Submit settled what it did not report")
	w.Scheduler.Handle(ctx, port.Control,
		deliver(&message.Control{OrderID: "o-1", Event: core.Settle{}}))
	w.Listen()
	require.Zero(t, w.Task("o-1").End.ResendAt)
	require.NotEmpty(t, w.FinalStatus("o-1"))
}

// P12b: a reply-to that the operator removed from the list cannot be notified, but the order ends all the same.
// If the reply-to comes back, it gets everything.
func TestReplyToThatIsGone(t *testing.T) {
	w := actorstest.New(t, actorstest.Definition()).Boot()
	w.Scheduler.Handle(ctx, port.Intake, deliver(actorstest.Order("o-1")))
	w.Gone = "shop"
	require.Empty(t, end(t, w, requests(t, w)))
	task := w.Task("o-1")
	require.Equal(t, core.Processed, task.ProcessState)
	require.Len(t, task.Undelivered, 1)
	require.Equal(t, "shop", task.Undelivered[0].ReplyTo)
	require.Equal(t, 2, task.Undelivered[0].First, "the first status that was not sent is step-finished")
	require.NotZero(t, w.Counts["status not sent: shop"], "%v", w.Counts)
	w.Gone = ""
	w.Scheduler.Handle(ctx, port.Control, deliver(&message.Control{OrderID: "o-1", Event: core.Settle{}}))
	require.Empty(t, w.Task("o-1").Undelivered)
	require.Equal(t, []int{0, 1, 2, 3, 4, 5}, numbers(t, w))
}

// Submit returns the result of each order at its index, when all that the stored orders send is sent. A refusal names
// the field that is wrong.
func TestSubmit(t *testing.T) {
	w, _ := begun(t)
	w.Scheduler.Submit(ctx, []message.SubmitOrder{*actorstest.Order("o-2"), *actorstest.Order("o-0")})
	w.Send(port.Replies, failure("o-2"))
	w.Handle(port.Replies) // o-2 is being undone
	require.NoError(t, w.Store.Forget(ctx, []string{"o-0"}))
	for range 2 { // P17, H18: a Cancel that comes first keeps its order from running
		v, err := w.Scheduler.Command(ctx, message.Control{
			OrderID: "o-9", Event: core.Command{Name: core.Cancel, ID: "c-1"},
		})
		require.NoError(t, err)
		require.True(t, v.Accepted)
		require.Equal(t, "c-1", v.ID)
	}
	requests(t, w)
	now := core.TimeOf(w.Clock.Now())
	var orders []message.SubmitOrder
	var want []string
	submit := func(id, result string, change func(*message.SubmitOrder)) {
		o := actorstest.Order(id)
		change(o)
		orders = append(orders, *o)
		want = append(want, id+" "+result)
	}
	as := func(*message.SubmitOrder) {}
	submit("../o", "refused  invalid-field orderId", as)
	submit("o-3", "stored Processing", as)
	submit("o-4", "refused  unknown-workflow workflow", func(o *message.SubmitOrder) { o.Workflow = "missing" })
	submit("o-2", "known Compensating", as)
	submit("../o", "refused  invalid-field orderId", as)
	submit("o-1", "refused Processing other-content ", func(o *message.SubmitOrder) { o.Order = json.RawMessage(`1`) })
	submit("o-1", "known Processing", as)
	submit("o-3", "known Processing", as)
	submit("o-6", "refused  unknown-reply-to replyTo", func(o *message.SubmitOrder) { o.ReplyTo = "elsewhere" })
	submit("o-0", "refused  expired orderId", as)
	submit("o-7", "refused  deadline-passed deadline", func(o *message.SubmitOrder) { o.Deadline = now })
	submit("o-8", "stored Processing", func(o *message.SubmitOrder) { o.Deadline = now + 1 })
	submit("o-9", "known Cancelled", as)
	submit("o-5", "unavailable ", as)
	w.Fail = func(_ string, m port.Message) error {
		if r, ok := m.Value.(*message.Request); ok && r.OrderID == "o-5" {
			return port.ErrUnavailable
		}
		return nil
	}
	results := w.SchedulerOn(w.Store, 0, "other").Submit(ctx, orders)
	for i, r := range results {
		got := fmt.Sprintf("%s %s %s", r.OrderID, answerOf(r), r.State)
		if r.Refusal != nil {
			got += fmt.Sprintf(" %s %s", r.Refusal.Code, r.Refusal.Field)
			require.GreaterOrEqual(t, len(r.Refusal.Text), 40)
			require.NotContains(t, r.Refusal.Text, "%!")
		}
		require.Equal(t, want[i], got)
	}
	require.Contains(t, results[10].Refusal.Text, now.String())
	require.Equal(t, now+1, w.Task("o-8").Deadline.At)
	require.Len(t, requests(t, w), 4, "the requests of o-3 and o-8 were not sent before Submit returned")
	require.Empty(t, w.Take(port.Quarantine))
	require.Equal(t, 2, w.Counts["refused: invalid-field"])
	require.Equal(t, 1, w.Counts["refused: unknown-workflow"])
	require.Equal(t, 1, w.Counts["refused: other-content"])
	w.Refuse = "shop" // the status of a refusal cannot be sent
	require.Equal(t, "unavailable", answerOf(w.Scheduler.Submit(ctx, orders[2:3])[0]))
	w.Dead = true
	require.Equal(t, "unavailable", answerOf(w.Scheduler.Submit(ctx, orders[1:2])[0]))
}

func TestCommandsThatCannotBe(t *testing.T) {
	w, _ := begun(t)
	w.Scheduler.Submit(ctx, []message.SubmitOrder{*actorstest.Order("o-0")})
	require.NoError(t, w.Store.Forget(ctx, []string{"o-0"}))
	w.Boot()
	for _, c := range []struct {
		control message.Control
		code    string
	}{
		{message.Control{OrderID: "o-9", Event: core.Command{Name: core.UndoCommand, ID: "c"}}, "unknown-task"},
		{message.Control{OrderID: "o-0", Event: core.Command{Name: core.Cancel, ID: "c"}}, message.CodeExpired},
		{message.Control{OrderID: "o-1", Event: core.Wake{}}, "invalid-field"},
		{message.Control{OrderID: "o-1", Event: core.Command{Name: core.Cancel}}, "invalid-field"},
	} {
		_, err := w.Scheduler.Command(ctx, c.control)
		var r *core.Refusal
		require.ErrorAs(t, err, &r, "%v", c.control)
		require.Equal(t, c.code, r.Code, "%v", c.control)
	}
	v, err := w.Scheduler.Command(ctx, message.Control{
		OrderID: "o-1",
		Event:   core.Command{Name: core.UndoCommand, ID: "c-2", Number: 7},
	})
	require.NoError(t, err)
	require.False(t, v.Accepted, "%+v %v", v, err)
	require.NotEmpty(t, v.Reason)
	if stored := w.Task("o-1").Commands.Verdicts; len(stored) != 1 || stored[0].ID != "c-2" { // P5
		t.Errorf("verdicts: %+v", stored)
	}
	w.Scheduler.Handle(ctx, port.Control,
		deliver(&message.Control{OrderID: "o-9", Event: core.Command{Name: core.UndoCommand, ID: "c"}}))
	require.Len(t, w.Take(port.Quarantine), 1)
}

// P27: queues that died with their process are filled again from the documents.
func TestRestartEmitsAgain(t *testing.T) {
	def := actorstest.Definition()
	w := actorstest.New(t, def).Boot()
	w.Send(port.Intake, actorstest.Order("o-1"), actorstest.Order("o-2"), actorstest.Order("o-3"))
	w.Handle(port.Intake)
	asked := requests(t, w) // lost
	w.Scheduler.Handle(ctx, port.Replies,
		deliver(actorstest.Later(asked["o-2 a/1 do"]), actorstest.Done(asked["o-2 b/1 do"])))
	w.Scheduler.Handle(ctx, port.Replies,
		deliver(actorstest.Done(asked["o-3 a/1 do"]), actorstest.Done(asked["o-3 b/1 do"])))
	last := deliver(actorstest.Done(requests(t, w)["o-3 c/1 do"]))
	w.Fail = func(queue string, m port.Message) error { panic("killed") } // the end stays unreported
	require.Panics(t, func() { w.Scheduler.Handle(ctx, port.Replies, last) })
	w.Fail = nil
	w.Take("shop")
	w.Clock.Advance(3 * time.Second)
	w.Take(port.Control)

	w.Boot()
	n, err := w.Scheduler.Restart(ctx)
	require.Equal(t, 3, n)
	require.NoError(t, err)
	again := requests(t, w)
	for _, k := range []string{"o-1 a/1 do", "o-1 b/1 do"} {
		require.NotNil(t, again[k], k)
		x, _ := asked[k].Encode()
		y, _ := again[k].Encode()
		require.Equal(t, string(y), string(x))
	}
	require.Len(t, again, 2)
	s := w.Take("shop")
	require.NotEmpty(t, s)
	require.Equal(t, core.StatusCompleted, s[len(s)-1].Value.(*message.Status).Kind)
	w.Clock.Advance(2 * time.Second)
	c := w.Take(port.Control)
	require.Len(t, c, 1)
	require.Equal(t, "o-2", c[0].Value.(*message.Control).OrderID)
}

// numbers takes the statuses of the reply-to, and returns their numbers.
func numbers(t *testing.T, w *actorstest.World) (all []int) {
	t.Helper()
	for _, s := range statuses(t, w, "shop") {
		all = append(all, s.Seq)
	}
	return all
}

// answerOf returns the result of a submission as one word.
func answerOf(r scheduler.SubmitResult) string {
	switch {
	case r.Err != nil:
		return "unavailable"
	case r.Refusal != nil:
		return "refused"
	case r.Known:
		return "known"
	}
	return "stored"
}
