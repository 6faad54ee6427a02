package agenttest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent"
	"github.com/stepkeeper/stepkeeper/functions/agent/agenttest"
	"github.com/stepkeeper/stepkeeper/functions/agent/ledger"
	"github.com/stepkeeper/stepkeeper/shared/awsclient"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	queue "github.com/stepkeeper/stepkeeper/shared/sqs"
)

// attach attaches an agent of the shop, with these options, over the protocol of SQS.
func attach(t *testing.T, s *shop, options ...agent.Option) *agenttest.Outside {
	t.Helper()
	o, err := agenttest.Attach(t.Context(), "kiosk")
	require.NoError(t, err)
	t.Cleanup(o.Close)
	t.Setenv("AWS_ENDPOINT_URL_SQS", o.URL())
	t.Setenv("AWS_REGION", "eu-central-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "any")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "thing")
	options = append(options, agent.WithRetry(agent.Retry{Tries: 1}), agent.WithBreaker(agent.Breaker{Off: true}),
		agent.WithLog(slog.New(slog.DiscardHandler)))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	operations := s.operations()
	go func() { ended <- agent.Serve(ctx, "kiosk", operations, options...) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	return o
}

// Agents behind queues are distinguished as those of plain functions are, the wrong ones too.
func TestAgentsOutside(t *testing.T) {
	for name, tt := range map[string]struct {
		shop   *shop
		ledger bool
		grade  core.Grade
		why    string
	}{
		"fenced":                 {&shop{}, true, agenttest.Fenced, ""},
		"plain":                  {&shop{ignoresKeys: true, noFence: true}, true, agenttest.Plain, "duplicate"},
		"fenced, without ledger": {&shop{}, false, agenttest.Fenced, ""},
		"plain, without ledger":  {&shop{ignoresKeys: true, noFence: true}, false, "", "was started without a ledger"},
	} {
		t.Run(name, func(t *testing.T) {
			var options []agent.Option
			if tt.ledger {
				options = append(options, ledger.InFolder(t.TempDir()))
			}
			o := attach(t, tt.shop, options...)
			probe := tt.shop.probe()
			probe.Timeout = 5 * time.Second
			probe.Delay = tt.shop.slowDown
			j := &recorder{TB: t}
			r := o.Earns(j, probe, agenttest.Fenced)
			require.Equal(t, tt.grade, r.Grade)
			require.Contains(t, r.String(), tt.why)
			require.Equal(t, tt.grade == agenttest.Fenced, j.failed == "")
			require.GreaterOrEqual(t, len(r.Trials), 17)
		})
	}
}

// An idempotent service whose calls land after their time is plain.
func TestLateCalls(t *testing.T) {
	for late, want := range map[bool]struct {
		grade core.Grade
		why   string
	}{
		false: {agenttest.Idempotent, "do after undo"},
		true:  {agenttest.Plain, "call past stopBy: at its stopBy there were 0 effects of a slow call, and later 1"},
	} {
		t.Run(fmt.Sprint("lands late: ", late), func(t *testing.T) {
			t.Parallel()
			s := &shop{noFence: true, landsLate: late}
			ops := s.operations()
			probe := s.probe()
			// a tenth of it is what a slow call has: more than a busy machine's pauses
			probe.Timeout = 5 * time.Second
			probe.Delay = s.slowDown
			r := agenttest.Find(t, ops, probe)
			require.Equal(t, want.grade, r.Grade)
			require.Contains(t, r.String(), want.why)
			require.Zero(t, s.delay, "the service is left slow")
		})
	}
}

// TestNoAgentIsAttached reports so, instead of a grade.
func TestNoAgentIsAttached(t *testing.T) {
	t.Parallel()
	o, err := agenttest.Attach(t.Context(), "kiosk")
	require.NoError(t, err)
	defer o.Close()
	require.True(t, strings.HasPrefix(o.URL(), "http://127.0.0.1:"))
	probe := (&shop{}).probe()
	probe.Timeout = time.Millisecond
	o.Patience = 50 * time.Millisecond
	_, err = o.Find(t.Context(), probe)
	require.ErrorIs(t, err, agenttest.ErrSilent)
	require.ErrorContains(t, err, "attached to "+o.URL())
}

// An agent whose replies lack an error, or name another request, earns no grade.
func TestRepliesThatAreWrong(t *testing.T) {
	t.Parallel()
	const other = "a do: a reply does not have the task, run, step, attempt, operation and agent of its request"
	for name, tt := range map[string]struct {
		change map[string]any
		want   string
	}{
		"without an error": {map[string]any{"outcome": "failed"}, "a do: do 1 was answered failed without an error"},
		"another attempt":  {map[string]any{"outcome": "done", "attempt": 9}, other},
		"another task":     {map[string]any{"outcome": "done", "task": "o"}, other},
		"another agent":    {map[string]any{"outcome": "done", "agent": "tea"}, other},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, err := agenttest.Attach(t.Context(), "kiosk")
			require.NoError(t, err)
			defer o.Close()
			ctx, stop := context.WithCancel(t.Context())
			var agent sync.WaitGroup
			agent.Go(func() { repliesWith(ctx, t, o.URL(), tt.change) })
			r, err := o.Find(t.Context(), (&shop{}).probe())
			stop()
			agent.Wait()
			require.NoError(t, err)
			require.Empty(t, r.Grade)
			require.Contains(t, r.String(), tt.want)
		})
	}
}

