package integration

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws/operate"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

func TestOrderIsProcessed(t *testing.T) {
	s := on(t, localstack)
	t.Parallel()
	o := s.newOrder(t, "order").submit()
	end := o.notified("completed", soon)
	for _, kind := range []string{"received", "started", "step-finished"} {
		o.notified(kind, soon)
	}
	require.GreaterOrEqual(t, len(s.remote.of(o.id, "")), 4)
	require.Len(t, end.Steps, 4)
	o.oneKeyPerStep()
	k := o.task()
	for _, field := range []struct {
		name      string
		got, want any
	}{
		{"k.OrderID", k.OrderID, o.id},
		{"k.ProcessState", k.ProcessState, core.Processed},
		{"the step", k.Step("book-shipment").State, core.Processed},
	} {
		require.Equal(t, field.want, field.got, field.name)
	}
	// Each status but the first has a number, by which the application puts them in order.
	for _, st := range o.statuses() {
		if st.Kind != "received" && st.Seq == 0 {
			t.Errorf("no number: %+v", st)
		}
	}
}

func TestRefusedCallUndoesTheOrder(t *testing.T) {
	s := on(t, localstack)
	t.Parallel()
	o := s.newOrder(t, "order")
	s.remote.on(o.id, "charge-payment", "do", func(int, call) (int, string) { return refused() })
	o.submit()
	o.notified("undone", soon)
	names := map[string]int{}
	for _, c := range s.remote.of(o.id, "") {
		names[c.name]++
	}
	// P7: the refused charge is undone too; what was never attempted is not.
	require.NotZero(t, names["release"])
	require.NotZero(t, names["refund"])
	require.LessOrEqual(t, names["book"], 0)
	require.LessOrEqual(t, names["confirm"], 0)
	require.EqualValues(t, "Compensated", o.task().ProcessState)
}

// alerted waits for the alert of an order, on the topic's queue.
func (o *order) alerted() alert {
	o.t.Helper()
	var found alert
	o.until(soon, "alert", func() bool {
		for _, body := range o.s.alerts.all() {
			if strings.Contains(body, o.id) {
				require.NoError(o.t, json.Unmarshal([]byte(body), &found), body)
				return true
			}
		}
		return false
	})
	return found
}

type alert struct {
	OrderID string `json:"orderId"`
	Step    string `json:"step"`
	Code    string `json:"code"`
	Run     int    `json:"run"`
	Command int    `json:"command"`

	Kind       string   `json:"kind"`
	Deployment string   `json:"deployment"`
	Commands   []string `json:"commands"`
}

// The operator is alerted, removes the cause, and resubmits: the order goes on with the step that
// failed.
func TestResubmittedOrderContinuesAfterItsAlert(t *testing.T) {
	s := on(t, localstack)
	t.Parallel()
	o := s.newOrder(t, "stopping")
	s.remote.on(o.id, "settle", "do", func(n int, _ call) (int, string) {
		if n == 1 {
			return taken() // an incident of its own
		}
		return done()
	})
	o.submit()
	o.notified("failed", soon)
	a := o.alerted()
	require.Len(t, a.Commands, 5)
	for _, field := range []struct {
		name      string
		got, want any
	}{
		{"a.Step", a.Step, "settle"},
		{"a.Code", a.Code, "taken"},
		{"a.Kind", a.Kind, "first"},
		{"a.Deployment is empty", a.Deployment == "", false},
		{
			"a.Commands[1] resubmits the order",
			strings.Contains(a.Commands[1], "--stack "+a.Deployment+" resubmit "+o.id), true,
		},
		{"o.task().ProcessState", o.task().ProcessState, core.Error},
	} {
		require.Equal(t, field.want, field.got, field.name)
	}
	s.send(t, "Control",
		fmt.Sprintf(`{"schema":1,"kind":"resubmit","task":%q,"id":"resubmit-%s","command":%d}`, o.id, o.id,
			a.Command))
	o.notified("completed", soon)
	o.oneKeyPerStep()
}

