package sqlite

import "fmt"

// applicationID marks the file as ours for `file` and for other programs: "Stpk" in ASCII.
const applicationID = 0x5374706b

// migrations lead to each version of the schema from the one before, the first one from an empty
// file. What stands here was released: a change of the schema is a further entry.
var migrations = []string{schema, expiry, commits}

// expiry is version 2: what keeps a long history cheap, and keeps how the last process ended.
// index_at of a task at rest is the time when it came to rest, since then; NULL: before the upgrade.
// running is 1 while a process has the file open.
const expiry = `
CREATE INDEX tasks_workflow ON tasks(workflow, created);
CREATE INDEX messages_sent ON messages(queue, sent_at);
CREATE TABLE probe(row INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
INSERT INTO settings VALUES('running', 0);
INSERT INTO settings VALUES('upgraded', CAST(unixepoch('subsec') * 1000 AS INTEGER));
`

// commits is version 3: the number of the last commit, see sequenceName.
const commits = "INSERT INTO settings VALUES('commits', 0);"

// schema is version 1. An order's row number is its task's row number too, so that one unique index on the ID
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

// migrate brings the file to the newest version, each step in a transaction of its own, and refuses a
// newer file.
func migrate(w *writer) error {
	version, err := w.number("PRAGMA user_version")
	if err != nil {
		return err
	}
	if version > int64(len(migrations)) {
		return fmt.Errorf("the file has schema version %d, this program knows versions up to %d: a newer program wrote it; run that one, or choose another folder", version, len(migrations))
	}
	for ; version < int64(len(migrations)); version++ {
		script := fmt.Sprintf("BEGIN IMMEDIATE; %s PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT", migrations[version], applicationID, version+1)
		if err := w.run(script); err != nil {
			return fmt.Errorf("bringing the file from schema version %d to %d: %w", version, version+1, err)
		}
	}
	return nil
}
