//go:build unix

package regularfile_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/regularfile"
)

// Each kind of file that is not regular is named, and not opened.
func TestOtherFilesAreNamed(t *testing.T) {
	t.Chdir(t.TempDir()) // the path of a socket is short
	require.NoError(t, syscall.Mkfifo("pipe", 0o600))
	socket, err := net.Listen("unix", "socket")
	require.NoError(t, err)
	defer socket.Close()
	for file, kind := range map[string]string{
		".": "a directory", "pipe": "a named pipe",
		"socket": "a socket", "/dev/null": "a device or another special file",
	} {
		_, err := regularfile.Read(file, 10)
		require.ErrorIs(t, err, regularfile.ErrNotRegular, file)
		require.ErrorContains(t, err, "it is "+kind+",", file)
	}
	_, err = regularfile.Read("none", 10)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A file may be removed, or replaced by a pipe, between the check and the opening. The result is either an
// error or the file's content.
func TestAFileThatIsReplacedMeanwhile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	pipe := filepath.Join(dir, "pipe")
	path := filepath.Join(dir, "path")
	err := errors.Join(os.WriteFile(file, []byte("content"), 0o600), syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, err)
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	stop := make(chan struct{})
	stopped := make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			for _, target := range []string{file, pipe} {
				if err := errors.Join(os.Link(target, path), os.Remove(path)); err != nil {
					stopped <- err
					return
				}
			}
		}
	}()
	enough := 20_000
	if testing.Short() {
		enough = 2_000
	}
	read := 0
	for end := time.Now().Add(time.Minute); read < enough && time.Now().Before(end); {
		for _, once := range []func() ([]byte, error){
			func() ([]byte, error) { return regularfile.Read(path, 10) },
			func() ([]byte, error) { return regularfile.ReadIn(root, "path", 10) },
		} {
			data, err := once()
			if err == nil && string(data) != "content" {
				t.Fatalf("read %q without an error", data)
			}
			if err == nil {
				read++
			}
		}
	}
	close(stop)
	require.NoError(t, (<-stopped))
	require.GreaterOrEqual(t, read, enough)
}
