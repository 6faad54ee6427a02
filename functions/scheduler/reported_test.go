package scheduler_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/internal/actorstest"
	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

func body(text string) port.Delivery {
	return port.Delivery{Message: port.Message{Body: []byte(text)}, ID: "m0", Receipt: "r0", Received: 1}
}

// statuses takes the status messages from the queue of a reply-to.
func statuses(t *testing.T, w *actorstest.World, queue string) (all []core.Status) {
	t.Helper()
	for _, d := range w.Take(queue) {
		s, err := message.Of[message.Status](d)
		require.NoError(t, err)
		all = append(all, s.Status)
	}
	return all
}

// logged lets the world's Scheduler write its log as it does on Lambda.
func logged(t *testing.T, w *actorstest.World) *awsstub.Log {
	t.Helper()
	log := awsstub.NewLog(t)
	w.Config = func(c *scheduler.Config) { c.Logger = log.Logger }
	w.Boot()
	return log
}

// Invariant 19: a refusal is sent to its sender or kept for the operator, or its message comes again: while the queue
// takes no message, and while it is not known whether the reply-to exists. An answer without a receiver is kept too.
func TestRefusalThatCannotBeSentComesBack(t *testing.T) {
	const order = `{"schema":1,"orderId":"o-2","replyTo":"shop","workflow":"order","order":1}`
	missing := strings.Replace(order, `"workflow":"order"`, `"workflow":"missing"`, 1)
	const undo = `{"schema":1,"kind":"undo","task":"o-9","id":"c-1"}`
	const kept = "quarantined m0"
	fails := func(reason error) func(*actorstest.World, string) {
		return func(w *actorstest.World, queue string) {
			w.Fail = func(q string, _ port.Message) error {
				if q == queue {
					return reason
				}
				return nil
			}
		}
	}
	faults := map[string]func(*actorstest.World, string){
		"full": fails(port.ErrUnavailable), "gone": fails(port.ErrNotFound),
		"unknown": func(w *actorstest.World, _ string) { w.Outage = true },
	}
	for _, c := range []struct {
		name, faults, queue, body, to, want string
	}{
		{
			"unreadable", "full unknown gone", port.Intake, strings.Replace(order, "}", `,"extra":1}`, 1), "shop",
			"refused unknown-field",
		},
		{"no workflow", "full unknown gone", port.Intake, missing, "shop", "refused unknown-workflow"},
		{
			"other content", "full unknown", port.Intake, strings.Replace(order, "o-2", "o-1", 1), "shop",
			"refused other-content",
		},
		{"new", "unknown", port.Intake, order, "shop", "received "},
		{"cancelled before", "unknown", port.Intake, strings.Replace(order, "o-2", "o-0", 1), "shop", "cancelled "},
		{
			"no workflow, no reply-to", "full", port.Intake, strings.Replace(missing, `"replyTo":"shop",`, "", 1),
			port.Quarantine, kept,
		},
		{"unreadable, no reply-to", "full", port.Intake, `{`, port.Quarantine, kept},
		{"reply", "full", port.Replies, `{`, port.Quarantine, kept},
		{
			"command of no order", "full unknown", port.Control, strings.Replace(undo, "}", `,"replyTo":"desk"}`, 1),
			"desk", "command-refused unknown-task",
		},
		{"command of no order, no reply-to", "full", port.Control, undo, port.Quarantine, kept},
		{
			"command", "full unknown", port.Control, strings.Replace(undo, "o-9", "o-1", 1), "shop",
			"command-refused refused",
		},
	} {
		for _, fault := range strings.Fields(c.faults) {
			t.Run(c.name+", "+fault, func(t *testing.T) {
				w, _ := begun(t)
				_, err := w.Scheduler.Command(ctx, message.Control{
					OrderID: "o-0", Event: core.Command{Name: core.Cancel, ID: "c-0"},
				})
				require.NoError(t, err)
				w.Take("shop")
				faults[fault](w, c.to)
				ds := []port.Delivery{body(c.body)}
				failed := w.Scheduler.Handle(ctx, c.queue, ds)
				if fault == "gone" {
					require.Empty(t, failed)
					require.Len(t, w.Take(port.Quarantine), 1)
					return
				}
				require.Len(t, failed, 1, "its message was deleted")
				require.Nil(t, w.Task("o-2"))
				w.Fail = nil
				w.Outage = false
				for range 2 { // a redelivery is answered again
					require.Empty(t, w.Scheduler.Handle(ctx, c.queue, again(ds)))
					require.Equal(t, c.want, sent(t, w, c.to)[0])
				}
				require.Empty(t, w.Take(port.Quarantine))
			})
		}
	}
}

