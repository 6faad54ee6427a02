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
	if err := os.MkdirAll(flows, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(flows, "order.yaml"), []byte(saga), 0o600); err != nil {
		t.Fatal(err)
	}
	stack, err := embedded.Open(t.Context(), embedded.Options{
		Data: filepath.Join(t.TempDir(), "data"), Workflows: flows, ReplyTo: []string{"shop"},
		Clock: port.ClockFunc(func() time.Time { return time.Now().Add(time.Duration(r.ahead.Load())) }),
		Operations: map[string]worker.Operations{"shop": {worker.AnyOperation: {
			Run: func(_ context.Context, c worker.Call) (any, error) {
				if r.broken.Load() {
					return nil, worker.Permanent(errors.New("the card is blocked"))
				}
				return map[string]string{"key": c.Key}, nil
			}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(api.New(api.Config{Backend: stack}))
	t.Cleanup(func() {
		s.Close()
		if err := stack.Close(); err != nil {
			t.Error(err)
		}
	})
	if r.client, err = client.New(s.URL); err != nil {
		t.Fatal(err)
	}
	r.url = s.URL
	r.sdk = sqs.New(sqs.Options{Region: "local", BaseEndpoint: &s.URL,
		Credentials: credentials.NewStaticCredentialsProvider("any", "thing", "")})
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
	if err != nil || accepted != 200 {
		t.Fatalf("%d accepted, %v", accepted, err)
	}
	for i := range 200 {
		x, err := r.client.Wait(t.Context(), fmt.Sprintf("o-%d", i))
		if err != nil || x.State != core.Processed || x.Steps[0].Agent != "shop" {
			t.Fatalf("%+v %v", x, err)
		}
	}
	n := 0
	for _, err := range r.client.List(t.Context(), client.Query{State: core.Processed, PageSize: 30}) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n != 200 {
		t.Errorf("%d listed", n)
	}
}

// TestOperatorsCommandsOnTheRealRuntime: stopped in Error, resubmitted in vain, repaired, resubmitted.
func TestOperatorsCommandsOnTheRealRuntime(t *testing.T) {
	r := newRealRig(t)
	r.broken.Store(true)
	if _, err := r.client.Submit(t.Context(), order("o")); err != nil {
		t.Fatal(err)
	}
	x, err := r.client.Wait(t.Context(), "o")
	if err != nil || x.State != core.Error || x.Error == nil || x.Steps[0].Error == nil {
		t.Fatalf("%+v %v", x, err)
	}
	if v, err := r.client.Resubmit(t.Context(), "o", client.IfCommand(x.Command+7)); err != nil ||
		v.Accepted {
		t.Errorf("a command number that no answer gave: %+v %v", v, err)
	}
	r.broken.Store(false)
	if v, err := r.client.Resubmit(t.Context(), "o"); err != nil || !v.Accepted {
		t.Fatalf("%+v %v", v, err)
	}
	for x, err = range r.client.Follow(t.Context(), "o") {
		if err != nil {
			t.Fatal(err)
		}
	}
	if x.State != core.Processed {
		t.Errorf("%+v", x)
	}
	if v, err := r.client.Undo(t.Context(), "o"); err != nil || v.Accepted || v.Reason == "" {
		t.Errorf("undo of a processed order: %+v %v", v, err)
	}
	for run, want := range map[string]int{"0": 409, "7": 409} { // Processed, and a run that has not begun
		resp, err := http.Post(r.url+"/v1/orders/o/cancel", "application/json",
			strings.NewReader(`{"run":`+run+`}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("cancel of run %s: %d", run, resp.StatusCode)
		}
	}
	if _, err := r.client.Undo(t.Context(), "none"); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
	if v, err := r.client.Cancel(t.Context(), "not-there-yet"); err != nil || !v.Accepted {
		t.Errorf("a cancel that comes first: %+v %v", v, err)
	}
	if got, err := r.client.Submit(t.Context(), order("not-there-yet")); err != nil ||
		got.State != core.Cancelled {
		t.Errorf("its order: %+v %v", got, err)
	}
}

// TestSDKOnTheRealRuntime: an application that knows only SQS.
func TestSDKOnTheRealRuntime(t *testing.T) {
	r := newRealRig(t)
	url := func(name string) *string {
		out, err := r.sdk.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: &name})
		if err != nil {
			t.Fatal(err)
		}
		return out.QueueUrl
	}
	o := order("o")
	o.ReplyTo = "shop"
	good, _ := json.Marshal(o)
	o.ID, o.Workflow = "lost", "nope"
	bad, _ := json.Marshal(o)
	for _, body := range []string{string(good), string(bad), "nonsense"} {
		if _, err := r.sdk.SendMessage(t.Context(),
			&sqs.SendMessageInput{QueueUrl: url("intake"), MessageBody: &body}); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]bool{"o received": true, "o started": true, "o completed": true, "lost refused": true}
	for len(want) > 0 {
		got, err := r.sdk.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: url("status-shop"),
			WaitTimeSeconds: 10, MaxNumberOfMessages: 10})
		if err != nil || len(got.Messages) == 0 {
			t.Fatalf("still missing %v: %v", want, err)
		}
		for _, m := range got.Messages {
			s, err := message.Decode[message.Status]([]byte(*m.Body))
			if err != nil {
				t.Fatal(err)
			}
			delete(want, s.OrderID+" "+string(s.Kind))
			if _, err := r.sdk.DeleteMessage(t.Context(),
				&sqs.DeleteMessageInput{QueueUrl: url("status-shop"),
					ReceiptHandle: m.ReceiptHandle}); err != nil {
				t.Fatal(err)
			}
		}
	}
	q, err := r.sdk.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: url("quarantine"),
		WaitTimeSeconds: 10})
	if err != nil || len(q.Messages) != 1 || !strings.Contains(aws.ToString(q.Messages[0].Body), "intake") {
		t.Errorf("quarantine: %+v %v", q, err)
	}
}
