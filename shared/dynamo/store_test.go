package dynamo_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/awsclient"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/dynamo/dynamotest"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// now is a little after the tests' tasks were created.
var now = time.Date(2026, 11, 21, 11, 0, 0, 0, time.UTC)

// retention is so long that nothing expires by itself while a test runs.
const retention = 10_000 * 24 * time.Hour

func newStore(t *testing.T, o dynamo.Options) *dynamo.Store {
	t.Helper()
	client := dynamo.NewClient(dynamotest.Config(t, awsclient.Options{}))
	o.Clock = memory.NewClock(now)
	o.TTL = retention
	return dynamo.New(client, dynamotest.Tables(t, client).Tables, o)
}

// A lease says until when its owner took it last; one that was never taken says no time.
func TestLeaseUntil(t *testing.T) {
	s := newStore(t, dynamo.Options{Shards: 2})
	until, err := s.LeaseUntil(t.Context(), "sweep/0")
	require.NoError(t, err)
	require.True(t, until.IsZero(), "%v %v", until, err)
	_, err = s.Acquire(t.Context(), "sweep/0", "a", now, time.Minute)
	require.NoError(t, err)
	until, err = s.LeaseUntil(t.Context(), "sweep/0")
	require.NoError(t, err)
	require.True(t, until.Equal(now.Add(time.Minute)), "%v %v", until, err)
}

// Finished orders that are in no index are refused, not passed over.
func TestFinishedOrdersAreNotListed(t *testing.T) {
	s := newStore(t, dynamo.Options{})
	for _, state := range []string{"Processed", "Compensated", "Cancelled"} {
		_, err := s.List(t.Context(), port.Query{State: state, Limit: 10})
		require.ErrorIs(t, err, dynamo.ErrNotListed, state)
	}
}

// finishedOrders makes orders, one for each minute before now. It returns the number of reads of whole orders.
func finishedOrders(t *testing.T, n int) (s *dynamo.Store, reads func() int) {
	t.Helper()
	var got atomic.Int64
	count := func(next http.RoundTripper) http.RoundTripper {
		return tripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetItem") {
				got.Add(1)
			}
			return next.RoundTrip(r)
		})
	}
	client := dynamo.NewClient(dynamotest.Config(t, awsclient.Options{Wrap: count}))
	s = dynamo.New(client, dynamotest.Tables(t, client).Tables,
		dynamo.Options{Shards: 2, FinishedIndex: true, Clock: memory.NewClock(now)})
	writes := make([]port.Write, n)
	for i := range writes {
		writes[i] = port.Write{Record: port.Record{
			ID: fmt.Sprintf("o-%03d", i), Version: 1, State: "Processed", Workflow: "order",
			Created: now.Add(time.Duration(i-n) * time.Minute), Document: []byte("{}"),
		}}
	}
	for _, err := range s.Commit(t.Context(), writes) {
		require.NoError(t, err)
	}
	got.Store(0)
	return s, func() int { return int(got.Swap(0)) }
}

type tripper func(*http.Request) (*http.Response, error)

func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// Each sweep counts the orders in Error while an incident is open, and pages of the console list open orders. Those
// listings read no finished order, of which there may be millions.
func TestOpenOrdersAreListedWithoutTheFinished(t *testing.T) {
	s, reads := finishedOrders(t, 10)
	for _, state := range []string{"Error", "Processing", "Compensating"} {
		page, err := s.List(t.Context(), port.Query{State: state, Limit: 10})
		require.NoError(t, err)
		require.Empty(t, page.Records)
		require.Zero(t, reads(), state)
	}
}

// A day can have millions of finished orders. A page reads about as many as it shows.
func TestPagesOfFinishedOrdersAreReadInPart(t *testing.T) {
	const all, limit = 100, 10
	s, reads := finishedOrders(t, all)
	var shown []string
	for q := (port.Query{Limit: limit}); ; {
		page, err := s.List(t.Context(), q)
		require.NoError(t, err)
		require.LessOrEqual(t, reads(), 3*limit)
		for _, r := range page.Records {
			shown = append(shown, r.ID)
		}
		if page.Next == "" {
			break
		}
		q.Cursor = page.Next
	}
	require.Len(t, shown, all)
	require.True(t, slices.IsSortedFunc(shown, func(a, b string) int { return strings.Compare(b, a) }))
}
