package operate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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
			require.NoError(t, err, id)
			require.Equal(t, want, x.State, id)
			require.True(t, x.Ended, id)
			require.Len(t, x.Steps, 2, id)
			require.Equal(t, "shop", x.Steps[1].Agent, id)
			require.Equal(t, "charge", x.Steps[1].Operation, id)
			got, err := c.Get(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, want, got.State, id)
			require.GreaterOrEqual(t, len(got.History), 4, id)
			text, err := c.Submitted(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, `{"end":"`+id+`"}`, string(text))
			document, err := c.Document(t.Context(), id)
			require.NoError(t, err)
			require.Contains(t, string(document), `"OrderID":"`+id+`"`)
		}
		for _, err := range []error{second(c.Get(t.Context(), "none")), second(c.Submitted(t.Context(), "none")), second(c.Wait(t.Context(), "none"))} {
			require.ErrorIs(t, err, client.ErrNotFound)
		}
	})
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
		require.NoError(t, err)
		require.Equal(t, 1, bad)
		require.Len(t, ids, n)
		for i, id := range ids {
			require.Equal(t, fmt.Sprintf("o-%d", i), id)
			require.NoError(t, second(c.Wait(t.Context(), id)))
		}
		listed := 0
		for _, err := range c.List(t.Context(), client.Query{State: core.Processed, PageSize: 50}) {
			listed++
			require.NoError(t, err)
		}
		require.Equal(t, n, listed)
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
	err := second(hasty.Wait(t.Context(), "lost"))
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
	err = second(c.Wait(t.Context(), "o"))
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
	require.ErrorIs(t, second(c.Get(t.Context(), "o")), client.ErrNotFound)
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
		require.NoError(t, err)
		require.Equal(t, core.Error, x.State)
		attention := 0
		for s, err := range c.List(t.Context(), client.Query{State: core.Error}) {
			attention++
			require.NoError(t, err)
			require.Equal(t, "o", s.OrderID)
			require.NotNil(t, s.Error)
		}
		require.Equal(t, 1, attention)
		v, err := c.Undo(t.Context(), "o", client.IfCommand(x.Command+7))
		require.NoError(t, err)
		require.False(t, v.Accepted, "a command number that no answer gave")
		require.NotEmpty(t, v.Reason)
		v, err = c.Resolve(t.Context(), "o", "charge", client.NotHappened,
			client.CommandID("fact"))
		require.NoError(t, err)
		require.Equal(t, "fact", v.ID)
		w.Broken.Store(false)
		first, err := c.Resubmit(t.Context(), "o", client.CommandID("again"))
		require.NoError(t, err)
		require.True(t, first.Accepted)
		require.Equal(t, "resubmit", first.Command)
		second, err := c.Resubmit(t.Context(), "o", client.CommandID("again"))
		require.NoError(t, err)
		require.Equal(t, first, second, "the same command again")
		x, err = c.Wait(t.Context(), "o")
		require.NoError(t, err)
		require.Equal(t, core.Processed, x.State)
		v, err = c.Cancel(t.Context(), "o")
		require.NoError(t, err)
		require.False(t, v.Accepted, "cancel of a processed order")
		_, err = c.Undo(t.Context(), "none")
		require.ErrorIs(t, err, client.ErrNotFound)
		_, err = c.Undo(t.Context(), "none", client.IfCommand(1))
		require.ErrorIs(t, err, client.ErrNotFound)
		_, err = c.Resolve(t.Context(), "o", "no step", client.Happened)
		require.ErrorIs(t, err, client.ErrInvalid)
	})
}

// P17: a Cancel before its order leaves a tombstone.
func TestCancel(t *testing.T) {
	stores(t, func(t *testing.T, w *stacktest.Deployment) {
		c := w.Client()
		v, err := c.Cancel(t.Context(), "early")
		require.NoError(t, err)
		require.True(t, v.Accepted)
		submit(t, c, order("early", "order", ""))
		x, err := c.Wait(t.Context(), "early")
		require.NoError(t, err)
		require.Equal(t, core.Cancelled, x.State)
		require.Empty(t, x.Steps)
		submit(t, c, order("running", "order", "never"))
		for x, err := range c.Follow(t.Context(), "running") {
			require.NoError(t, err)
			if x.Steps[1].State == core.Processing {
				break
			}
		}
		v, err = c.Cancel(t.Context(), "running")
		require.NoError(t, err)
		require.True(t, v.Accepted)
		x, err = c.Wait(t.Context(), "running")
		require.NoError(t, err)
		require.Equal(t, core.Cancelled, x.State)
	})
}

// Who decides sees what it is about, also if the order's content is stored apart from its task. Answers are sent like
// commands, and their verdicts are stored in the task.
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
		for _, a := range []struct {
			by, value, id string
			accepted      bool
		}{
			{"ann", "stay", "a1", false},
			{"ann", "go", "a2", true},
			{"ann", "halt", "a3", false},
			{"bob", "go", "a4", true},
			{"bob", "go", "a4", true},
		} {
			v, err := c.Answer(t.Context(), "small", client.Reply{
				Step: "approve", Value: a.value, By: a.by,
				Run: -1,
			}, client.CommandID(a.id))
			require.NoError(t, err)
			require.Equal(t, a.accepted, v.Accepted)
			require.Equal(t, a.id, v.ID)
			require.Equal(t, "answer", v.Command)
			if !v.Accepted {
				require.NotEmpty(t, v.Reason)
			}
		}
		x, err := c.Wait(t.Context(), "small")
		require.NoError(t, err)
		require.Equal(t, core.Processed, x.State)
		require.Contains(t, string(x.Steps[0].Output), `"by":"ann, bob"`)
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
	_, err := c.Cancel(t.Context(), "o", client.CommandID("x"))
	require.ErrorAs(t, err, &e)
	require.Equal(t, "no-verdict", e.Code)
	var u *client.Undecided
	short := &ending{Context: t.Context(), ended: make(chan struct{})}
	before := waiting(t, w, port.Intake)
	w.Parts.Patience, w.Parts.Tasks = 0, looking{w.Store, func() {
		// the command is queued, and the client looks for its verdict
		if waiting(t, w, port.Intake) > before {
			short.end()
		}
	}}
	_, err = w.Client().Cancel(short, "o", client.CommandID("x"))
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
		e.Version = 1
		e.Output = json.RawMessage(r.text)
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
		{
			recorded{text: `{"cron":"0 6 * * *","overlap":"skip","next":"2026-03-01T06:00:00.000Z","started":3}`},
			client.Schedule{
				Workflow: "order", Cron: "0 6 * * *", Overlap: "skip", Started: 3,
				Next: core.TimeOf(time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)),
			},
			nil,
		},
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

