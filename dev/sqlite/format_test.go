package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
)

// run executes a script on the file of a folder, as another program would.
func run(t *testing.T, folder, script string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(folder, "stepkeeper.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(script); err != nil {
		t.Fatal(err)
	}
}

// TestFileOfAPreviewIsRefused, whatever version of its schema it has, and stays as it is.
func TestFileOfAPreviewIsRefused(t *testing.T) {
	for version := 1; version <= 3; version++ {
		folder := t.TempDir()
		run(t, folder,
			fmt.Sprintf(
				"PRAGMA application_id=0x5374706b; PRAGMA user_version=%d; CREATE TABLE settings(name "+
					"TEXT, value INTEGER); "+
					"CREATE TABLE orders(row INTEGER PRIMARY KEY, id TEXT, body BLOB); CREATE TABLE "+
					"tasks(row "+
					"INTEGER PRIMARY KEY, id TEXT)", version))
		refused(t, folder, "written by a preview of Stepkeeper", "choose another folder")
	}
}
