package operate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/internal/stacktest"
	"github.com/stepkeeper/stepkeeper/shared/awsclient"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/dynamo/dynamotest"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// stores returns the stores for the tests: always memory, and DynamoDB if an endpoint is set.
func stores(t *testing.T, test func(t *testing.T, w *stacktest.Deployment)) {
	t.Run("memory", func(t *testing.T) { test(t, stacktest.New(t, stacktest.Memory())) })
	if os.Getenv(dynamotest.Variable) == "" {
		return // `make test-dynamo` sets it
	}
	t.Run("dynamodb", func(t *testing.T) {
		c := dynamo.NewClient(dynamotest.Config(t, awsclient.Options{}))
		names := dynamotest.Tables(t, c)
		test(t, stacktest.New(t, dynamo.New(c, names.Tables, dynamo.Options{Shards: 2, FinishedIndex: true})))
	})
}

func order(id, workflow, end string) client.Order {
	return client.Order{ID: id, Workflow: workflow, Content: map[string]string{"end": end}}
}

func submit(t *testing.T, c *client.Client, o client.Order) {
	t.Helper()
	got, err := c.Submit(t.Context(), o)
	require.NoError(t, err)
	require.True(t, got.Queued)
	require.Equal(t, o.ID, got.OrderID)
	require.Empty(t, got.State)
}

// started waits until the order is stored: what was sent to a queue takes a moment.
func started(t *testing.T, c *client.Client, id string) {
	t.Helper()
	for _, err := range c.Follow(t.Context(), id) {
		require.NoError(t, err)
		return
	}
	t.Fatalf("the order %s never was there", id)
}

func TestSubmitWaitGet(t *testing.T) {
	stores(t, func(t *testing.T, w *stacktest.Deployment) {
		c := w.Client()
		for id, want := range map[string]core.State{"good": core.Processed, "fail": core.Compensated} {
			submit(t, c, order(id, "order", id))
			x, err := c.Wait(t.Context(), id)
			if err != nil || x.State != want || !x.Ended || len(x.Steps) != 2 || x.Steps[1].Agent != "shop" ||
				x.Steps[1].Operation != "charge" {
				t.Fatalf("%s: %+v %v", id, x, err)
			}
			if got, err := c.Get(t.Context(), id); err != nil || got.State != want || got.ItemBytes < 200 ||
				got.ItemBytes > 1024 || len(got.Messages) < 4 {
				t.Errorf("%+v %v", got, err)
			}
			if text, err := c.Submitted(t.Context(), id); err != nil || string(text) != `{"end":"`+id+`"}` {
				t.Errorf("%s %v", text, err)
			}
		}
		for _, err := range []error{get(t, c, "none"), submitted(t, c, "none"), waited(t, c, "none")} {
			if !errors.Is(err, client.ErrNotFound) {
				t.Error(err)
			}
		}
	})
}

func get(t *testing.T, c *client.Client, id string) error {
	_, err := c.Get(t.Context(), id)
	return err
}
func submitted(t *testing.T, c *client.Client, id string) error {
	_, err := c.Submitted(t.Context(), id)
	return err
}
func waited(t *testing.T, c *client.Client, id string) error {
	_, err := c.Wait(t.Context(), id)
	return err
}

// Bad input gets its error at once, with the same words as from the HTTP edge, and never reaches a queue.
func TestBadInput(t *testing.T) {
	w := stacktest.New(t, stacktest.Memory())
	w.Held.Store(true)
	c := w.Client()
	for code, text := range map[string]string{
		message.CodeNotJSON:      `hello`,
		message.CodeMissing:      `{"schema":1,"workflow":"order","order":{}}`,
		message.CodeInvalid:      `{"schema":1,"orderId":"../x","workflow":"order","order":{}}`,
		message.CodeUnknownField: `{"schema":1,"orderId":"x","workflow":"order","order":{},"colour":1}`,
		message.CodeNewerSchema:  `{"schema":2,"orderId":"x","workflow":"order","order":{}}`,
		message.CodeTooLarge: `{"schema":1,"orderId":"x","workflow":"order","order":"` +
			strings.Repeat("x", port.MaxOrder) + `"}`,
	} {
		var got []client.Result
		err := c.SubmitMany(t.Context(), strings.NewReader(text),
			func(r client.Result) { got = append(got, r) })
		require.NoError(t, err)
		require.Len(t, got, 1, code)
		var e *client.Error
		require.ErrorAs(t, got[0].Err, &e, code)
		require.Equal(t, code, e.Code, text)
		require.False(t, got[0].Accepted, code)
		require.ErrorIs(t, e, client.ErrInvalid, code)
	}
	_, err := c.Submit(t.Context(), order("../x", "order", ""))
	require.ErrorIs(t, err, client.ErrInvalid, "an ID that is a path")
	q, _ := w.Queues.Queue(port.Intake)
	d, err := q.Depth(t.Context())
	require.NoError(t, err)
	require.Equal(t, 0, d.Visible+d.InFlight+d.Delayed)
}

