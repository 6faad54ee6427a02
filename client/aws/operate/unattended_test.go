package operate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/client/aws/operate"
	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/internal/stacktest"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// counted are queues of which some have a depth.
type counted struct {
	aws.Queues
	depth map[string]func() (port.Depth, error)
}

func (c counted) Queue(name string) (port.Queue, error) {
	if d := c.depth[name]; d != nil {
		return counter{depth: d}, nil
	}
	return c.Queues.Queue(name)
}

type counter struct {
	port.Queue
	depth func() (port.Depth, error)
}

func (c counter) Depth(context.Context) (port.Depth, error) { return c.depth() }

// A queue with requests of which none is being handled is reported. Queues that the caller may not read are
// left out.
func TestQueueWithoutConsumerIsReported(t *testing.T) {
	w := stacktest.New(t, stacktest.Memory())
	depth := port.Depth{}
	failure := error(nil)
	w.Parts.Outputs.Requests = map[string]string{"shop": "url", "mail": "url"}
	w.Parts.Queues = counted{w.Parts.Queues, map[string]func() (port.Depth, error){
		port.Requests("shop"): func() (port.Depth, error) { return depth, failure },
		port.Requests("mail"): func() (port.Depth, error) { return port.Depth{}, errors.New("AccessDenied") },
	}}
	w.Parts.Unattended = time.Nanosecond // nothing is too fresh, and nothing that was seen holds
	c := w.Client()
	submit(t, c, order("o-1", "order", "never"))
	started(t, c, "o-1")
	for _, x := range []struct {
		name  string
		depth port.Depth
		err   error
		want  int
	}{
		{"none waits", port.Depth{}, nil, 0},
		{"some wait", port.Depth{Visible: 3}, nil, 1},
		{"one is being handled", port.Depth{Visible: 3, InFlight: 1}, nil, 0},
		{"it may not be looked at", port.Depth{Visible: 3}, errors.New("AccessDenied"), 0},
	} {
		depth = x.depth
		failure = x.err
		task, err := c.Get(t.Context(), "o-1")
		if err != nil || len(task.Unattended) != x.want {
			t.Errorf("%s: %+v, %v", x.name, task.Unattended, err)
			continue
		}
		require.Equal(t, x.err != nil, task.Unchecked != "", x.name)
		require.NotContains(t, task.Unchecked, "mail", x.name)
		all, err := c.Unattended(t.Context(), "")
		require.Error(t, err, x.name)
		require.Len(t, all, x.want, x.name)
		require.Equal(t, x.err != nil, strings.Contains(err.Error(), "requests-shop"), x.name)
		require.ErrorContains(t, err, "requests-mail", x.name)
		if x.want == 1 && (task.Unattended[0].Queue != "requests-shop" || task.Unattended[0].Waiting != 3 ||
			task.Unattended[0].Since == 0 || all[0].Since != 0) {
			t.Errorf("%s: %+v, %+v", x.name, task.Unattended, all)
		}
	}
	depth = port.Depth{Visible: 1}
	failure = nil
	w.Parts.Outputs.Requests = map[string]string{"mail": "url"}
	task, err := w.Client().Get(t.Context(), "o-1")
	require.NoError(t, err)
	require.Empty(t, task.Unattended)
	require.Empty(t, task.Unchecked)
	w.Parts.Outputs.Requests["shop"] = "url"
	w.Parts.Unattended = time.Hour
	task, err = w.Client().Get(t.Context(), "o-1")
	require.NoError(t, err)
	require.Empty(t, task.Unattended)
}

// depths returns the attributes of queues: so many visible, none in flight.
func depths(visible map[string]int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ QueueUrl string }
		_ = json.NewDecoder(r.Body).Decode(&in)
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		fmt.Fprintf(w, `{"Attributes":{"ApproximateNumberOfMessages":"%d","ApproximateNumberOfMessagesNotVisible":"0","ApproximateNumberOfMessagesDelayed":"0"}}`, visible[path.Base(in.QueueUrl)])
	})
}

const running, disabled = `{"State":"Enabled"}`, `{"State":"Disabled","LastModified":1792000000.5}`

// stackOf returns a stack with the given queues and mappings, reached through the SDK.
func stackOf(t *testing.T) (*cloud, func() *client.Client) {
	t.Helper()
	environment(t)
	c := newCloud(t)
	c.outputs = golden(t)
	c.outputs["EngineMappings"] = "control=m-control,intake=m-intake,replies=m-replies,requests-inventory=m-inventory"
	c.outputs["EngineMappings2"] = "requests-notification=,requests-payment=m-payment,requests-shipping=m-shipping"
	c.mapped = map[string]string{}
	for _, queue := range []string{"control", "intake", "replies", "inventory", "payment", "shipping"} {
		c.mapped["m-"+queue] = running
	}
	c.sqs = depths(nil)
	return c, func() *client.Client {
		s, err := operate.Open(t.Context(), "Shop", aws.Options{Endpoint: c.URL, Region: "eu-central-1"})
		require.NoError(t, err)
		return s
	}
}

