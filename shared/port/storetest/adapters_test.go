package storetest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/dev/sqlite"
)

func inMemory(*testing.T) Backends {
	s := memory.NewStore(3)
	return Backends{
		Store: s, Definitions: memory.NewDefinitions(), Leases: memory.NewLeases(),
		Ledger: memory.NewLedger(), Forget: s.Forget,
	}
}

func TestStoreInMemory(t *testing.T) { Run(t, Options{ListsFinished: true}, inMemory) }

func TestSequencesInMemory(t *testing.T) { Sequences(t, Options{ListsFinished: true}, inMemory) }

func TestLinearizableInMemory(t *testing.T) { Linearizable(t, inMemory) }

// inSQLite returns stores whose caches hold that many records; 0 means the default, and -1 none.
func inSQLite(heads int) Make {
	return func(t *testing.T) Backends {
		s, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{Heads: heads})
		require.NoError(t, err)
		return Backends{Store: s, Definitions: s, Ledger: s, Forget: s.Forget, Close: func() {
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		}}
	}
}

// fewHeads makes a cache so small that records come and go.
const fewHeads = 16

func TestStoreInSQLite(t *testing.T) { Run(t, Options{ListsFinished: true}, inSQLite(0)) }

// TestStoreInSQLiteWithoutCache holds the SQL alone to the contract, as after a restart.
func TestStoreInSQLiteWithoutCache(t *testing.T) {
	if testing.Short() {
		t.Skip("the sequences have a cache so small that the SQL alone reads most records")
	}
	Run(t, Options{ListsFinished: true}, inSQLite(-1))
}

func TestSequencesInSQLite(t *testing.T) {
	Sequences(t, Options{ListsFinished: true}, inSQLite(fewHeads))
}

func TestLinearizableInSQLite(t *testing.T) { Linearizable(t, inSQLite(fewHeads)) }