// Many orders go in batches of ten; answers come in the order of the orders.
func TestSubmitMany(t *testing.T) {
	stores(t, func(t *testing.T, w *stacktest.Deployment) {
		const n = 205
		var lines strings.Builder
		for i := range n {
			fmt.Fprintf(&lines, `{"schema":1,"orderId":"o-%d","workflow":"order","order":{}}`+"\n", i)
			if i == 100 {
				lines.WriteString("nonsense\n")
			}
		}
		c := w.Client()
		var ids []string
		bad := 0
		err := c.SubmitMany(t.Context(), strings.NewReader(lines.String()), func(r client.Result) {
			switch {
			case r.Err != nil:
				bad++
			case r.Accepted && r.Queued:
				ids = append(ids, r.OrderID)
			}
		})
		if err != nil || bad != 1 || len(ids) != n {
			t.Fatalf("%d accepted, %d bad, %v", len(ids), bad, err)
		}
		for i, id := range ids {
			if id != fmt.Sprintf("o-%d", i) {
				t.Fatalf("answer %d is of %s", i, id)
			}
			if x, err := c.Wait(t.Context(), id); err != nil || x.State != core.Processed {
				t.Fatalf("%+v %v", x, err)
			}
		}
		listed := 0
		for s, err := range c.List(t.Context(), client.Query{State: core.Processed, PageSize: 50}) {
			if listed++; err != nil || s.State != core.Processed {
				t.Fatal(s, err)
			}
		}
		if listed != n {
			t.Errorf("%d listed", listed)
		}
	})
}

// A refusal that only the deployment can decide is reported to a caller that waits for the order.
func TestRefusedBehindTheQueue(t *testing.T) {
	w := stacktest.New(t, stacktest.Memory())
	w.Parts.Patience = 50 * time.Millisecond
	hasty := w.Client()
	w.Parts.Patience = 0
	c := w.Client() // waits as long as it takes for what does start
	submit(t, hasty, order("lost", "nope", ""))
	var e *client.Error
	err := waited(t, hasty, "lost")
	require.ErrorIs(t, err, client.ErrRefused, "an unknown workflow")
	require.ErrorAs(t, err, &e)
	require.Equal(t, "not-started", e.Code)
	require.ErrorContains(t, err, "quarantine")
	submit(t, c, order("o", "order", ""))
	_, err = c.Wait(t.Context(), "o")
	require.NoError(t, err)
	submit(t, c, order("o", "order", "")) // the same again
	_, err = c.Wait(t.Context(), "o")
	require.NoError(t, err)
	submit(t, c, order("o", "order", "fail"))
	err = waited(t, c, "o")
	require.ErrorIs(t, err, client.ErrRefused)
	require.ErrorAs(t, err, &e)
	require.Equal(t, "other-content", e.Code)
	x, err := w.Client().Wait(t.Context(), "o")
	require.NoError(t, err)
	require.Equal(t, core.Processed, x.State, "who did not send it sees the task as it is")
}

// The client that queued an order waits for its task until the task exists or the context ends.
func TestQueuedAndNotThereYet(t *testing.T) {
	w := stacktest.New(t, stacktest.Memory())
	w.Held.Store(true)
	c := w.Client()
	submit(t, c, order("o", "order", ""))
	require.ErrorIs(t, get(t, c, "o"), client.ErrNotFound)
	short, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err := c.Wait(short, "o")
	require.ErrorIs(t, err, context.DeadlineExceeded, "a wait that was cut short")
	ended := make(chan *client.Task)
	go func() {
		var last *client.Task
		for x, err := range c.Follow(t.Context(), "o") {
			if err != nil {
				t.Error(err)
				break
			}
			if last != nil && x.Version <= last.Version {
				t.Errorf("version %d after %d", x.Version, last.Version)
			}
			last = x
		}
		ended <- last
	}()
	w.Held.Store(false)
	x := <-ended
	require.NotNil(t, x)
	require.Equal(t, core.Processed, x.State)
}

