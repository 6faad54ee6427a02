package sqlite_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// asUnprivileged runs on a thread whose file accesses have no privileges: root may write everywhere.
func asUnprivileged(t *testing.T, do func()) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own := uintptr(os.Getuid()) //nolint:gosec // not negative on Linux
	const unprivileged = 65534
	if own == 0 {
		_, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, unprivileged, 0, 0)
		defer func() { _, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, own, 0, 0) }()
	}
	do()
}

// TestFolderThatCannotBeWrittenIsNamed, with what to do.
func TestFolderThatCannotBeWrittenIsNamed(t *testing.T) {
	used := t.TempDir()
	s := open(t, used, sqlite.Options{})
	must(t, s.Commit(t.Context(), []port.Write{creation("a")}))
	closed(t, s)
	outside := t.TempDir()
	for name, folder := range map[string]string{
		"new": t.TempDir(), "used": used,
		"to be made": filepath.Join(outside, "data"),
	} {
		t.Run(name, func(t *testing.T) {
			readable(t, filepath.Dir(folder), folder)
			asUnprivileged(t, func() {
				s, err := sqlite.Open(t.Context(), folder, sqlite.Options{})
				if err == nil {
					closed(t, s)
					t.Fatal("it was opened")
				}
				for _, want := range []string{folder, "cannot be", "the right to write"} {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("the error does not say %q: %v", want, err)
					}
				}
			})
		})
	}
}

// readable lets every user read what is in the folders, and only root write.
func readable(t *testing.T, folders ...string) {
	t.Helper()
	for _, folder := range folders {
		entries, _ := os.ReadDir(folder)
		for _, e := range entries {
			if e.Type().IsRegular() {
				chmod(t, filepath.Join(folder, e.Name()), 0o444)
			}
		}
		if _, err := os.Stat(folder); err == nil {
			chmod(t, folder, 0o555)
		}
	}
	chmod(t, filepath.Dir(folders[0]), 0o755)
}

func chmod(t *testing.T, name string, mode os.FileMode) {
	t.Helper()
	require.NoError(t, os.Chmod(name, mode))
	t.Cleanup(func() { _ = os.Chmod(name, 0o700) })
}