// P46: while a flood waits for an agent that is busy, an order of high priority goes through.
func TestHighPriorityPassesAFlood(t *testing.T) {
	s := on(t, localstack)
	t.Parallel()
	passed := make(chan struct{})
	flood := make([]*order, 15)
	for i := range flood {
		flood[i] = s.newOrder(t, "writing")
		s.remote.on(flood[i].id, "write", "do", func(int, call) (int, string) {
			select {
			case <-passed:
			case <-time.After(3 * visibility * time.Second): // the test has failed
			}
			return done()
		})
		flood[i].submit()
	}
	waitFor(t, "call of the flood", func() bool { return len(s.remote.of(flood[0].id, "write")) > 0 })
	c, err := operate.OpenWith(t.Context(), s.config, s.assembly.Stack)
	require.NoError(t, err)
	o := s.newOrder(t, "writing")
	receipt, err := c.Submit(t.Context(), client.Order{
		ID: o.id, Workflow: "writing", Priority: "high",
		ReplyTo: "shop", Content: json.RawMessage(o.content()),
	})
	require.NoError(t, err)
	require.Empty(t, receipt.Notes)
	o.notified("completed", soon)
	called := 0
	for _, f := range flood {
		called += len(s.remote.of(f.id, "write"))
		require.False(t, slices.ContainsFunc(f.statuses(), func(st status) bool { return st.Kind == "completed" }), f.id)
	}
	require.NotEqual(t, len(flood), called)
	close(passed)
	for _, f := range flood {
		f.notified("completed", 3*soon)
	}
}

// An order has a child order for each of three items, and then one more, which its service refuses. All of
// them are undone.
func TestRefusedChildUndoesAllChildren(t *testing.T) {
	s := on(t, localstack)
	t.Parallel()
	o := s.newOrder(t, "family")
	o.body = strings.Replace(o.body, `"items":[`, `"items":[{"sku":"A"},{"sku":"B"},`, 1)
	child := o.id + "~one~0"
	s.remote.on(child, "settle", "do", func(int, call) (int, string) { return refused() })
	o.submit()
	end := o.notified("undone", 2*soon)
	require.EqualValues(t, "Compensated", o.task().ProcessState)
	require.Equal(t, "declined", end.Code)
	for _, id := range []string{o.id + "~each~0", o.id + "~each~1", o.id + "~each~2"} {
		var operations []string
		for _, c := range s.remote.of(id, "settle") {
			operations = append(operations, c.operation)
		}
		require.Equal(t, []string{"do", "undo"}, operations, id)
	}
}

// A workflow with a schedule starts by itself; its orders end, and the stack lists them.
func TestScheduleStartsOrders(t *testing.T) {
	s := on(t, localstack)
	t.Parallel()
	c, err := operate.OpenWith(t.Context(), s.config, s.assembly.Stack)
	require.NoError(t, err)
	var started client.ScheduledStart
	waitFor(t, "start by the clock", func() bool {
		all, err := c.Schedules(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.Equal(t, "ticking", all[0].Workflow)
		if all[0].Started > 0 {
			started = all[0].Starts[0]
		}
		return started.Sent
	})
	require.Equal(t, "ticking-"+started.At.Std().UTC().Format("20060102T150405Z"), started.OrderID)
	require.Zero(t, started.At.Std().Second())
	waitFor(t, "end of the order", func() bool {
		order, err := c.Get(t.Context(), started.OrderID)
		if err != nil && !errors.Is(err, client.ErrNotFound) { // it may be in the intake queue still
			t.Fatal(err)
		}
		return err == nil && order.State == "Processed"
	})
	order, err := c.Submitted(t.Context(), started.OrderID)
	require.NoError(t, err)
	require.Equal(t, `{"from":"clock","scheduledTime":"`+
		started.At.Std().UTC().Format(time.RFC3339)+`"}`, string(order))
}

// A token that was sent answers its step, and nothing else does.
func TestTokenAnswersOnlyItsStep(t *testing.T) {
	s := on(t, localstack)
	t.Parallel()
	c, err := operate.OpenWith(t.Context(), s.config, s.assembly.Stack)
	require.NoError(t, err)
	o := s.newOrder(t, "linking").submit()
	var sent struct{ Token string }
	o.until(soon, "question", func() bool {
		order, err := c.Get(t.Context(), o.id)
		if err != nil && !errors.Is(err, client.ErrNotFound) {
			t.Fatal(err)
		}
		return err == nil && order.Steps[1].State == "Waiting" && order.Steps[0].State == "Processed"
	})
	require.NoError(t, json.Unmarshal([]byte(s.remote.of(o.id, "approve-ask")[0].input), &sent))
	require.NotEmpty(t, sent.Token)
	v, err := c.Answer(t.Context(), o.id, client.Reply{
		Step: "approve", Value: "go", By: "bob",
		Run: -1,
	})
	require.NoError(t, err)
	require.False(t, v.Accepted, "by bob: %+v %v", v, err)
	s.cli(t, "", ok, []string{"answer", o.id, "go", "--token", sent.Token}, "accepted")
	o.notified("completed", soon)
	end, err := c.Get(t.Context(), o.id)
	require.NoError(t, err)
	require.Contains(t, string(end.Steps[1].Output), `"by":"ann"`)
}

// found waits for a message with a text in a queue.
func (s *site) found(t *testing.T, queue string, has func(body string) bool) string {
	t.Helper()
	url := s.url(t, queue)
	var body string
	waitFor(t, "message in "+queue, func() bool {
		for _, m := range receive(t.Context(), s.sqs, url, 1) {
			if has(*m.Body) {
				body = *m.Body
				_, _ = s.sqs.DeleteMessage(t.Context(),
					&sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: m.ReceiptHandle})
				return true
			}
			// Another test's: it shall be seen again at once.
			_, _ = s.sqs.ChangeMessageVisibility(t.Context(),
				&sqs.ChangeMessageVisibilityInput{QueueUrl: &url, ReceiptHandle: m.ReceiptHandle})
		}
		return false
	})
	return body
}

