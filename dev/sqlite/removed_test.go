package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Nothing is acknowledged into a file that was removed, moved or replaced while the store is open. When the
// same file is back, the store goes on.
func TestNothingIsAcknowledgedIntoARemovedFile(t *testing.T) {
	copied := func(file string) error {
		data, err := os.ReadFile(file)
		if err == nil {
			err = os.Remove(file)
		}
		if err != nil {
			return err
		}
		return os.WriteFile(file, data, 0o600)
	}
	for name, remove := range map[string]func(folder string) error{
		"the folder":          os.RemoveAll,
		"the folder's name":   func(folder string) error { return os.Rename(folder, folder+"-moved") },
		"the file":            func(folder string) error { return os.Remove(filepath.Join(folder, database)) },
		"the log":             func(folder string) error { return os.Remove(filepath.Join(folder, writeLog)) },
		"a copy in its place": func(folder string) error { return copied(filepath.Join(folder, database)) },
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "data")
			s := open(t, folder, sqlite.Options{Queues: []sqlite.QueueConfig{{Name: "status"}}})
			must(t, s.Commit(t.Context(), []port.Write{creation("before")}))
			require.NoError(t, remove(folder))
			err := s.Commit(t.Context(), []port.Write{creation("after")})[0]
			require.ErrorIs(t, err, port.ErrUnavailable)
			require.ErrorContains(t, err, "removed, moved or replaced")
			require.Error(t, queueOf(t, s, "status").Send(t.Context(), []port.Message{{Body: []byte("{}")}})[0])
			require.ErrorContains(t, s.Probe(), "removed, moved or replaced")
			if name != "the folder's name" {
				require.ErrorContains(t, s.Close(), "removed, moved or replaced")
				return
			}
			require.NoError(t, os.Rename(folder+"-moved", folder))
			must(t, s.Commit(t.Context(), []port.Write{creation("after")}))
			stored(t, s, map[string]bool{"before": true, "after": true})
			require.NoError(t, s.Close())
		})
	}
}

// A file that is removed during a commit does not get its acknowledgement.
func TestNoAcknowledgementIfTheFileIsRemovedDuringACommit(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	s := open(t, folder, sqlite.Options{})
	defer func() { _ = s.Close() }()
	must(t, s.Commit(t.Context(), []port.Write{creation("before")}))
	err := s.During(func() error { return os.Rename(folder, folder+"-moved") })
	require.ErrorContains(t, err, "removed, moved or replaced")
	require.NotErrorIs(t, err, port.ErrUnavailable) // the file, wherever it is, has the commit
	require.NoError(t, os.Rename(folder+"-moved", folder))
	must(t, s.Commit(t.Context(), []port.Write{creation("after"), replacement("before", 1)}))
	require.NoError(t, s.Probe(), fmt.Sprint("in ", folder))
}
