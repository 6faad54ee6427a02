package sqlite_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/sqlite"
)

// smallDisk mounts a file system of so many bytes. The test is skipped where that is not allowed.
func smallDisk(t *testing.T, bytes int) (folder string) {
	t.Helper()
	folder = t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)); err != nil {
		t.Skipf("SKIP: NO DISK IS FILLED HERE: mounting a tmpfs needs root (%v)", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return folder
}

// fill leaves so many pages of the disk free. Removing the file that it writes frees the others.
func fill(t *testing.T, disk string, pages int) (ballast string) {
	t.Helper()
	var s syscall.Statfs_t
	require.NoError(t, syscall.Statfs(disk, &s))
	free := int(min(s.Bfree, math.MaxInt32)) - pages //nolint:gosec // bounded
	ballast = filepath.Join(disk, "ballast")
	write(t, ballast, make([]byte, max(free, 0)*4096))
	return ballast
}

// TestStopOnAFullDisk fills a disk at each page that the next commits need, ends the process that writes
// there by a signal, and frees space. The next process starts on what is left, and nothing acknowledged is
// lost.
func TestStopOnAFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	disk := smallDisk(t, 24<<20)
	folder := filepath.Join(disk, "data")
	acknowledged := map[string]int64{}
	closed(t, filled(t, folder, 1))
	acknowledged["task-0"] = 1
	outcomes := map[string]int{}
	for pages := 0; pages < 72; pages += 3 {
		for _, stop := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			ballast := fill(t, disk, pages)
			outcomes[writeUntilFull(t, folder, stop, acknowledged)]++
			if err := os.Remove(ballast); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			s, err := sqlite.Open(t.Context(), folder, sqlite.Options{})
			require.NoError(t, err, "%+v", pages)
			verdict, err := s.Integrity()
			require.NoError(t, err)
			require.Equal(t, "ok", verdict)
			for id, version := range acknowledged {
				r, errs := s.Load(t.Context(), []string{id})
				require.NoError(t, errs[0], "%+v", pages)
				require.NotNil(t, r[0], "%+v", pages)
				require.GreaterOrEqual(t, r[0].Version, min(version, 3), "%+v", pages)
			}
			closed(t, s)
		}
	}
	t.Logf("%d tasks, ends of processes: %v", len(acknowledged), outcomes)
	require.NotZero(t, outcomes["full"])
}

// writeUntilFull runs a process that writes, and ends it by the signal once the disk is full. The result says
// whether the process met the full disk while it was starting or while it was writing.
func writeUntilFull(t *testing.T, folder string, stop syscall.Signal,
	acknowledged map[string]int64,
) (outcome string) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), crashFolder+"="+folder)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	outcome = "not started"
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := lines.Text()
		if strings.HasPrefix(line, "error ") {
			if !strings.Contains(line, "the disk is full") && !strings.Contains(line, "store is closed") {
				t.Errorf("the process says %q", line)
			}
			_ = child.Process.Signal(stop)
			continue
		}
		outcome = "full"
		var id string
		var version int64
		_, err := fmt.Sscanf(line, "%s %d", &id, &version)
		require.NoError(t, err)
		acknowledged[id] = max(acknowledged[id], version)
	}
	_ = child.Wait() // a store cannot be closed well on a full disk
	return outcome
}