// A message of a newer program is returned to the queue and never touched, until SQS puts it aside.
func TestNewerMessageBecomesADeadLetter(t *testing.T) {
	s := on(t, localstack)
	t.Parallel()
	o := s.newOrder(t, "order")
	newer := strings.Replace(o.body, `"schema":1`, `"schema":2`, 1)
	s.send(t, "Intake", newer)
	got := s.found(t, "IntakeDead",
		func(body string) bool { return strings.Contains(body, o.id) })
	require.Equal(t, newer, got)
	require.Equal(t, "{}", o.item(), "something was written")
}

// Rule 7: what cannot be read goes into quarantine with its reason, out of every queue; the
// other messages are processed.
func TestUnreadableMessageIsQuarantined(t *testing.T) {
	s := on(t, localstack)
	t.Parallel()
	for queue, name := range map[string]string{
		"Intake": "intake", "Replies": "replies", "Control": "control",
		"RequestsInventory": "requests-inventory", "RequestsPayment": "requests-payment",
		"RequestsShipping": "requests-shipping", "RequestsNotification": "requests-notification",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			poison := "{ this is no message: " + t.Name()
			s.send(t, queue, poison)
			body := s.found(t, "Quarantine", func(body string) bool {
				return strings.Contains(body, base64.StdEncoding.EncodeToString([]byte(poison)))
			})
			var q struct{ Queue, Reason, SHA256 string }
			require.NoError(t, json.Unmarshal([]byte(body), &q))
			require.Equal(t, name, q.Queue)
			require.NotEmpty(t, q.Reason)
			require.Len(t, q.SHA256, 64)
			waitFor(t, "empty queue", func() bool { return s.depth(t, queue) == 0 })
			if n := s.depth(t, queue+"Dead"); n > 0 {
				for _, m := range receive(t.Context(), s.sqs, s.url(t, queue+"Dead"), 0) {
					require.NotEqual(t, poison, *m.Body)
				}
			}
		})
	}
}

// depth is how many messages a queue holds, those in flight included. Delayed ones, as the Wake of a parent
// that waits for its children, belong to other tests.
func (s *site) depth(t *testing.T, queue string) int {
	t.Helper()
	out, err := s.sqs.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: aws.String(s.url(t, queue)),
		AttributeNames: attributeNames("ApproximateNumberOfMessages",
			"ApproximateNumberOfMessagesNotVisible"),
	})
	require.NoError(t, err)
	total := 0
	for _, value := range out.Attributes {
		var n int
		_, err := fmt.Sscan(value, &n)
		require.NoError(t, err)
		total += n
	}
	return total
}
