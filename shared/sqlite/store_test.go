package sqlite_test

import (
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/memory"
	"github.com/stepkeeper/stepkeeper/shared/port/storetest"
	"github.com/stepkeeper/stepkeeper/shared/sqlite"
)

func open(t testing.TB, folder string, options sqlite.Options) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), folder, options)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func backendsOf(t testing.TB, options sqlite.Options) storetest.Backends {
	s := open(t, t.TempDir(), options)
	return storetest.Backends{
		Store: s, Definitions: s, Leases: s, Ledger: s, Forget: s.Forget,
		Close: func() {
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		},
	}
}

func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Options{ListsFinished: true}, func(t *testing.T) storetest.Backends {
		return backendsOf(t, sqlite.Options{Shards: 3})
	})
}

// TestStoreWithoutCache holds the SQL alone to the contract, as after a restart.
func TestStoreWithoutCache(t *testing.T) {
	storetest.Run(t, storetest.Options{ListsFinished: true}, func(t *testing.T) storetest.Backends {
		return backendsOf(t, sqlite.Options{Shards: 1, CacheBytes: -1})
	})
}

// TestStoreIsLikeTheOneInMemory compares the two adapters step by step.
func TestStoreIsLikeTheOneInMemory(t *testing.T) {
	inMemory := func(*testing.T) storetest.Backends {
		s := memory.NewStore(2)
		return storetest.Backends{
			Store: s, Forget: s.Forget,
			Definitions: memory.NewDefinitions(), Leases: memory.NewLeases(), Ledger: memory.NewLedger(),
		}
	}
	storetest.Parity(t, storetest.Options{ListsFinished: true}, inMemory, func(t *testing.T) storetest.Backends {
		return backendsOf(t, sqlite.Options{Shards: 3, CacheBytes: 8 << 10}) // so small that records come and go
	})
}