// The state of a queue's mapping is reported, whether requests already wait or not. An external agent has no
// mapping.
func TestStateOfMappingIsReported(t *testing.T) {
	const enable = "enable it with `stepkeeper --stack Shop --region eu-central-1 aws resume`, which starts " +
		"the whole stack"
	for name, x := range map[string]struct {
		change func(c *cloud)
		want   client.Unattended
	}{
		"disabled": {
			func(c *cloud) {
				c.mapped["m-payment"] = disabled
				c.sqs = depths(map[string]int{"EngineRequestsPaymentUrl": 12})
			},
			client.Unattended{
				Queue: "requests-payment", Agent: "payment", Since: 1792000000500, Waiting: 12,
				Reason: "its event source mapping is disabled", Fix: enable,
			},
		},
		"disabled, and none waits": {
			func(c *cloud) { c.mapped["m-payment"] = `{"State":"Disabling"}` },
			client.Unattended{
				Queue: "requests-payment", Agent: "payment",
				Reason: "its event source mapping is disabling", Fix: enable,
			},
		},
		"of the Scheduler": {
			func(c *cloud) {
				c.mapped["m-intake"] = `{"State":"Disabled"}`
				c.outputs["EnginePaused"] = "true"
			},
			client.Unattended{
				Queue: "intake", Reason: "its event source mapping is disabled",
				Fix: "the stack was deployed with Paused: deploy it without",
			},
		},
		"deleted": {
			func(c *cloud) { delete(c.mapped, "m-shipping") },
			client.Unattended{
				Queue: "requests-shipping", Agent: "shipping",
				Reason: "its event source mapping m-shipping is not there any more",
				Fix: "a deployment without changes does not make it again: deploy once with the agent as " +
					"External, and once as before (docs/how-to/check-health.md)",
			},
		},
		"deleted, of the Scheduler": {
			func(c *cloud) { delete(c.mapped, "m-intake") },
			client.Unattended{
				Queue:  "intake",
				Reason: "its event source mapping m-intake is not there any more",
				Fix: "a deployment without changes does not make it again: make one by hand, with " +
					"ReportBatchItemFailures (docs/how-to/check-health.md)",
			},
		},
		"its function fails": {func(c *cloud) {
			c.mapped["m-payment"] = `{"State":"Enabled","LastProcessingResult":"PROBLEM: Function call failed","FunctionArn":"arn:aws:lambda:eu-central-1:1:function:Shop-Pay"}`
			c.sqs = depths(map[string]int{"EngineRequestsPaymentUrl": 2})
		}, client.Unattended{
			Queue: "requests-payment", Agent: "payment", Waiting: 2,
			Reason: "the last result of its event source mapping is PROBLEM: Function call failed",
			Fix:    "look at the log of the function Shop-Pay",
		}},
		"external": {
			func(c *cloud) {
				c.sqs = depths(map[string]int{"EngineRequestsNotificationUrl": 3, "EngineIntakeUrl": 3})
			},
			client.Unattended{Queue: "requests-notification", Agent: "notification", Waiting: 3},
		},
		"all is well": {func(c *cloud) {
			c.mapped["m-payment"] = `{"State":"Updating","LastProcessingResult":"OK"}`
		}, client.Unattended{}},
	} {
		c, open := stackOf(t)
		x.change(c)
		all, err := open().Unattended(t.Context(), "")
		want := []client.Unattended{x.want}
		if x.want.Queue == "" {
			want = nil
		}
		if err != nil || !slices.Equal(all, want) {
			t.Errorf("%s: %+v, %v; want %+v", name, all, err, want)
		}
	}
}

// A missing right, or a reply that does not come, does not keep other queues from being reported.
func TestUnreadableQueueDoesNotHideOthers(t *testing.T) {
	c, open := stackOf(t)
	c.sqs = depths(map[string]int{"EngineRequestsPaymentUrl": 3})
	for action, want := range map[string]string{
		"lambda:GetEventSourceMapping": "requests-payment",
		"sqs:GetQueueAttributes":       "",
	} {
		c.failing.Store(&[2]string{action, "AccessDeniedException"})
		all, err := open().Unattended(t.Context(), "")
		require.ErrorContains(t, err, "not known whether something takes from ", action)
		require.ErrorContains(t, err, "the permission "+action+" on ", action)
		require.ErrorContains(t, err, "EngineOperatorPolicy", action)
		require.NotContains(t, err.Error(), "\n", action)
		got := fmt.Sprint(all)
		require.Equal(t, len(all) == 0, want == "", action)
		require.Contains(t, got, want, action)
	}
	w := stacktest.New(t, stacktest.Memory())
	config := awsstub.Config(t, func(awsstub.Call) (int, string) { return 0, "" })
	w.Parts.Outputs.Mappings = map[string]string{port.Intake: "m"}
	w.Parts.LookTimeout = 20 * time.Millisecond
	w.Parts.Config = &config
	begun := time.Now()
	all, err := w.Client().Unattended(t.Context(), "")
	require.ErrorContains(t, err, "takes from intake: AWS did not answer within 20ms")
	require.Empty(t, all)
	require.LessOrEqual(t, time.Since(begun), 10*time.Second)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = w.Client().Unattended(ended, "")
	require.ErrorIs(t, err, context.Canceled, "a caller who is gone")
}