// P5: the verdict is stored in the task, a repeated ID gets the stored verdict, and a refusal is not an
// error.
func TestCommands(t *testing.T) {
	stores(t, func(t *testing.T, w *stacktest.Deployment) {
		c := w.Client()
		w.Broken.Store(true)
		submit(t, c, order("o", "halt", ""))
		x, err := c.Wait(t.Context(), "o")
		if err != nil || x.State != core.Error {
			t.Fatalf("%+v %v", x, err)
		}
		attention := 0
		for s, err := range c.List(t.Context(), client.Query{State: core.Error}) {
			if attention++; err != nil || s.OrderID != "o" || s.Error == nil {
				t.Errorf("%+v %v", s, err)
			}
		}
		if attention != 1 {
			t.Errorf("%d orders in Error are listed", attention)
		}
		if v, err := c.Undo(t.Context(), "o", client.IfCommand(x.Command+7)); err != nil || v.Accepted ||
			v.Reason == "" {
			t.Errorf("a command number that no answer gave: %+v %v", v, err)
		}
		if v, err := c.Resolve(t.Context(), "o", "charge", client.NotHappened,
			client.CommandID("fact")); err != nil || v.ID != "fact" {
			t.Errorf("%+v %v", v, err)
		}
		w.Broken.Store(false)
		first, err := c.Resubmit(t.Context(), "o", client.CommandID("again"))
		if err != nil || !first.Accepted || first.Command != "resubmit" {
			t.Fatalf("%+v %v", first, err)
		}
		if second, err := c.Resubmit(t.Context(), "o", client.CommandID("again")); err != nil ||
			second != first {
			t.Errorf("the same command again: %+v %v, at first %+v", second, err, first)
		}
		if x, err = c.Wait(t.Context(), "o"); err != nil || x.State != core.Processed {
			t.Errorf("%+v %v", x, err)
		}
		if v, err := c.Cancel(t.Context(), "o"); err != nil || v.Accepted {
			t.Errorf("cancel of a processed order: %+v %v", v, err)
		}
		if _, err := c.Undo(t.Context(), "none"); !errors.Is(err, client.ErrNotFound) {
			t.Error(err)
		}
		if _, err := c.Undo(t.Context(), "none", client.IfCommand(1)); !errors.Is(err, client.ErrNotFound) {
			t.Error(err)
		}
		if _, err := c.Resolve(t.Context(), "o", "no step", client.Happened); !errors.Is(err,
			client.ErrInvalid) {
			t.Error(err)
		}
	})
}

// P17: a Cancel before its order leaves a tombstone.
func TestCancel(t *testing.T) {
	stores(t, func(t *testing.T, w *stacktest.Deployment) {
		c := w.Client()
		if v, err := c.Cancel(t.Context(), "early"); err != nil || !v.Accepted {
			t.Fatalf("%+v %v", v, err)
		}
		submit(t, c, order("early", "order", ""))
		if x, err := c.Wait(t.Context(), "early"); err != nil || x.State != core.Cancelled ||
			len(x.Steps) != 0 {
			t.Errorf("%+v %v", x, err)
		}
		submit(t, c, order("running", "order", "never"))
		for x, err := range c.Follow(t.Context(), "running") {
			if err != nil {
				t.Fatal(err)
			}
			if x.Steps[1].State == core.Processing {
				break
			}
		}
		if v, err := c.Cancel(t.Context(), "running"); err != nil || !v.Accepted {
			t.Fatalf("%+v %v", v, err)
		}
		if x, err := c.Wait(t.Context(), "running"); err != nil || x.State != core.Cancelled {
			t.Errorf("%+v %v", x, err)
		}
	})
}

// Who decides sees what it is about, also if the order's content is stored apart from its task.
func TestQuestionOnAStack(t *testing.T) {
	stores(t, func(t *testing.T, w *stacktest.Deployment) {
		c := w.Client()
		for id, end := range map[string]string{"small": "x", "large": strings.Repeat("x", 60_000)} {
			submit(t, c, order(id, "ask", end))
			for x := range c.Follow(t.Context(), id) {
				if x == nil || x.Steps[0].State == core.Waiting {
					break
				}
			}
			x, err := c.Get(t.Context(), id)
			require.NoError(t, err)
			var asked struct {
				Question string
				Show     struct{ End string }
			}
			require.NoError(t, json.Unmarshal(x.Steps[0].Input, &asked), "%s", x.Steps[0].Input)
			require.Equal(t, "May "+id+" go on?", asked.Question, end)
			require.Equal(t, end, asked.Show.End, id)
		}
	})
}

