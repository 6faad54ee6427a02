package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/dev/api"
	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

const saga = `workflow: order
notify: [started]
agents:
  shop: {queueAllowance: 5s}
steps:
  charge:
    agent: shop
    operation: charge
    timeout: 5s
    retry: {maxFailures: 1, backoff: {initial: 10ms, max: 10ms}}
    onFailure: stop
    undo: refund
    grade: fenced
`

// realRig is the whole product: the real runtime on SQLite, its HTTP edge, the client, and an AWS SDK.
type realRig struct {
	*testing.T
	client *client.Client
	sdk    *sqs.Client
	url    string
	broken atomic.Bool  // the agent's service refuses
	ahead  atomic.Int64 // how far the server's clock has been moved
}

func newRealRig(t *testing.T) *realRig {
	t.Helper()
	r := &realRig{T: t}
	flows := filepath.Join(t.TempDir(), "workflows")
	require.NoError(t, os.MkdirAll(flows, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(flows, "order.yaml"), []byte(saga), 0o600))
	stack, err := embedded.Open(t.Context(), embedded.Options{
		Data: filepath.Join(t.TempDir(), "data"), Workflows: flows, ReplyTo: []string{"shop"},
		Clock: port.ClockFunc(func() time.Time { return time.Now().Add(time.Duration(r.ahead.Load())) }),
		Operations: map[string]worker.Operations{"shop": {worker.AnyOperation: {
			Run: func(_ context.Context, c worker.Call) (any, error) {
				if r.broken.Load() {
					return nil, worker.Permanent(errors.New("the card is blocked"))
				}
				return map[string]string{"key": c.Key}, nil
			},
		}}},
	})
	require.NoError(t, err)
	s := httptest.NewServer(api.New(api.Config{Backend: stack}))
	t.Cleanup(func() {
		s.Close()
		if err := stack.Close(); err != nil {
			t.Error(err)
		}
	})
	r.client, err = client.New(s.URL)
	require.NoError(t, err)
	r.url = s.URL
	r.sdk = sqs.New(sqs.Options{
		Region: "local", BaseEndpoint: &s.URL,
		Credentials: credentials.NewStaticCredentialsProvider("any", "thing", ""),
	})
	return r
}

func TestWithTheRealRuntime(t *testing.T) {
	r := newRealRig(t)
	accepted := 0
	err := r.client.SubmitMany(t.Context(), strings.NewReader(lines(200)), func(x client.Result) {
		if x.Accepted {
			accepted++
		}
	})
	require.NoError(t, err)
	require.Equal(t, 200, accepted)
	for i := range 200 {
		x, err := r.client.Wait(t.Context(), fmt.Sprintf("o-%d", i))
		require.NoError(t, err)
		require.Equal(t, core.Processed, x.State)
		require.Equal(t, "shop", x.Steps[0].Agent)
	}
	n := 0
	for _, err := range r.client.List(t.Context(), client.Query{State: core.Processed, PageSize: 30}) {
		n++
		require.NoError(t, err)
	}
	require.Equal(t, 200, n)
}

// TestOperatorsCommandsOnTheRealRuntime: stopped in Error, resubmitted in vain, repaired, resubmitted.
func TestOperatorsCommandsOnTheRealRuntime(t *testing.T) {
	r := newRealRig(t)
	r.broken.Store(true)
	_, err := r.client.Submit(t.Context(), order("o"))
	require.NoError(t, err)
	x, err := r.client.Wait(t.Context(), "o")
	require.NoError(t, err)
	require.Equal(t, core.Error, x.State)
	require.NotNil(t, x.Error)
	require.NotNil(t, x.Steps[0].Error)
	v, err := r.client.Resubmit(t.Context(), "o", client.IfCommand(x.Command+7))
	require.NoError(t, err)
	require.False(t, v.Accepted, "a command number that no answer gave")
	r.broken.Store(false)
	v, err = r.client.Resubmit(t.Context(), "o")
	require.NoError(t, err)
	require.True(t, v.Accepted)
	for x, err = range r.client.Follow(t.Context(), "o") {
		require.NoError(t, err)
	}
	require.Equal(t, core.Processed, x.State)
	v, err = r.client.Undo(t.Context(), "o")
	require.NoError(t, err)
	require.False(t, v.Accepted, "undo of a processed order")
	require.NotEmpty(t, v.Reason)
	for run, want := range map[string]int{"0": 409, "7": 409} { // Processed, and a run that has not begun
		resp, err := http.Post(r.url+"/v1/orders/o/cancel", "application/json",
			strings.NewReader(`{"run":`+run+`}`))
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, want, resp.StatusCode, run)
	}
	_, err = r.client.Undo(t.Context(), "none")
	require.ErrorIs(t, err, client.ErrNotFound)
	v, err = r.client.Cancel(t.Context(), "not-there-yet")
	require.NoError(t, err)
	require.True(t, v.Accepted, "a cancel that comes first")
	got, err := r.client.Submit(t.Context(), order("not-there-yet"))
	require.NoError(t, err)
	require.Equal(t, core.Cancelled, got.State)
}

// TestSDKOnTheRealRuntime: an application that knows only SQS.
func TestSDKOnTheRealRuntime(t *testing.T) {
	r := newRealRig(t)
	url := func(name string) *string {
		out, err := r.sdk.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: &name})
		require.NoError(t, err)
		return out.QueueUrl
	}
	o := order("o")
	o.ReplyTo = "shop"
	good, _ := json.Marshal(o)
	o.ID = "lost"
	o.Workflow = "nope"
	bad, _ := json.Marshal(o)
	for _, body := range []string{string(good), string(bad), "nonsense"} {
		_, err := r.sdk.SendMessage(t.Context(),
			&sqs.SendMessageInput{QueueUrl: url("intake"), MessageBody: &body})
		require.NoError(t, err)
	}
	want := map[string]bool{"o received": true, "o started": true, "o completed": true, "lost refused": true}
	for len(want) > 0 {
		got, err := r.sdk.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
			QueueUrl:        url("status-shop"),
			WaitTimeSeconds: 10, MaxNumberOfMessages: 10,
		})
		require.NoError(t, err)
		require.NotEmpty(t, got.Messages)
		for _, m := range got.Messages {
			s, err := message.Decode[message.Status]([]byte(*m.Body))
			require.NoError(t, err)
			delete(want, s.OrderID+" "+string(s.Kind))
			_, err = r.sdk.DeleteMessage(t.Context(),
				&sqs.DeleteMessageInput{
					QueueUrl:      url("status-shop"),
					ReceiptHandle: m.ReceiptHandle,
				})
			require.NoError(t, err)
		}
	}
	q, err := r.sdk.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
		QueueUrl:        url("quarantine"),
		WaitTimeSeconds: 10,
	})
	require.NoError(t, err)
	require.Len(t, q.Messages, 1)
	require.Contains(t, aws.ToString(q.Messages[0].Body), "intake")
}
