package memory_test

import (
	"testing"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/port/storetest"
)

func backends(*testing.T) storetest.Backends {
	s := memory.NewStore(3)
	return storetest.Backends{
		Store: s, Definitions: memory.NewDefinitions(), Leases: memory.NewLeases(),
		Ledger: memory.NewLedger(),
		Forget: s.Forget,
	}
}

func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Options{ListsFinished: true}, backends)
}

// Random sequences of operations answer as the model does.
func TestStoreInSequences(t *testing.T) {
	storetest.Sequences(t, storetest.Options{ListsFinished: true}, backends)
}

func TestStoreIsLinearizable(t *testing.T) { storetest.Linearizable(t, backends) }