// repliesWith answers each request by its identity with a change, until ctx ends.
func repliesWith(ctx context.Context, t *testing.T, endpoint string, change map[string]any) {
	c, err := awsclient.Load(ctx, awsclient.Options{Endpoint: endpoint, Region: "us-east-1"})
	if err != nil {
		t.Error(err)
		return
	}
	queues := queue.New(c, queue.Config{LookUp: true})
	requests, err := queues.Queue(port.Requests("kiosk"))
	replies, errReplies := queues.Queue(port.Replies)
	if err := errors.Join(err, errReplies); err != nil {
		t.Error(err)
		return
	}
	for ctx.Err() == nil {
		taken, _ := requests.Receive(ctx, 1, 20*time.Second, 30*time.Second)
		for _, d := range taken {
			reply := map[string]any{}
			err := json.Unmarshal(d.Body, &reply)
			maps.DeleteFunc(reply, func(name string, _ any) bool {
				return !slices.Contains([]string{"schema", "task", "step", "run", "attempt", "operation", "agent"}, name)
			})
			maps.Copy(reply, change)
			body, errBody := json.Marshal(reply)
			whole := context.WithoutCancel(ctx) // the trials may end before the response to a delete
			if err := errors.Join(err, errBody, replies.Send(whole, []port.Message{{Body: body}})[0],
				requests.Delete(whole, []string{d.Receipt})[0]); err != nil {
				t.Error(err)
			}
		}
	}
}

// An agent that cannot read its requests, or whose replies cannot be read, gets no grade.
func TestAnAgentThatIsNotUnderstood(t *testing.T) {
	t.Parallel()
	for queue, want := range map[string]string{
		port.Quarantine: `the agent could not read its request: nonsense`,
		port.Replies:    "a reply of the agent cannot be read: ",
	} {
		o, err := agenttest.Attach(t.Context(), "kiosk")
		require.NoError(t, err)
		c, err := awsclient.Load(t.Context(), awsclient.Options{Endpoint: o.URL(), Region: "us-east-1"})
		require.NoError(t, err)
		sdk := sqs.NewFromConfig(c)
		of := func(name string) *string { return aws.String(o.URL() + "/000000000000/" + name) }
		var agent sync.WaitGroup
		agent.Go(func() {
			in, err := sdk.ReceiveMessage(t.Context(),
				&sqs.ReceiveMessageInput{QueueUrl: of(port.Requests("kiosk")), WaitTimeSeconds: 20})
			if err != nil || len(in.Messages) != 1 {
				t.Errorf("%+v, %v", in, err)
				return
			}
			var first message.Request
			err = json.Unmarshal([]byte(*in.Messages[0].Body), &first)
			if err != nil || first.StopBy.Std().After(time.Now()) {
				t.Errorf("the time in which an agent starts is counted for a trial: %+v, %v", first, err)
			}
			_, err = sdk.SendMessage(t.Context(),
				&sqs.SendMessageInput{QueueUrl: of(queue), MessageBody: aws.String("nonsense")})
			_, errDelete := sdk.DeleteMessage(t.Context(),
				&sqs.DeleteMessageInput{
					QueueUrl:      of(port.Requests("kiosk")),
					ReceiptHandle: in.Messages[0].ReceiptHandle,
				})
			if err := errors.Join(err, errDelete); err != nil {
				t.Error(err)
			}
		})
		probe := (&shop{}).probe()
		_, err = o.Find(t.Context(), probe)
		require.ErrorContains(t, err, want)
		agent.Wait()
		o.Close()
	}
}
