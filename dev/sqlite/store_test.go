package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

func open(t testing.TB, folder string, options sqlite.Options) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), folder, options)
	require.NoError(t, err)
	return s
}

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
		require.NoError(t, errors.Join(s.Commit(t.Context(), writes)...))
	}
	require.LessOrEqual(t, held()-before, int64(4*budget))
}
