PRAGMA application_id=0x5374706b;
PRAGMA user_version=2;
CREATE TABLE contents(row INTEGER PRIMARY KEY, content BLOB NOT NULL, sum BLOB NOT NULL) STRICT;
INSERT INTO "contents" VALUES(1,CAST('{"n":1.50}' AS BLOB), x'cce35763');
CREATE TABLE definitions(hash TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT;
INSERT INTO "definitions" VALUES('67d6291b301412df4a6ca7808aeafac9',CAST('{"schema":1}' AS BLOB));
CREATE TABLE ledger(
	key TEXT PRIMARY KEY,
	version INTEGER NOT NULL,
	state TEXT NOT NULL,
	attempt INTEGER NOT NULL,
	command INTEGER NOT NULL,
	code TEXT NOT NULL,
	message TEXT NOT NULL,
	output BLOB,
	sum BLOB
) STRICT;
INSERT INTO "ledger" VALUES('order-000123/0/charge',1,'failed',2,1,'refused','no',CAST('{"a":1}' AS BLOB), x'defbc768');
CREATE TABLE messages(
	row INTEGER PRIMARY KEY AUTOINCREMENT, -- never used twice, so that an old receipt hits nothing new
	queue TEXT NOT NULL,
	visible_at INTEGER NOT NULL,
	received INTEGER NOT NULL,
	sent_at INTEGER NOT NULL,
	body BLOB NOT NULL,
	sum BLOB                     -- checksum of body
) STRICT;
INSERT INTO "messages" VALUES(1,'intake',1795258800000000000,0,1795258800000000000,CAST('hello' AS BLOB),x'9a71bb4c');
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
INSERT INTO "orders" VALUES(1,6,1795255200000,1795255240000,14,'due','Processing','order','fedcba9876543210fedcba9876543210','order-000123',CAST('{"Schema":2,"OrderID":"order-000123","Version":6,"Workflow":"order","Definition":"0123456789abcdef0123456789abcdef","content":"fedcba9876543210fedcba9876543210","replyTo":"shop","ProcessState":"Processing","hops":4,"statusSeq":1,"Created":"2026-11-21T10:00:00.000Z","due":"2026-11-21T10:00:40.000Z","Steps":[{"name":"reserve-inventory","ProcessState":"Processed","attempt":1,"claimedAt":"2026-11-21T10:00:00.000Z","allowance":30000,"nth":1,"firstAt":"2026-11-21T10:00:00.000Z","quietBy":"2026-11-21T10:00:40.000Z","undoStopBy":"2026-11-21T10:00:41.000Z","finishedAt":"2026-11-21T10:00:00.015Z","output":{"id":"x-0"}},{"name":"charge-payment","ProcessState":"Processed","attempt":1,"claimedAt":"2026-11-21T10:00:00.020Z","allowance":30000,"nth":2,"firstAt":"2026-11-21T10:00:00.020Z","quietBy":"2026-11-21T10:00:40.020Z","undoStopBy":"2026-11-21T10:00:41.020Z","finishedAt":"2026-11-21T10:00:00.035Z","output":{"id":"x-1"}},{"name":"book-shipment","ProcessState":"Processed","attempt":1,"claimedAt":"2026-11-21T10:00:00.040Z","allowance":30000,"nth":3,"firstAt":"2026-11-21T10:00:00.040Z","quietBy":"2026-11-21T10:00:40.040Z","undoStopBy":"2026-11-21T10:00:41.040Z","finishedAt":"2026-11-21T10:00:00.055Z","output":{"id":"x-2"}},{"name":"send-confirmation","ProcessState":"Processing","attempt":1,"LockedBy":"scheduler-1","cause":"reply/book-shipment/1/done","claimedAt":"2026-11-21T10:00:00.060Z","stopBy":"2026-11-21T10:00:40.060Z","allowance":30000,"nth":4,"firstAt":"2026-11-21T10:00:00.060Z","CompleteBy":"2026-11-21T10:00:40.060Z","quietBy":"2026-11-21T10:00:40.060Z","undoStopBy":"2026-11-21T10:00:41.060Z"}]}' AS BLOB),x'cdc0a7fd');
INSERT INTO "orders" VALUES(2,5,1795255200000,1795258800000,NULL,NULL,'Processed','order','c','0198c3f2-5f0a-7c4e-9d1b-3a5e7f901234',CAST('{"Schema":2,"OrderID":"0198c3f2-5f0a-7c4e-9d1b-3a5e7f901234","Version":5,"Workflow":"order","Definition":"446e143373f936f9e355df30b854c7c5","Order":{"currency":"EUR","customer":{"email":"a@example.com"},"items":[{"sku":"mug","quantity":2,"unitPrice":1250,"physical":true}],"payment":{"card":"tok"},"shipTo":{"city":"Hamburg"}},"replyTo":"shop","ProcessState":"Processed","hops":4,"statusSeq":6,"startSeq":1,"startCause":"submit","endAt":"2026-11-21T10:00:03.411Z","endCause":"reply/send-confirmation/1/done","endSeq":6,"output":{"chargeId":"chargeId0123456789012345678901234567890123456","reservationId":"reservationId012345678901234567890123456","shipmentId":"shipmentId012345678901234567890123456789012"},"Created":"2026-11-21T10:00:00.000Z","Steps":[{"name":"reserve-inventory","ProcessState":"Processed","attempt":1,"claimedAt":"2026-11-21T10:00:00.000Z","nth":1,"quietBy":"2026-11-21T10:00:03.000Z","finishedAt":"2026-11-21T10:00:01.137Z","finishSeq":2,"finishCause":"reply/reserve-inventory/1/done","output":{"reservationId":"reservationId012345678901234567890123456"}},{"name":"charge-payment","ProcessState":"Processed","attempt":1,"claimedAt":"2026-11-21T10:00:00.000Z","nth":2,"quietBy":"2026-11-21T10:00:03.000Z","finishedAt":"2026-11-21T10:00:01.137Z","finishSeq":3,"finishCause":"reply/charge-payment/1/done","output":{"chargeId":"chargeId0123456789012345678901234567890123456"}},{"name":"book-shipment","ProcessState":"Processed","attempt":1,"claimedAt":"2026-11-21T10:00:01.137Z","nth":3,"quietBy":"2026-11-21T10:00:04.137Z","finishedAt":"2026-11-21T10:00:02.274Z","finishSeq":4,"finishCause":"reply/book-shipment/1/done","output":{"shipmentId":"shipmentId012345678901234567890123456789012"}},{"name":"send-confirmation","ProcessState":"Processed","attempt":1,"claimedAt":"2026-11-21T10:00:02.274Z","nth":4,"quietBy":"2026-11-21T10:00:05.274Z","finishedAt":"2026-11-21T10:00:03.411Z","finishSeq":5,"finishCause":"reply/send-confirmation/1/done","output":{"messageId":"messageId01234567890123456789012345678901234"}}]}' AS BLOB),x'2a7402ca');
INSERT INTO "orders" VALUES(3,1,NULL,1795255260000,NULL,NULL,'Processed','order','hash','expired',NULL,NULL);
CREATE TABLE probe(row INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT;
CREATE TABLE settings(name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO "settings" VALUES('commits',16);
INSERT INTO "settings" VALUES('running',0);
CREATE INDEX orders_due ON orders(bucket, shard, index_at, id) WHERE bucket IS NOT NULL;
CREATE INDEX orders_created ON orders(created) WHERE created IS NOT NULL;
CREATE INDEX orders_state ON orders(state, created) WHERE created IS NOT NULL;
CREATE INDEX orders_workflow ON orders(workflow, created) WHERE created IS NOT NULL;
CREATE INDEX messages_visible ON messages(queue, visible_at, row);
CREATE INDEX messages_sent ON messages(queue, sent_at);
