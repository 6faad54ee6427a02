package client_test

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/dev/api"
	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
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
			Run: func(_ context.Context, c worker.Call) (any, error) { return map[string]string{"key": c.Key}, nil },
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
