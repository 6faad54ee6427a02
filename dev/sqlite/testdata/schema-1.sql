-- A file of schema version 1, as a program of that version left it.
BEGIN TRANSACTION;
CREATE TABLE definitions(hash TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT;
INSERT INTO "definitions" VALUES('44136fa355b3678a1146ad16f7e8649e',X'7B7D');
CREATE TABLE leases(name TEXT PRIMARY KEY, owner TEXT NOT NULL, until INTEGER NOT NULL) STRICT;
INSERT INTO "leases" VALUES('sweep/0','me',1795255260000);
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
INSERT INTO "ledger" VALUES('done/0/pay',1,'done',0,0,'','',X'31');
CREATE TABLE messages(
	row INTEGER PRIMARY KEY AUTOINCREMENT, -- never used twice, so that an old receipt hits nothing new
	queue TEXT NOT NULL,
	visible_at INTEGER NOT NULL,
	received INTEGER NOT NULL,
	sent_at INTEGER NOT NULL,
	body BLOB NOT NULL
) STRICT;
INSERT INTO "messages" VALUES(1,'status-shop',1795326773684757389,0,1795326773684757389,X'746F6C64');
CREATE TABLE orders(
	row INTEGER PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,
	hash TEXT,                   -- NULL: only the ID is known, there is no order
	created INTEGER NOT NULL,    -- milliseconds since the epoch, 0: none, as all times here
	body BLOB
) STRICT;
INSERT INTO "orders" VALUES(1,'running','hash',1795255200000,X'7B7D');
INSERT INTO "orders" VALUES(2,'stopped','hash',1795255200000,X'7B7D');
INSERT INTO "orders" VALUES(3,'done','hash',1795255200000,X'7B7D');
INSERT INTO "orders" VALUES(4,'gone','hash',1795255200000,X'7B7D');
CREATE TABLE settings(name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO "settings" VALUES('shards',4);
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
INSERT INTO "tasks" VALUES(1,2,1795255200000,1795255260000,0,'due','Processing','order','running',X'7B226964223A2272756E6E696E67222C2276657273696F6E223A327D');
INSERT INTO "tasks" VALUES(2,2,1795255200000,1795255260000,2,'attention','Error','order','stopped',X'7B226964223A2273746F70706564222C2276657273696F6E223A327D');
INSERT INTO "tasks" VALUES(3,2,1795255200000,NULL,NULL,NULL,'Processed','order','done',X'7B226964223A22646F6E65222C2276657273696F6E223A327D');
CREATE INDEX tasks_due ON tasks(bucket, shard, index_at, id) WHERE bucket IS NOT NULL;
CREATE INDEX tasks_created ON tasks(created);
CREATE INDEX tasks_state ON tasks(state, created);
CREATE INDEX messages_visible ON messages(queue, visible_at, row);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('messages',1);
COMMIT;
PRAGMA user_version=1;
PRAGMA journal_mode=wal;
