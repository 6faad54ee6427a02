package sqlite_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// copyOf copies a folder as a process leaves it that is killed.
func copyOf(t *testing.T, folder string) string {
	t.Helper()
	to := t.TempDir()
	require.NoError(t, os.CopyFS(to, os.DirFS(folder)))
	return to
}

// restored opens a backup in a new folder.
func restored(t *testing.T, backup string) *sqlite.Store {
	t.Helper()
	data, err := os.ReadFile(backup)
	require.NoError(t, err)
	folder := t.TempDir()
	write(t, filepath.Join(folder, sqlite.FileName), data)
	return open(t, folder, sqlite.Options{})
}

// A backup holds every commit of a folder that is in use, closed, or left by a killed process, and changes
// nothing there.
func TestBackup(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder, sqlite.Options{})
	must(t, s.Commit(t.Context(), []port.Write{creation("a"), creation("b")}))
	must(t, s.Commit(t.Context(), []port.Write{replacement("a", 1)}))
	left := copyOf(t, folder)
	closedFolder := t.TempDir()
	inUse := filepath.Join(t.TempDir(), "in-use.db")
	for to, from := range map[string]string{
		inUse: folder, filepath.Join(t.TempDir(), "killed.db"): left,
		filepath.Join(t.TempDir(), "closed.db"): closedFolder,
	} {
		if from == closedFolder {
			must(t, s.Commit(t.Context(), []port.Write{creation("later")}))
			closed(t, s)
			require.NoError(t, os.CopyFS(from, os.DirFS(folder)))
		}
		before := listing(t, from)
		size, err := sqlite.Backup(t.Context(), from, to)
		require.NoError(t, err, to)
		info, err := os.Stat(to)
		require.NoError(t, err, to)
		require.Equal(t, size, info.Size(), to)
		require.EqualValues(t, 0o600, info.Mode(), to)
		require.Equal(t, before, listing(t, from))
		require.Equal(t, filepath.Base(to), listing(t, filepath.Dir(to)), "beside the backup")
		copied := restored(t, to)
		records, errs := copied.Load(t.Context(), []string{"a", "b"})
		require.NoError(t, errors.Join(errs...), to)
		require.NotNil(t, records[0], to)
		require.EqualValues(t, 2, records[0].Version, to)
		require.NotNil(t, records[1], to)
		must(t, copied.Commit(t.Context(), []port.Write{replacement("a", 2)}))
		verdict, err := copied.Integrity()
		require.NoError(t, err, to)
		require.Equal(t, "ok", verdict, to)
		closed(t, copied)
	}
}

// listing names the files of a folder, without the memory that processes share while they read.
func listing(t *testing.T, folder string) string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), "-shm") {
			names = append(names, e.Name())
		}
	}
	return strings.Join(names, " ")
}

// On a file system without hard links a backup is renamed. The test uses a folder, because no file system
// permits a hard link to a folder.
func TestABackupWithoutHardLinks(t *testing.T) {
	folder := t.TempDir()
	part := filepath.Join(folder, "backup.part")
	to := filepath.Join(folder, "backup.db")
	require.NoError(t, os.Mkdir(part, 0o700))
	require.NoError(t, sqlite.Appear(part, to))
	require.Equal(t, "backup.db", listing(t, folder))
}

