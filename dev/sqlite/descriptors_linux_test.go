package sqlite_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/sqlite"
)

// A process without a free descriptor says so. It does not blame the rights on the folder.
func TestMissingDescriptorsAreNamed(t *testing.T) {
	var before syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before))
	defer func() { require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before)) }()
	failed := 0
	for free := range uint64(12) {
		folder := filepath.Join(t.TempDir(), "data")
		f, err := os.Open(os.DevNull)
		require.NoError(t, err)
		few := before
		few.Cur = uint64(f.Fd()) + free
		require.NoError(t, f.Close())
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few))
		s, err := sqlite.Open(t.Context(), folder, sqlite.Options{})
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before))
		if err == nil {
			closed(t, s)
			continue
		}
		failed++
		require.NotContains(t, err.Error(), "right to write")
		require.ErrorContains(t, err, "open files", "%d free", free)
	}
	require.NotZero(t, failed)
}
