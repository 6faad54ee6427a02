package dynamo_test

import (
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/awsclient"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/dynamo/dynamotest"
	"github.com/stepkeeper/stepkeeper/shared/port/storetest"
)

// now is a little after the suite's tasks were created.
var now = time.Date(2026, 11, 21, 11, 0, 0, 0, time.UTC)

// retention is so long that nothing expires by itself while a test runs.
const retention = 10_000 * 24 * time.Hour

func backends(t *testing.T, o dynamo.Options) storetest.Backends {
	t.Helper()
	client := dynamo.NewClient(dynamotest.Config(t, awsclient.Options{}))
	names := dynamotest.Tables(t, client)
	o.Clock, o.TTL = memory.NewClock(now), retention
	s := dynamo.New(client, names.Tables, o)
	return storetest.Backends{
		Store: s, Definitions: s, Leases: s, Ledger: dynamo.NewLedger(client, names.Ledger),
		Forget: dynamotest.Forget(client, names.Orders),
	}
}

func options(finished bool) storetest.Options {
	return storetest.Options{StaleIndex: !dynamotest.Emulated(), ListsFinished: finished, Parallel: true,
		Reorders: true}
}

// The contract of stores, with and without the index of finished orders; faults are injected with it.
func TestContract(t *testing.T) {
	t.Run("finished orders listed", func(t *testing.T) {
		t.Parallel()
		storetest.Run(t, options(true), func(t *testing.T) storetest.Backends {
			return newFaulty(t, dynamo.Options{FinishedIndex: true, Shards: 4}).backends()
		})
	})
	t.Run("open orders listed", func(t *testing.T) {
		t.Parallel()
		storetest.Run(t, options(false), func(t *testing.T) storetest.Backends {
			b := backends(t, dynamo.Options{Shards: 4})
			b.Ledger = b.Store.(*dynamo.Store).Schedules() // among the tasks
			return b
		})
	})
}

// A lease says until when its owner took it last; one that was never taken says no time.
func TestLeaseUntil(t *testing.T) {
	s := backends(t, dynamo.Options{Shards: 2}).Store.(*dynamo.Store)
	if until, err := s.LeaseUntil(t.Context(), "sweep/0"); err != nil || !until.IsZero() {
		t.Errorf("%v %v", until, err)
	}
	if _, err := s.Acquire(t.Context(), "sweep/0", "a", now, time.Minute); err != nil {
		t.Fatal(err)
	}
	if until, err := s.LeaseUntil(t.Context(), "sweep/0"); err != nil || !until.Equal(now.Add(time.Minute)) {
		t.Errorf("%v %v", until, err)
	}
}
