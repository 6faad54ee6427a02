//go:build unix

package build_test

import (
	"archive/zip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/infra/build"
)

// entries lists the names and the rights of an archive.
func entries(t *testing.T, archive string) string {
	t.Helper()
	r, err := zip.OpenReader(archive)
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() })
	var all []string
	for _, f := range r.File {
		require.Equal(t, 1980, f.Modified.UTC().Year(), f.Name)
		all = append(all, fmt.Sprintf("%s %o", f.Name, f.Mode().Perm()))
	}
	return strings.Join(all, ", ")
}

// An archive has the same bytes whatever the umask, the owner's rights and the times of its files are: Lambda can
// read all of them.
func TestZip(t *testing.T) {
	archive := func(umask int, change func(folder string)) []byte {
		defer syscall.Umask(syscall.Umask(umask))
		folder := t.TempDir()
		out := filepath.Join(t.TempDir(), "out.zip")
		for _, name := range []string{"bootstrap", "agent.json", "workflows/order.json", "bin/tool"} {
			place := filepath.Join(folder, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(place), 0o777))
			require.NoError(t, os.WriteFile(place, []byte(strings.Repeat(name, 100)), 0o666))
		}
		require.NoError(t, os.Chmod(filepath.Join(folder, "bin", "tool"), os.FileMode(0o777&^umask)))
		change(folder)
		require.NoError(t, build.ZipFile(out, folder))
		require.Equal(t, "agent.json 644, bin/ 755, bin/tool 755, bootstrap 755, workflows/ 755, "+
			"workflows/order.json 644", entries(t, out))
		data, err := os.ReadFile(out)
		require.NoError(t, err)
		return data
	}
	first := archive(0o022, func(string) {})
	require.Equal(t, first, archive(0o077, func(string) {}), "with another umask")
	require.Equal(t, first, archive(0o022, func(folder string) {
		real := filepath.Join(t.TempDir(), "real")
		long := time.Unix(1_000_000_000, 0)
		require.NoError(t, os.Chtimes(filepath.Join(folder, "bootstrap"), long, long))
		require.NoError(t, os.Chmod(filepath.Join(folder, "workflows"), 0o700))
		require.NoError(t, os.Rename(filepath.Join(folder, "agent.json"), real))
		require.NoError(t, os.Symlink(real, filepath.Join(folder, "agent.json")))
	}), "with other times, other rights, and a link")
}

func TestZipRefusesWhatIsNoFile(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o600))
	require.ErrorContains(t, build.Zip(io.Discard, folder),
		"pipe is neither a file nor a folder")
}
