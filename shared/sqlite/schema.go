package sqlite

import (
	"database/sql/driver"
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

const schemaVersion = 1

// schema: an order's row number is its task's row number too, so that one unique index on the ID
// serves both. A finished task stands in no partial index. The document is the last column, so
// that a listing can pass over rows without reading their overflow pages.
const schema = `
CREATE TABLE settings(name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE orders(
	row INTEGER PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,
	hash TEXT,                   -- NULL: only the ID is known, there is no order
	created INTEGER NOT NULL,    -- milliseconds since the epoch, 0: none, as all times here
	body BLOB
) STRICT;
CREATE TABLE tasks(
	row INTEGER PRIMARY KEY,
	version INTEGER NOT NULL,
	created INTEGER NOT NULL,
	index_at INTEGER,
	shard INTEGER,
	bucket TEXT,                 -- NULL: at rest
	state TEXT NOT NULL,
	workflow TEXT NOT NULL,
	id TEXT NOT NULL,
	document BLOB
) STRICT;
CREATE INDEX tasks_due ON tasks(bucket, shard, index_at, id) WHERE bucket IS NOT NULL;
CREATE INDEX tasks_created ON tasks(created);
CREATE INDEX tasks_state ON tasks(state, created);
CREATE TABLE definitions(hash TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT;
CREATE TABLE leases(name TEXT PRIMARY KEY, owner TEXT NOT NULL, until INTEGER NOT NULL) STRICT;
CREATE TABLE ledger(
	key TEXT PRIMARY KEY,
	version INTEGER NOT NULL,
	state TEXT NOT NULL,
	attempt INTEGER NOT NULL,
	command INTEGER NOT NULL,
	code TEXT NOT NULL,
	message TEXT NOT NULL,
	output BLOB
) STRICT;
CREATE TABLE messages(
	row INTEGER PRIMARY KEY AUTOINCREMENT, -- never used twice, so that an old receipt hits nothing new
	queue TEXT NOT NULL,
	visible_at INTEGER NOT NULL,
	received INTEGER NOT NULL,
	sent_at INTEGER NOT NULL,
	body BLOB NOT NULL
) STRICT;
CREATE INDEX messages_visible ON messages(queue, visible_at, row);
`

// prepareSchema makes the tables of a new file, refuses a newer file, and sorts the due index
// into another number of shards where the option has changed.
func (s *Store) prepareSchema(w *writer) error {
	version, err := w.number("PRAGMA user_version")
	if err != nil {
		return err
	}
	switch {
	case version == 0:
		script := fmt.Sprintf("BEGIN IMMEDIATE; %s INSERT INTO settings VALUES('shards', %d); PRAGMA user_version=%d; COMMIT", schema, s.shards, schemaVersion)
		return w.run(script)
	case version > schemaVersion:
		return fmt.Errorf("the file has schema %d, this program knows %d; run the newer program", version, schemaVersion)
	}
	shards, err := w.number("SELECT value FROM settings WHERE name='shards'")
	if err != nil || shards == int64(s.shards) {
		return err
	}
	return s.reshard(w)
}

func (s *Store) reshard(w *writer) error {
	list, err := w.prepare("SELECT row, id FROM tasks WHERE bucket IS NOT NULL")
	if err != nil {
		return err
	}
	defer list.close()
	move, err := w.prepare("UPDATE tasks SET shard=? WHERE row=?")
	if err != nil {
		return err
	}
	defer move.close()
	type task struct {
		row int64
		id  string
	}
	var tasks []task
	err = list.each(func(v []driver.Value) { tasks = append(tasks, task{v[0].(int64), v[1].(string)}) })
	if err != nil {
		return err
	}
	if err := w.run("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for _, t := range tasks {
		if _, err := move.exec(port.ShardOf(t.id, s.shards), t.row); err != nil {
			return err
		}
	}
	return w.run(fmt.Sprintf("UPDATE settings SET value=%d WHERE name='shards'; COMMIT", s.shards))
}