// sent takes the messages from a reply-to or from quarantine, and returns each as two words.
func sent(t *testing.T, w *actorstest.World, queue string) (all []string) {
	t.Helper()
	for _, d := range w.Take(queue) {
		if q, ok := d.Value.(*message.Quarantined); ok {
			all = append(all, "quarantined "+q.ID)
			continue
		}
		s, err := message.Of[message.Status](d)
		require.NoError(t, err)
		all = append(all, fmt.Sprintf("%s %s", s.Kind, s.Code))
	}
	require.NotEmpty(t, all)
	return all
}

// panicky panics when one reply-to is looked up.
type panicky struct{ port.Queues }

func (q panicky) ReplyTo(name string) (port.Sender, error) {
	if name == "panics" {
		panic("a faulty adapter")
	}
	return q.Queues.ReplyTo(name)
}

// A panic while a sender is notified affects only that message.
func TestAPanicInAnAnswerConcernsItsMessage(t *testing.T) {
	w, _ := begun(t)
	config := w.SchedulerConfig(w.NewState(w.Store, 0), "faulty")
	config.Queues = panicky{config.Queues}
	bad := body(`{"schema":1,"orderId":"o-7","replyTo":"panics","workflow":"missing","order":1}`)
	good := body(`{"schema":1,"orderId":"o-8","replyTo":"shop","workflow":"order","order":1}`)
	good.Receipt = "r-good"
	failed := scheduler.New(config).Handle(ctx, port.Intake, []port.Delivery{bad, good})
	require.Equal(t, []string{bad.Receipt}, failed)
	require.NotNil(t, w.Task("o-8"), "the other order of the batch is not stored")
}

// unknownQueue finds no queue.
type unknownQueue struct{ port.Queues }

func (unknownQueue) Queue(string) (port.Queue, error) { return nil, port.ErrUnavailable }

// An answer that cannot be sent again stays in its queue.
func TestAnEarlyAnswerWithoutAQueueComesBack(t *testing.T) {
	w := actorstest.New(t, approving()).Boot()
	config := w.SchedulerConfig(w.NewState(w.Store, 0), "cut off")
	config.Queues = unknownQueue{config.Queues}
	panics := port.Panics()
	failed := scheduler.New(config).Handle(ctx, port.Control, deliver(answer("x-1", "yes")))
	require.Len(t, failed, 1)
	require.Equal(t, panics, port.Panics())
}

