package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/shared/token"
)

// The command reports the files that it has written and the keys that are not in them, and states what to do
// if it cannot write.
func TestBackup(t *testing.T) {
	data := t.TempDir()
	s, err := sqlite.Open(t.Context(), data, sqlite.Options{})
	require.NoError(t, err)
	defer s.Close()
	to := filepath.Join(t.TempDir(), "monday.db")
	r := call{}.run(t, "backup", to, "--data", data)
	r.want(t, failure.OK, to+": ", "complete and checked")
	call{}.run(t, "backup", to, "--data", data).want(t, failure.Usage, to+" exists already",
		"name another file")
	none := filepath.Join(data, "none")
	call{}.run(t, "backup", to+"2", "--data", none).want(t, failure.Usage, "file does not exist", "--data")
	call{}.run(t, "backup", filepath.Join(none, "x"), "--data", data).want(t, failure.Usage, "no such file",
		"a folder that exists")
	call{}.run(t, "backup").want(t, failure.Usage, "the file to be written")

	for _, name := range []string{sqlite.FileName, sqlite.FileName + "-wal", sqlite.FileName + "-shm", token.FileName} {
		call{}.run(t, "backup", filepath.Join(data, name), "--data", data).want(t, failure.Usage,
			"is a file of the store", "outside the data folder")
	}

	keys := filepath.Join(data, token.FileName)
	require.NoError(t, os.WriteFile(keys, []byte("{}"), 0o600))
	type report struct {
		File  string
		Bytes int64
		Keys  string
	}
	var got report
	r = call{}.run(t, "backup", to+"3", "--data", data, "--output", "json")
	r.want(t, failure.OK)
	info, err := os.Stat(to + "3")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal([]byte(r.out), &got))
	require.Equal(t, (report{to + "3", info.Size(), keys}), got)
}
