package storetest_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/awsclient"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/dynamo/dynamotest"
)

// inDynamo returns backends of fresh tables, in which nothing expires by itself while a test runs.
func inDynamo(t *testing.T, o dynamo.Options) Backends {
	t.Helper()
	faults := &faultyTransport{}
	clean := dynamo.NewClient(dynamotest.Config(t, awsclient.Options{}))
	names := dynamotest.Tables(t, clean)
	client := dynamo.NewClient(dynamotest.Config(t, awsclient.Options{Wrap: faults.wrap}))
	o.Clock = memory.NewClock(epoch.Add(time.Hour))
	s := dynamo.New(client, names.Tables, o)
	b := Backends{
		Store: s, Definitions: s, Leases: s, Ledger: dynamo.NewLedger(client, names.Ledger),
		Inject: faults.plan,
	}
	if o.TTL > 0 { // Orders without a tombstone cannot be forgotten.
		b.Forget = func(ctx context.Context, ids []string) error {
			return expire(ctx, clean, names.Orders, ids)
		}
	}
	return b
}

// retention is so long that no order expires by itself.
const retention = 10_000 * 24 * time.Hour

// expire removes orders and leaves their tombstones, as a TTL does with orders at rest.
func expire(ctx context.Context, client *dynamodb.Client, table string, ids []string) error {
	for _, id := range ids {
		out, err := client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: &table,
			Key:       dynamo.Key(dynamo.OrderKey, id), ReturnValues: types.ReturnValueAllOld,
		})
		if err == nil && len(out.Attributes) > 0 {
			_, err = client.PutItem(ctx, &dynamodb.PutItemInput{
				TableName: &table,
				Item:      dynamo.Key(dynamo.OrderKey, id+"#ended"),
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func dynamoOptions(listsFinished bool) Options {
	return Options{
		StaleIndex: !dynamotest.Emulated(), ListsFinished: listsFinished, Parallel: true,
	}
}

// TestStoreInDynamo runs with and without the index of finished orders. Its few shards save queries, because a listing
// of finished orders asks for each day of each shard.
func TestStoreInDynamo(t *testing.T) {
	t.Run("finished orders listed", func(t *testing.T) {
		t.Parallel()
		Run(t, dynamoOptions(true), func(t *testing.T) Backends {
			return inDynamo(t, dynamo.Options{FinishedIndex: true, Shards: 2})
		})
	})
	t.Run("open orders listed", func(t *testing.T) {
		t.Parallel()
		Run(t, dynamoOptions(false), func(t *testing.T) Backends {
			b := inDynamo(t, dynamo.Options{Shards: 4, TTL: retention})
			b.Ledger = b.Store.(*dynamo.Store).Schedules() // among the tasks
			b.Inject = nil
			return b
		})
	})
}

// TestSequencesInDynamo passes through faults of the backend.
func TestSequencesInDynamo(t *testing.T) {
	t.Parallel()
	Sequences(t, dynamoOptions(true), func(t *testing.T) Backends {
		return inDynamo(t, dynamo.Options{FinishedIndex: true, Shards: 2})
	})
}

// TestLinearizableInDynamo passes through faults of the backend.
func TestLinearizableInDynamo(t *testing.T) {
	t.Parallel()
	Linearizable(t, func(t *testing.T) Backends { return inDynamo(t, dynamo.Options{Shards: 2}) })
}

// faultyTransport injects faults into requests to DynamoDB. The SDK's own retries are requests of their own.
type faultyTransport struct {
	next    http.RoundTripper
	mu      sync.Mutex
	planned []Fault
}

func (f *faultyTransport) wrap(next http.RoundTripper) http.RoundTripper {
	f.next = next
	return f
}

// plan sets the faults of the next requests, one each.
func (f *faultyTransport) plan(faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.planned = faults
}

// draw returns the fault of a request. A Contention waits for a write, because reads do not meet one.
func (f *faultyTransport) draw(operation string) (Fault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	read := operation == "GetItem" || operation == "Query"
	if len(f.planned) == 0 || f.planned[0] == Contention && read {
		return 0, false
	}
	fault := f.planned[0]
	f.planned = f.planned[1:]
	return fault, true
}

// RoundTrip implements http.RoundTripper.
func (f *faultyTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	fault, met := f.draw(operation)
	if !met {
		return f.next.RoundTrip(r)
	}
	switch fault {
	case Throttle:
		return refusal(r, "ThrottlingException"), nil
	case Contention:
		return refusal(r, "TransactionConflictException"), nil
	case Repeat:
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		again := r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
		again.Body = io.NopCloser(bytes.NewReader(body))
		if err := f.discard(r); err != nil {
			return nil, err
		}
		return f.next.RoundTrip(again)
	case LostAnswer:
		if err := f.discard(r); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("injected fault, %s: %w", fault, io.ErrUnexpectedEOF)
}

// discard sends the request and drops its answer.
func (f *faultyTransport) discard(r *http.Request) error {
	res, err := f.next.RoundTrip(r)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, res.Body)
	return res.Body.Close()
}

// refusal is an error that no server sent.
func refusal(r *http.Request, code string) *http.Response {
	body := fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"injected"}`, code)
	return &http.Response{
		StatusCode: http.StatusBadRequest, Request: r,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:   io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}