// The sender of an order over 64 KiB is notified if it can be read. The quarantine has the hash of the order.
func TestOrderThatIsTooLargeIsAnswered(t *testing.T) {
	content := `"` + strings.Repeat("x", port.MaxOrder) + `"`
	for _, c := range []struct {
		name, body string
		reported   bool
	}{
		{"with a reply-to", `{"schema":1,"workflow":"order","order":` + content +
			`,"orderId":"o-2","replyTo":"shop"}`, true},
		{"without one", `{"schema":1,"workflow":"order","order":` + content + `,"orderId":"o-2"}`, false},
		{"with one that is not deployed", `{"schema":1,"workflow":"order","order":` + content +
			`,"orderId":"o-2","replyTo":"elsewhere"}`, false},
		{"without an ID", `{"schema":1,"workflow":"order","order":` + content + `,"replyTo":"shop"}`, false},
		{"no JSON", `{"orderId":"o-2","replyTo":"shop","order":` + content, false},
		{"nested deep", `{"orderId":"o-2","replyTo":"shop","order":` + strings.Repeat("[", port.MaxOrder) +
			strings.Repeat("]", port.MaxOrder) + `}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := actorstest.New(t, actorstest.Definition()).Boot()
			require.Empty(t, w.Scheduler.Handle(ctx, port.Intake, []port.Delivery{body(c.body)}))
			all := statuses(t, w, "shop")
			if reported := len(all) == 1 && all[0].Kind == core.StatusRefused &&
				all[0].Code == message.CodeTooLarge && all[0].OrderID == "o-2"; reported != c.reported ||
				!c.reported && len(all) > 0 {
				t.Errorf("reported: %+v", all)
			}
			kept := w.Take(port.Quarantine)
			require.Len(t, kept, 1)
			sum := sha256.Sum256([]byte(c.body))
			q := kept[0].Value.(*message.Quarantined)
			require.Equal(t, hex.EncodeToString(sum[:]), q.SHA256)
			require.Equal(t, c.body[:40_000], string(q.Body))
			require.Equal(t, "m0", q.ID)
			require.Equal(t, core.TimeOf(w.Clock.Now()), q.At)
			require.Nil(t, w.Task("o-2"))
		})
	}
}

// P5: the refusal of a command that came through the queue is sent to the reply-to that it names,
// else to that of its order; a direct one has its answer.
func TestRefusedCommandIsReported(t *testing.T) {
	w, _ := begun(t)
	w.Take("shop")
	command := func(id, replyTo string) message.Control {
		return message.Control{OrderID: "o-1", ReplyTo: replyTo, Event: core.Command{
			Name: core.Resolve, ID: id, Number: 7, Step: "a", Fact: core.Happened,
		}}
	}
	for id, replyTo := range map[string]string{"c-1": "", "c-2": "desk", "c-3": "elsewhere"} {
		c := command(id, replyTo)
		require.Empty(t, w.Scheduler.Handle(ctx, port.Control, deliver(&c)))
	}
	_, err := w.Scheduler.Command(ctx, command("c-4", ""))
	require.NoError(t, err)
	accepted := message.Control{OrderID: "o-1", ReplyTo: "desk", Event: core.Command{Name: core.Cancel, ID: "c-5"}}
	require.Empty(t, w.Scheduler.Handle(ctx, port.Control, deliver(&accepted)))
	for queue, id := range map[string]string{"shop": "c-1", "desk": "c-2"} {
		v := w.Task("o-1").Verdict(id)
		require.NotEmpty(t, v.Reason)
		require.Equal(t, []core.Status{{
			Kind: core.StatusCommandRefused, OrderID: "o-1", Workflow: "order", At: core.TimeOf(w.Clock.Now()),
			Command: "resolve", CommandID: id, Code: "refused", Message: v.Reason,
		}}, statuses(t, w, queue))
	}
	require.Empty(t, w.Take(port.Quarantine))
}

// P14: an order that was accepted stays accepted, whatever has become of its deadline, its workflow
// and its reply-to; also by an instance that has never seen it.
func TestAcceptedOrderStaysAccepted(t *testing.T) {
	for name, change := range map[string]func(*actorstest.World, *message.SubmitOrder){
		"the deadline passes": func(w *actorstest.World, _ *message.SubmitOrder) {
			w.Clock.Advance(2 * time.Hour)
		},
		"the workflow is taken away": func(w *actorstest.World, _ *message.SubmitOrder) { w.Def.Name = "another" },
		"the reply-to is taken away": func(w *actorstest.World, _ *message.SubmitOrder) { w.Gone = "shop" },
	} {
		for _, cached := range []int{0, 10} {
			t.Run(fmt.Sprintf("%s, cache %d", name, cached), func(t *testing.T) {
				w := actorstest.New(t, actorstest.Definition())
				w.CacheFor = cached
				w.Boot()
				o := actorstest.Order("o-1")
				o.Deadline = core.TimeOf(w.Clock.Now().Add(time.Hour))
				require.Equal(t, "stored", answerOf(w.Scheduler.Submit(ctx, []message.SubmitOrder{*o})[0]))
				first := requests(t, w)
				change(w, o)
				for received := 1; received <= 2; received++ {
					r := w.Scheduler.Submit(ctx, []message.SubmitOrder{*o})[0]
					require.Equal(t, "known", answerOf(r))
					require.Equal(t, core.Processing, r.State)
					ds := deliver(o)
					ds[0].Received = received
					require.Empty(t, w.Scheduler.Handle(ctx, port.Intake, ds))
					require.Len(t, requests(t, w), len(first)*(received-1), "%v", received)
					w.Boot()
				}
				for _, s := range statuses(t, w, "shop") {
					require.NotEqual(t, core.StatusRefused, s.Kind, "%v", s)
				}
			})
		}
	}
}

// A priority has no effect, and its sender is notified.
func TestPriorityHasNoEffectAndSaysSo(t *testing.T) {
	for priority, want := range map[string]bool{"": false, "normal": false, "high": true} {
		w := actorstest.New(t, actorstest.Definition()).Boot()
		o := actorstest.Order("o-1")
		o.Priority = priority
		r := w.Scheduler.Submit(ctx, []message.SubmitOrder{*o, *o})
		status := statuses(t, w, "shop")[0]
		for _, notes := range [][]string{r[0].Notes, r[1].Notes, status.Notes} {
			require.Equal(t, want, len(notes) == 1 && strings.Contains(notes[0], "priority"), "%v %v", priority, notes)
		}
		require.Equal(t, core.StatusReceived, status.Kind)
		require.NotEqual(t, "normal", w.Task("o-1").Priority)
	}
	w := actorstest.New(t, actorstest.Definition())
	w.Config = func(c *scheduler.Config) { c.Priorities = true }
	o := actorstest.Order("o-1")
	o.Priority = "high"
	require.Nil(t, w.Boot().Scheduler.Submit(ctx, []message.SubmitOrder{*o})[0].Notes)
	require.Nil(t, statuses(t, w, "shop")[0].Notes)
	for _, d := range w.Take(port.Requests("agent-a")) {
		require.True(t, d.High, "its request is like any other")
	}
	w = actorstest.New(t, actorstest.Definition()).Boot()
	o.Workflow = "missing"
	r := w.Scheduler.Submit(ctx, []message.SubmitOrder{*o})[0]
	require.Equal(t, "refused", answerOf(r))
	require.Nil(t, r.Notes)
}

// P8: a message that is ahead of the document stays in its queue. The log shows this, and names the step.
func TestWhatIsAheadIsLoggedAndCounted(t *testing.T) {
	w, asked := begun(t)
	log := logged(t, w)
	reply := actorstest.Done(asked["o-1 a/1 do"])
	reply.Attempt = 9
	later := actorstest.Done(asked["o-1 a/1 do"])
	later.Run = 3
	for i, d := range []struct {
		queue string
		value port.Value
		want  map[string]any
	}{
		{port.Replies, reply, map[string]any{"step": "a", "run": 0.0, "attempt": 9.0}},
		{port.Replies, later, map[string]any{"step": "a", "run": 3.0, "attempt": 1.0}},
		{
			port.Control, &message.Control{OrderID: "o-1", Event: core.Wake{Step: "b", Attempt: 5}},
			map[string]any{"step": "b", "run": 0.0, "attempt": 5.0},
		},
		{
			port.Control, &message.Control{OrderID: "o-1", Event: core.Command{Name: core.Cancel, ID: "c", Run: 2}},
			map[string]any{"run": 2.0},
		},
	} {
		log.Lines()
		require.Len(t, w.Scheduler.Handle(ctx, d.queue, deliver(d.value)), 1)
		require.Equal(t, i+1, w.Counts["returned: ahead of the document"], "%v", i)
		line := awsstub.About(t, log.Lines(), "ahead of the stored task")
		require.Equal(t, "o-1 WARN", fmt.Sprint(line["order"], " ", line["level"]))
		for k, v := range d.want {
			require.Equal(t, v, line[k], "%v", i)
		}
	}
}

// While the quarantine takes nothing, an unreadable message comes again, and the log does not say that it is there.
func TestQuarantineThatTakesNothing(t *testing.T) {
	w, _ := begun(t)
	log := logged(t, w)
	w.Fail = func(queue string, _ port.Message) error {
		return map[bool]error{true: port.ErrUnavailable}[queue == port.Quarantine]
	}
	require.Len(t, w.Scheduler.Handle(ctx, port.Intake, []port.Delivery{body(`{`)}), 1)
	require.Zero(t, w.Counts["quarantined: intake"])
	for _, l := range log.Lines() {
		require.NotEqual(t, "message put into quarantine", l["message"])
	}
}

// A line of the log about a message names its task, and the run, step and attempt, as far as they can be
// read.
func TestLogNamesWhatAMessageIsOf(t *testing.T) {
	w, _ := begun(t)
	log := logged(t, w)
	w.Scheduler.Handle(ctx, port.Replies, []port.Delivery{body(`{"schema":1,"task":"o-1","run":0,"step":"a","attempt":9,"operation":"do","outcome":"done","waited":0}`)})
	w.Scheduler.Handle(ctx, port.Intake, []port.Delivery{
		body(`{"schema":1,"orderId":"o-x","workflow":"missing","order":1}`),
		body(`{"schema":1,"orderId":"o-y","workflow":"order","order":1,"extra":1}`), body(`{`),
	})
	got := map[string]bool{}
	for _, l := range log.Lines() {
		got[fmt.Sprint(l["message"], " ", l["order"], " ", l["run"], " ", l["step"], " ",
			l["attempt"])] = true
	}
	for _, want := range []string{
		"message returned to its queue o-1 0 a 9", "message put into quarantine o-x <nil> <nil> <nil>",
		"message put into quarantine o-y <nil> <nil> <nil>",
		"message put into quarantine <nil> <nil> <nil> <nil>",
	} {
		require.True(t, got[want], want)
	}
}