// A result is kept for ten seconds. That a queue cannot be read is kept for a minute.
func TestResultIsCachedForTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		denied := false
		config := awsstub.Config(t, func(c awsstub.Call) (int, string) {
			calls++
			if denied {
				return http.StatusForbidden, `{"code":"AccessDeniedException"}`
			}
			return off(c)
		})
		c := operate.Over(operate.Parts{Config: &config, Parts: aws.Parts{
			Outputs: aws.Outputs{Mappings: map[string]string{port.Intake: "m"}},
			Queues: counted{nil, map[string]func() (port.Depth, error){
				port.Intake: func() (port.Depth, error) { return port.Depth{}, nil },
			}},
		}})
		for i, x := range []struct {
			later  time.Duration
			denied bool
			calls  int
		}{
			{0, false, 1},
			{9 * time.Second, false, 1},
			{2 * time.Second, true, 2},
			{11 * time.Second, true, 2},
			{48 * time.Second, false, 2},
			{2 * time.Second, false, 3},
		} {
			time.Sleep(x.later)
			denied = x.denied
			_, err := c.Unattended(t.Context(), "")
			if calls != x.calls || (err != nil) != (x.calls == 2) {
				t.Errorf("%d: %d calls, %v; want %d", i, calls, err, x.calls)
			}
		}
	})
}

// An order reports unattended queues of the agents that its steps wait for, and of the replies that would
// follow. A workflow reports those that it needs.
func TestOrderReportsItsUnattendedQueues(t *testing.T) {
	w := switchedOff(t, port.Replies, port.Requests("shop"), port.Requests("mail"))
	w.Parts.Outputs.Requests = map[string]string{"shop": "url", "mail": "url"}
	c := w.Client()
	submit(t, c, order("o-1", "order", "never"))
	started(t, c, "o-1")
	task, err := c.Get(t.Context(), "o-1")
	require.NoError(t, err)
	require.Equal(t, []string{"replies", "requests-shop"}, queuesOf(task.Unattended))
	require.Empty(t, task.Unchecked)
	for workflow, want := range map[string]string{
		"order": "[replies requests-shop]",
		"":      "[replies requests-mail requests-shop]", "other": "[replies requests-mail requests-shop]",
	} {
		w.Parts.Outputs.Workflows = map[string]string{"Order": task.Definition}
		all, err := w.Client().Unattended(t.Context(), workflow)
		got := fmt.Sprint(queuesOf(all))
		require.NoError(t, err, workflow)
		require.Equal(t, want, got, workflow)
	}
}

// P46: if an agent has two queues, an order waits for the queue of its priority.
func TestUnattendedQueueIsOfTheOrdersPriority(t *testing.T) {
	shop := port.Requests("shop")
	w := switchedOff(t, shop, port.High(shop), port.High(port.Intake))
	w.Parts.Outputs.Requests = map[string]string{"shop": "url"}
	w.Parts.Outputs.High = map[string]string{shop: "url-2", port.Intake: "url-3"}
	c := w.Client()
	for priority, want := range map[string]string{
		message.PriorityHigh:   port.High(shop),
		message.PriorityNormal: shop,
	} {
		o := order("o-"+priority, "order", "never")
		o.Priority = priority
		submit(t, c, o)
		started(t, c, o.ID)
		task, err := c.Get(t.Context(), o.ID)
		require.NoError(t, err, priority)
		require.Len(t, task.Unattended, 1, priority)
		require.Equal(t, want, task.Unattended[0].Queue, priority)
		require.Equal(t, "shop", task.Unattended[0].Agent, priority)
	}
	all, err := c.Unattended(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, []string{"intake-high", "requests-shop", "requests-shop-high"}, queuesOf(all))
}

// switchedOff returns a stack in which the mappings of these queues are disabled. No queue has messages.
func switchedOff(t *testing.T, queues ...string) *stacktest.Deployment {
	t.Helper()
	w := stacktest.New(t, stacktest.Memory())
	w.Parts.Unattended = time.Nanosecond
	none := func() (port.Depth, error) { return port.Depth{}, nil }
	empty := counted{w.Parts.Queues, map[string]func() (port.Depth, error){port.Replies: none}}
	w.Parts.Outputs.Mappings = map[string]string{}
	for _, q := range queues {
		empty.depth[q] = none
		w.Parts.Outputs.Mappings[q] = "m-" + q
	}
	w.Parts.Queues = empty
	config := awsstub.Config(t, off)
	w.Parts.Config = &config
	return w
}

func queuesOf(all []client.Unattended) (names []string) {
	for _, u := range all {
		names = append(names, u.Queue)
	}
	return names
}

// off answers that an event source mapping is disabled.
func off(c awsstub.Call) (int, string) {
	if c.Action != "lambda:GET" || !strings.HasPrefix(c.Path, "/2015-03-31/event-source-mappings/") {
		return http.StatusNotFound, `{}`
	}
	return http.StatusOK, `{"State":"Disabled"}`
}
