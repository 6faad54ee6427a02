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
	url, end, err := started(t.TempDir(), port.ClockFunc(func() time.Time {
		return time.Now().Add(time.Duration(r.ahead.Load()))
	}))
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	r.url = url
	r.client, err = client.New(url)
	require.NoError(t, err)
	r.sdk = sqs.New(sqs.Options{
		Region: "local", BaseEndpoint: &url,
		Credentials: credentials.NewStaticCredentialsProvider("any", "thing", ""),
	})
	return r
}

// started starts the runtime of `stepkeeper dev` in a folder, with an agent whose charges succeed.
func started(folder string, clock port.Timer) (url string, end func() error, err error) {
	if err := os.WriteFile(filepath.Join(folder, "order.yaml"), []byte(saga), 0o600); err != nil {
		return "", nil, err
	}
	charge := func(_ context.Context, c worker.Call) (any, error) { return map[string]string{"key": c.Key}, nil }
	runtime, err := embedded.Open(context.Background(), embedded.Options{
		Data: filepath.Join(folder, "data"), Workflows: folder, ReplyTo: []string{"shop"}, Clock: clock,
		Operations: map[string]worker.Operations{"shop": {worker.AnyOperation: {Run: charge}}},
	})
	if err != nil {
		return "", nil, err
	}
	server := httptest.NewServer(api.New(api.Config{Backend: runtime}))
	return server.URL, func() error { server.Close(); return runtime.Close() }, nil
}
