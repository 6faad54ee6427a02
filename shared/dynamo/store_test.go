package dynamo_test

import (
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