// Answers to a step are sent like commands, through the control queue, and their verdicts are stored in the
// task.
func TestAnswersOnAStack(t *testing.T) {
	stores(t, func(t *testing.T, w *stacktest.Deployment) {
		c := w.Client()
		submit(t, c, order("o", "ask", ""))
		for {
			x, err := c.Get(t.Context(), "o")
			if err == nil && x.Steps[0].State == core.Waiting {
				break
			}
			if err != nil && !errors.Is(err, client.ErrNotFound) {
				t.Fatal(err)
			}
		}
		for _, a := range []struct {
			by, value, id string
			accepted      bool
		}{{"ann", "stay", "a1", false}, {"ann", "go", "a2", true}, {"ann", "halt", "a3", false},
			{"bob", "go", "a4", true}, {"bob", "go", "a4", true}} {
			v, err := c.Answer(t.Context(), "o", client.Reply{Step: "approve", Value: a.value, By: a.by,
				Run: -1}, client.CommandID(a.id))
			if err != nil || v.Accepted != a.accepted || v.ID != a.id || v.Command != "answer" ||
				!v.Accepted && v.Reason == "" {
				t.Errorf("%+v: %+v %v", a, v, err)
			}
		}
		x, err := c.Wait(t.Context(), "o")
		if err != nil || x.State != core.Processed ||
			!strings.Contains(string(x.Steps[0].Output), `"by":"ann, bob"`) {
			t.Errorf("%+v %v", x, err)
		}
	})
}

// forgetful is a store whose records have expired (P26).
type forgetful struct{ aws.Tasks }

func (f forgetful) Load(context.Context, []string) ([]*port.Record, []error) {
	return make([]*port.Record, 1), make([]error, 1)
}

func (f forgetful) Ended(context.Context, string) (bool, error) { return true, nil }

func TestCancelOfAnExpiredOrder(t *testing.T) {
	w := stacktest.New(t, stacktest.Memory())
	c := w.Client()
	submit(t, c, order("o", "order", ""))
	started(t, c, "o")
	w.Parts.Tasks = forgetful{w.Store}
	var e *client.Error
	_, err := w.Client().Cancel(t.Context(), "o")
	require.ErrorAs(t, err, &e)
	require.Equal(t, "expired", e.Code)
	require.ErrorIs(t, err, client.ErrRefused)
}

// A command that gets no reply ends with an error that states this. It can be repeated with the same ID.
func TestNoVerdict(t *testing.T) {
	w := stacktest.New(t, stacktest.Memory())
	patient := w.Client()
	submit(t, patient, order("o", "order", "never"))
	started(t, patient, "o")
	w.Parts.Patience = 40 * time.Millisecond
	c := w.Client()
	w.Held.Store(true)
	var e *client.Error
	if _, err := c.Cancel(t.Context(), "o", client.CommandID("x")); !errors.As(err, &e) ||
		e.Code != "no-verdict" {
		t.Error(err)
	}
	var u *client.Undecided
	short, before := &ending{Context: t.Context(), ended: make(chan struct{})}, waiting(t, w, port.Intake)
	w.Parts.Patience, w.Parts.Tasks = 0, looking{w.Store, func() {
		// the command is queued, and the client looks for its verdict
		if waiting(t, w, port.Intake) > before {
			short.end()
		}
	}}
	_, err := w.Client().Cancel(short, "o", client.CommandID("x"))
	require.ErrorAs(t, err, &u)
	require.True(t, u.Queued)
	require.Equal(t, "x", u.ID)
	require.Equal(t, "o", u.OrderID)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	w.Parts.Tasks = w.Store
	w.Held.Store(false)
	v, err := w.Client().Cancel(t.Context(), "o", client.CommandID("x"))
	require.NoError(t, err)
	require.True(t, v.Accepted)
	require.Equal(t, "x", v.ID)
}

// ending is a context whose deadline passes when the test decides.
type ending struct {
	context.Context
	ended chan struct{}
	once  sync.Once
}

func (e *ending) end() { e.once.Do(func() { close(e.ended) }) }

func (e *ending) Done() <-chan struct{} { return e.ended }