// What cannot be a backup is refused, and leaves no file.
func TestBackupsThatAreRefused(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder, sqlite.Options{})
	must(t, s.Commit(t.Context(), []port.Write{creation("a")}))
	lost := copyOf(t, folder)
	write(t, filepath.Join(lost, "stepkeeper.commits"), []byte("00000000000000000009\n"))
	damaged := copyOf(t, folder)
	closed(t, s)
	data, err := os.ReadFile(filepath.Join(folder, sqlite.FileName))
	if err == nil {
		err = os.Remove(filepath.Join(damaged, sqlite.FileName+"-wal"))
	}
	require.NoError(t, err)
	for i := 4096; i < len(data); i++ {
		data[i] ^= 0x55
	}
	write(t, filepath.Join(damaged, sqlite.FileName), data)
	other := t.TempDir()
	write(t, filepath.Join(other, sqlite.FileName), []byte(strings.Repeat("no database ", 1000)))
	ended, end := context.WithCancel(t.Context())
	end()
	to := filepath.Join(t.TempDir(), "backup.db")
	for name, c := range map[string]struct {
		ctx    context.Context
		folder string
		want   string
	}{
		"no folder":      {t.Context(), filepath.Join(folder, "none"), "stepkeeper.db: file does not exist"},
		"an empty one":   {t.Context(), t.TempDir(), "stepkeeper.db: file does not exist"},
		"another file":   {t.Context(), other, "not a database"},
		"lost commits":   {t.Context(), lost, "lacks the newest"},
		"damaged":        {t.Context(), damaged, "malformed"},
		"an interrupted": {ended, folder, "interrupted"},
	} {
		if _, err := sqlite.Backup(c.ctx, c.folder, to); err == nil ||
			!strings.Contains(err.Error(), c.want) && !errors.Is(err, c.ctx.Err()) {
			t.Errorf("%s: %v", name, err)
		}
		require.Empty(t, listing(t, filepath.Dir(to)), name)
	}
	write(t, to, []byte("an older backup"))
	_, err = sqlite.Backup(t.Context(), folder, to)
	require.ErrorIs(t, err, fs.ErrExist, "over an older backup")
	data, err = os.ReadFile(to)
	require.NoError(t, err)
	require.Equal(t, "an older backup", string(data))
}

// A backup onto a file that the store itself uses is refused, however the path is written, and writes nothing.
func TestABackupOntoTheStoreItselfIsRefused(t *testing.T) {
	folder := t.TempDir()
	beside := t.TempDir()
	closed(t, filled(t, folder, 1)) // now the log and its index do not exist
	link := filepath.Join(beside, "link")
	require.NoError(t, os.Symlink(folder, link))
	require.NoError(t, os.Symlink(filepath.Join(folder, sqlite.FileName), filepath.Join(beside, "a.db")))
	require.NoError(t, os.Symlink(filepath.Join(folder, writeLog), filepath.Join(beside, "b.db"))) // leads nowhere
	require.NoError(t, os.Link(filepath.Join(folder, sqlite.FileName), filepath.Join(beside, "c.db")))
	t.Chdir(folder)
	before := listing(t, folder)
	besides := listing(t, beside)
	for _, c := range []struct{ data, to string }{
		{folder, filepath.Join(folder, sqlite.FileName)},
		{folder, filepath.Join(folder, writeLog)},
		{folder, filepath.Join(folder, sqlite.FileName+"-shm")},
		{folder, filepath.Join(folder, sqlite.FileName+"-journal")},
		{folder, filepath.Join(folder, sqlite.FileName+".new")},
		{folder, filepath.Join(folder, commitNumber)},
		{folder, filepath.Join(folder, "stepkeeper.lock")},
		{folder, filepath.Join(folder, "Stepkeeper.DB-wal")},
		{folder, writeLog},
		{".", "./" + writeLog},
		{folder, folder + "/../" + filepath.Base(folder) + "/" + writeLog},
		{folder, filepath.Join(link, writeLog)},
		{link, filepath.Join(folder, writeLog)},
	} {
		_, err := sqlite.Backup(t.Context(), c.data, c.to)
		require.ErrorIs(t, err, fs.ErrInvalid, c.to)
		require.ErrorContains(t, err, "is a file of the store")
	}
	for _, other := range []string{"a.db", "b.db", "c.db"} {
		_, err := sqlite.Backup(t.Context(), folder, filepath.Join(beside, other))
		require.ErrorIs(t, err, fs.ErrExist)
	}
	require.Equal(t, before, listing(t, folder))
	require.Equal(t, besides, listing(t, beside))
	require.NoError(t, os.Remove(filepath.Join(beside, "c.db")))
	_, err := sqlite.Backup(t.Context(), folder, "monday.db") // another name in the folder is no harm
	require.NoError(t, err)
	s := open(t, folder, sqlite.Options{})
	defer closed(t, s)
	stored(t, s, map[string]bool{"task-0": true})
}
