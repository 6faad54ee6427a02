package sqlite

import "fmt"

// applicationID identifies the database as Stepkeeper's, for the command file(1) and for other programs. It
// is "Stpk" in ASCII.
const applicationID = 0x5374706b

const schemaVersion = 2

// schema creates the tables. Times in messages are in nanoseconds since the epoch, and all other times in
// milliseconds. The table orders keeps one row for each order for ever:
//
//   - The row of a task at rest is in no due index. Its index_at is the time of the last commit.
//   - In the row of an expired order, created, shard, bucket and document are NULL. The row is only in the
//     index of the IDs (P26, an ID never runs twice).
//   - The document and its checksum are the last columns, so that a query can skip a row without reading the
//     overflow pages of the document.
const schema = `
CREATE TABLE settings(name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO settings VALUES('running', 0); -- 1 while a process has the file open
INSERT INTO settings VALUES('commits', 0); -- number of the last commit, see sequenceName
CREATE TABLE orders(
	row INTEGER PRIMARY KEY,
	version INTEGER NOT NULL,
	created INTEGER,             -- 0: unknown; NULL: expired
	index_at INTEGER NOT NULL,
	shard INTEGER,
	bucket TEXT,                 -- NULL: at rest
	state TEXT NOT NULL,
	workflow TEXT NOT NULL,
	hash TEXT NOT NULL,          -- hash of the content
	id TEXT NOT NULL UNIQUE,
	document BLOB,
	sum BLOB                     -- checksum of document
) STRICT;
CREATE INDEX orders_due ON orders(bucket, shard, index_at, id) WHERE bucket IS NOT NULL;
CREATE INDEX orders_created ON orders(created) WHERE created IS NOT NULL;
CREATE INDEX orders_state ON orders(state, created) WHERE created IS NOT NULL;
CREATE INDEX orders_workflow ON orders(workflow, created) WHERE created IS NOT NULL;
CREATE TABLE contents(
	row INTEGER PRIMARY KEY,     -- orders.row
	content BLOB NOT NULL,
	sum BLOB NOT NULL            -- checksum of content
) STRICT;
CREATE TABLE probe(row INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
CREATE TABLE definitions(hash TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT;
CREATE TABLE ledger(
	key TEXT PRIMARY KEY,
	version INTEGER NOT NULL,
	state TEXT NOT NULL,
	attempt INTEGER NOT NULL,
	command INTEGER NOT NULL,
	code TEXT NOT NULL,
	message TEXT NOT NULL,
	output BLOB,
	sum BLOB                     -- checksum of entryText; NULL: of an erased order
) STRICT;
CREATE TABLE messages(
	row INTEGER PRIMARY KEY AUTOINCREMENT, -- never used twice, so that an old receipt hits nothing new
	queue TEXT NOT NULL,
	visible_at INTEGER NOT NULL,
	received INTEGER NOT NULL,
	sent_at INTEGER NOT NULL,
	body BLOB NOT NULL,
	sum BLOB                     -- checksum of body
) STRICT;
CREATE INDEX messages_visible ON messages(queue, visible_at, row);
CREATE INDEX messages_sent ON messages(queue, sent_at);
`

// makeTables creates the tables in an empty file.
func makeTables(w *writer) error {
	version, err := w.number("PRAGMA user_version")
	if err != nil || version != 0 {
		return err
	}
	return w.run(fmt.Sprintf("BEGIN IMMEDIATE; %s PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT",
		schema, applicationID, schemaVersion))
}

// checkVersion refuses the file of another version of the program.
func checkVersion(w *writer) error {
	version, err := w.number("PRAGMA user_version")
	switch {
	case err != nil:
		return err
	case version > schemaVersion:
		return fmt.Errorf(
			"the file has schema version %d, this program knows version %d: a newer program wrote it; run "+
				"that one, or choose another folder", version, schemaVersion)
	case version < schemaVersion:
		return fmt.Errorf("%s was written by an older version of Stepkeeper; there is no migration before the "+
			"first release: let that version finish its orders, then remove the file or choose another folder",
			FileName)
	}
	return nil
}