func (e *ending) Err() error {
	select {
	case <-e.ended:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// looking calls the test for each load of a task.
type looking struct {
	aws.Tasks
	looks func()
}

func (l looking) Load(ctx context.Context, ids []string) ([]*port.Record, []error) {
	l.looks()
	return l.Tasks.Load(ctx, ids)
}

// waiting counts the messages of a queue, those in hand included.
func waiting(t *testing.T, w *stacktest.Deployment, queue string) int {
	t.Helper()
	q, err := w.Queues.Queue(queue)
	require.NoError(t, err)
	d, err := q.Depth(t.Context())
	require.NoError(t, err)
	return d.Visible + d.InFlight
}

func TestListsNameWhatTheyLeaveOut(t *testing.T) {
	w := stacktest.New(t, stacktest.Memory())
	require.Empty(t, w.Client().Unlisted())
	w.Parts.Outputs.Finished = false
	require.Contains(t, w.Client().Unlisted(), "ended orders are not listed")
	w.Parts.Tasks = dynamo.New(dynamo.NewClient(nowhere(t)), dynamo.Tables{Orders: "orders"},
		dynamo.Options{})
	var listed []error
	for _, err := range w.Client().List(t.Context(), client.Query{State: core.Processed}) {
		listed = append(listed, err)
	}
	require.Len(t, listed, 1)
	require.ErrorIs(t, listed[0], client.ErrInvalid)
	require.ErrorContains(t, listed[0], "not in the index")
	_, err := w.Client().Workflows(t.Context())
	require.ErrorIs(t, err, client.ErrInvalid)
}

// recorded holds the record of a schedule, and the error of a read.
type recorded struct {
	text string
	err  error
}

func (r recorded) Entry(context.Context, string) (e port.LedgerEntry, err error) {
	if r.text != "" {
		e.Version, e.Output = 1, json.RawMessage(r.text)
	}
	return e, r.err
}

func TestSchedulesOfAStack(t *testing.T) {
	w := stacktest.New(t, stacktest.Memory())
	w.Parts.Outputs.Scheduled = []string{"order"}
	for _, c := range []struct {
		recorded
		want client.Schedule
		is   error
	}{
		{recorded{}, client.Schedule{Workflow: "order"}, nil},
		{recorded{text: `{"cron":"0 6 * * *","overlap":"skip","next":"2026-03-01T06:00:00.000Z","started":3}`},
			client.Schedule{Workflow: "order", Cron: "0 6 * * *", Overlap: "skip", Started: 3,
				Next: time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)}, nil},
		{recorded{text: `{"cron":6}`}, client.Schedule{}, client.ErrInternal},
		{recorded{text: `{"starts":{"at":"today"}}`}, client.Schedule{}, client.ErrInternal},
		{recorded{err: errors.New("the table is gone")}, client.Schedule{}, client.ErrInternal},
	} {
		w.Parts.Schedules = c.recorded
		got, err := w.Client().Schedules(t.Context())
		require.ErrorIs(t, err, c.is)
		if err == nil {
			require.Equal(t, []client.Schedule{c.want}, got)
		}
	}
}

func TestPriorityAndDeadlineTravel(t *testing.T) {
	w := stacktest.New(t, stacktest.Memory())
	c := w.Client()
	o := order("o", "order", "")
	o.Priority, o.Deadline = message.PriorityHigh, time.Now().Add(time.Hour)
	all := slices.Values([]client.Order{o})
	require.NoError(t, c.SubmitAll(t.Context(), all, func(r client.Result) {
		if !r.Queued {
			t.Errorf("%+v", r)
		}
	}))
	x, err := c.Wait(t.Context(), "o")
	require.NoError(t, err)
	require.Equal(t, message.PriorityHigh, x.Priority)
	require.Equal(t, core.TimeOf(o.Deadline), x.Deadline)
}

// If the deployment is set to do so, an order has its tenant's message group already in the intake queue
// (rule 4).
func TestSubmittedOrdersCarryTheirTenant(t *testing.T) {
	for _, fair := range []bool{true, false} {
		queues, err := memory.NewQueues(port.ClockFunc(time.Now),
			// no Scheduler takes from these queues
			[]memory.QueueConfig{{Name: port.Intake}, {Name: port.Control}})
		require.NoError(t, err)
		parts := stacktest.New(t, stacktest.Memory()).Parts.Parts
		parts.Outputs.FairQueues, parts.Queues = fair, queues
		submit(t, aws.Over(parts), order("acme:1001", "order", "good"))
		q, err := queues.Queue(port.Intake)
		require.NoError(t, err)
		want := ""
		if fair {
			want = "acme"
		}
		ds, err := q.Receive(t.Context(), 1, 0, time.Minute)
		require.NoError(t, err)
		require.Len(t, ds, 1)
		require.Equal(t, want, ds[0].Group)
	}
}

// P46: if the intake has another queue for high priority, an order of high priority is sent there, and its
// receipt has no warning that the priority has no effect.
func TestHighPriorityIsSentAsSuch(t *testing.T) {
	for _, high := range []map[string]string{nil, {port.Requests("shop"): "url"}} {
		queues, err := memory.NewQueues(port.ClockFunc(time.Now),
			[]memory.QueueConfig{{Name: port.Intake}, {Name: port.Control}})
		require.NoError(t, err)
		parts := stacktest.New(t, stacktest.Memory()).Parts.Parts
		parts.Outputs.High, parts.Queues = high, queues
		c := aws.Over(parts)
		q, err := queues.Queue(port.Intake)
		require.NoError(t, err)
		for _, priority := range []string{message.PriorityHigh, message.PriorityNormal} {
			o := order("o-"+priority, "order", "good")
			o.Priority = priority
			receipt, err := c.Submit(t.Context(), o)
			require.NoError(t, err)
			require.Equal(t, high == nil && priority == message.PriorityHigh, len(receipt.Notes) > 0)
			ds, err := q.Receive(t.Context(), 1, 0, time.Minute)
			require.NoError(t, err)
			require.Len(t, ds, 1, priority)
			require.Equal(t, priority == message.PriorityHigh, ds[0].High)
		}
	}
}

// P49: an order shows that it runs another definition than the deployed one. The effect of a Move is known if
// the deployed definition is stored.
func TestDeployedDefinition(t *testing.T) {
	w := stacktest.New(t, stacktest.Memory())
	c := w.Client() // only the client that queued an order waits for one that is not stored yet
	submit(t, c, order("fail", "order", "fail"))
	x, err := c.Wait(t.Context(), "fail")
	require.NoError(t, err)
	require.Equal(t, core.Compensated, x.State)
	own, other := x.Definition, strings.Repeat("0", 32)
	for deployed, want := range map[string]string{own: "", other: other} {
		w.Parts.Outputs.Workflows = map[string]string{"Order": deployed}
		if x, err := w.Client().Get(t.Context(), "fail"); err != nil || x.Deployed != want {
			t.Errorf("deployed is %s: %q, %v", deployed, x.Deployed, err)
		}
		p, err := w.Client().PlanMove(t.Context(), "fail", client.Latest)
		if want == "" && (err != nil || p.Definition != own || len(p.Differences) > 0) {
			t.Errorf("%+v %v", p, err)
		}
		d, err2 := w.Client().Definition(t.Context(), "order", client.Latest)
		if want == "" && (err2 != nil || d.Hash != own || d.Workflow != "order" || len(d.Steps) != 2 ||
			d.Steps[1].After[0] != "reserve" || d.Steps[1].Agent != "shop") ||
			want != "" && (!errors.Is(err2, client.ErrNotFound) ||
				!strings.Contains(err2.Error(), "stored with its first order")) {
			t.Errorf("%+v, %v", d, err2)
		}
		if want != "" && (!errors.Is(err, client.ErrInvalid) ||
			!strings.Contains(err.Error(), "no order has run the definition")) {
			t.Errorf("one that is not stored: %+v %v", p, err)
		}
	}
	p, err := w.Client().PlanMoveDocuments(t.Context(), "fail", own)
	require.NoError(t, err)
	require.NotNil(t, p.Documents, "the documents of the order")
	require.Len(t, p.Documents.Definitions, 1)
	require.Contains(t, string(p.Documents.Task), `"fail"`)
	require.NotEmpty(t, p.Documents.Order)
	w.Parts.Outputs.Workflows = nil
	_, err = w.Client().PlanMove(t.Context(), "fail", client.Latest)
	require.ErrorIs(t, err, client.ErrInvalid)
	require.ErrorContains(t, err, "is not deployed in this stack")
	_, err = w.Client().Definition(t.Context(), "halt", own)
	require.ErrorIs(t, err, client.ErrNotFound, "a definition of another workflow")
	_, err = w.Client().PlanMove(t.Context(), "none", own)
	require.ErrorIs(t, err, client.ErrNotFound)
	w.Parts.Definitions = stacktest.Memory()
	_, err = w.Client().PlanMove(t.Context(), "fail", own)
	require.ErrorIs(t, err, client.ErrAnswer, "the order's own definition is not stored")
}
