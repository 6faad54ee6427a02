package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/port/storetest"
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
		Store: s, Definitions: s, Ledger: s, Forget: s.Forget,
		Close: func() {
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		},
	}
}

func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Options{ListsFinished: true}, func(t *testing.T) storetest.Backends {
		return backendsOf(t, sqlite.Options{})
	})
}

// TestStoreWithoutCache holds the SQL alone to the contract, as after a restart.
func TestStoreWithoutCache(t *testing.T) {
	storetest.Run(t, storetest.Options{ListsFinished: true}, func(t *testing.T) storetest.Backends {
		return backendsOf(t, sqlite.Options{Heads: -1})
	})
}

// few has a cache so small that records come and go.
func few(t *testing.T) storetest.Backends {
	return backendsOf(t, sqlite.Options{Heads: 16})
}

// Random sequences of operations answer as the model does.
func TestStoreInSequences(t *testing.T) {
	storetest.Sequences(t, storetest.Options{ListsFinished: true}, few)
}

func TestStoreIsLinearizable(t *testing.T) { storetest.Linearizable(t, few) }

// The store keeps no documents in memory, however many tasks are running, and whatever their size.
func TestDocumentsAreNotKeptInMemory(t *testing.T) {
	const size, budget = 64 << 10, 1 << 20
	s := open(t, t.TempDir(), sqlite.Options{})
	defer closed(t, s)
	held := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := held()
	for i := range 10 {
		writes := make([]port.Write, 20)
		for j := range writes {
			writes[j] = creation(fmt.Sprintf("task-%d-%d", i, j))
			writes[j].Record.Document = bytes.Repeat([]byte("x"), size)
		}
		if err := errors.Join(s.Commit(t.Context(), writes)...); err != nil {
			t.Fatal(err)
		}
	}
	if more := held() - before; more > 4*budget {
		t.Errorf("it holds %d bytes more for 200 tasks of %d, the most is %d", more, size, 4*budget)
	}
}
