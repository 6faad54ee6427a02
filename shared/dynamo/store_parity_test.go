package dynamo_test

import (
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/memory"
	"github.com/stepkeeper/stepkeeper/shared/port/storetest"
)

// Random sequences of operations give the same answers as the store in memory gives.
func TestParity(t *testing.T) {
	storetest.Parity(t, options(true), func(*testing.T) storetest.Backends {
		s := memory.NewStore(3)
		return storetest.Backends{Store: s, Definitions: memory.NewDefinitions(), Leases: memory.NewLeases(), Ledger: memory.NewLedger(), Forget: s.Forget}
	}, func(t *testing.T) storetest.Backends {
		return backends(t, dynamo.Options{FinishedIndex: true, Shards: 5})
	})
}
