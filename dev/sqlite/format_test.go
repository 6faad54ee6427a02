package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// run executes a script on the file of a folder, as another program would.
func run(t *testing.T, folder, script string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(folder, "stepkeeper.db"))
	require.NoError(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	_, err = db.Exec(script)
	require.NoError(t, err)
}

// The file of an older version is named as such, and stays as it is.
func TestFileOfAnOlderVersionIsRefused(t *testing.T) {
	folder := t.TempDir()
	run(t, folder, "PRAGMA application_id=0x5374706b; PRAGMA user_version=1; CREATE TABLE settings(name TEXT, "+
		"value INTEGER); CREATE TABLE orders(row INTEGER PRIMARY KEY, id TEXT, body BLOB)")
	refused(t, folder, "written by an older version of Stepkeeper", "choose another folder")
}