// If the deployment is set to do so, an order has its tenant's message group already in the intake queue (rule 4). P46:
// if the intake has another queue for high priority, an order of high priority is sent there, and its receipt has no
// warning that the priority has no effect.
func TestMessagesOfTheIntake(t *testing.T) {
	for _, c := range []struct {
		fair     bool
		high     map[string]string
		priority string
		group    string
		notes    int
	}{
		{fair: true, priority: message.PriorityNormal, group: "acme"},
		{priority: message.PriorityNormal},
		{priority: message.PriorityHigh, notes: 1},
		{high: map[string]string{port.Requests("shop"): "url"}, priority: message.PriorityNormal},
		{high: map[string]string{port.Requests("shop"): "url"}, priority: message.PriorityHigh},
	} {
		queues, err := memory.NewQueues(port.ClockFunc(time.Now),
			// no Scheduler takes from these queues
			[]memory.QueueConfig{{Name: port.Intake}, {Name: port.Control}})
		require.NoError(t, err)
		parts := stacktest.New(t, stacktest.Memory()).Parts.Parts
		parts.Outputs.FairQueues = c.fair
		parts.Outputs.High = c.high
		parts.Queues = queues
		o := order("acme:1001", "order", "good")
		o.Priority = c.priority
		receipt, err := aws.Over(parts).Submit(t.Context(), o)
		require.NoError(t, err)
		require.Len(t, receipt.Notes, c.notes, "%+v", c)
		q, err := queues.Queue(port.Intake)
		require.NoError(t, err)
		ds, err := q.Receive(t.Context(), 1, 0, time.Minute)
		require.NoError(t, err)
		require.Len(t, ds, 1)
		require.Equal(t, c.group, ds[0].Group, "%+v", c)
		require.Equal(t, c.priority == message.PriorityHigh, ds[0].High, "%+v", c)
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
	own := x.Definition
	other := strings.Repeat("0", 32)
	t.Run("its own definition is deployed", func(t *testing.T) {
		w.Parts.Outputs.Workflows = map[string]string{"Order": own}
		x, err := w.Client().Get(t.Context(), "fail")
		require.NoError(t, err)
		require.Empty(t, x.Deployed)
		p, err := w.Client().PlanMove(t.Context(), "fail", client.Latest)
		require.NoError(t, err)
		require.Equal(t, own, p.Definition)
		require.Empty(t, p.Differences)
		d, err := w.Client().Definition(t.Context(), "order", client.Latest)
		require.NoError(t, err)
		require.Equal(t, own, d.Hash)
		require.Equal(t, "order", d.Workflow)
		require.Len(t, d.Steps, 2)
		require.Equal(t, "reserve", d.Steps[1].After[0])
		require.Equal(t, "shop", d.Steps[1].Agent)
	})
	t.Run("another definition is deployed, and no order has run it", func(t *testing.T) {
		w.Parts.Outputs.Workflows = map[string]string{"Order": other}
		x, err := w.Client().Get(t.Context(), "fail")
		require.NoError(t, err)
		require.Equal(t, other, x.Deployed)
		_, err = w.Client().PlanMove(t.Context(), "fail", client.Latest)
		require.ErrorIs(t, err, client.ErrInvalid)
		require.ErrorContains(t, err, "no order has run the definition")
		_, err = w.Client().Definition(t.Context(), "order", client.Latest)
		require.ErrorIs(t, err, client.ErrNotFound)
		require.ErrorContains(t, err, "stored with its first order")
	})
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
	require.ErrorIs(t, err, client.ErrInvalid, "the order's own definition is not stored")
}

// The orders that were set aside are listed alone, though their documents can be read again.
func TestDamagedOrdersAreListed(t *testing.T) {
	stores(t, func(t *testing.T, w *stacktest.Deployment) {
		c := w.Client()
		ctx := t.Context()
		for _, id := range []string{"bad", "good"} {
			submit(t, c, order(id, "ask", ""))
			started(t, c, id)
		}
		records, errs := w.Store.Load(t.Context(), []string{"bad"})
		require.NoError(t, errs[0])
		require.NoError(t, w.Store.Place(t.Context(), "bad", records[0].Version, port.DamagedBucket, time.Now()))
		require.EventuallyWithT(t, func(t *assert.CollectT) {
			var found []string
			for s, err := range c.List(ctx, client.Query{Damaged: true}) {
				require.NoError(t, err)
				require.NotEmpty(t, s.Damaged)
				found = append(found, s.OrderID)
			}
			require.Equal(t, []string{"bad"}, found)
		}, 10*time.Second, 10*time.Millisecond)
	})
}
