PRAGMA application_id=0x5374706b;
PRAGMA user_version=1;
CREATE TABLE contents(row INTEGER PRIMARY KEY, content BLOB NOT NULL) STRICT;
INSERT INTO "contents" VALUES(1,CAST('{"n":1.50}' AS BLOB));
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
	output BLOB
) STRICT;
INSERT INTO "ledger" VALUES('order-000123/0/charge',1,'failed',2,1,'refused','no',CAST('{"a":1}' AS BLOB));
CREATE TABLE messages(
	row INTEGER PRIMARY KEY AUTOINCREMENT, -- never used twice, so that an old receipt hits nothing new
	queue TEXT NOT NULL,
	visible_at INTEGER NOT NULL,
	received INTEGER NOT NULL,
	sent_at INTEGER NOT NULL,
	body BLOB NOT NULL
) STRICT;
INSERT INTO "messages" VALUES(1,'intake',1795258800000000000,0,1795258800000000000,CAST('hello' AS BLOB));
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
	document BLOB
) STRICT;
INSERT INTO "orders" VALUES(1,6,1795255200000,1795255240000,14,'due','Processing','order','fedcba9876543210fedcba9876543210','order-000123',CAST('{"Schema":1,"OrderID":"order-000123","Created":"2026-11-21T10:00:00.000Z","ProcessState":"Processing","LockedBy":"scheduler-1","CompleteBy":1795255240060,"Version":6,"Workflow":"order","Definition":"0123456789abcdef0123456789abcdef","content":"fedcba9876543210fedcba9876543210","replyTo":"shop","Steps":{"reserve-inventory":{"ProcessState":"Processed","nth":1,"try":1,"at":0,"firstAt":0,"quiet":40000,"undoStop":41000,"allow":30000,"end":15,"output":{"id":"x-0"}},"charge-payment":{"N":1,"ProcessState":"Processed","nth":2,"try":1,"at":20,"firstAt":20,"quiet":40020,"undoStop":41020,"allow":30000,"end":35,"output":{"id":"x-1"}},"book-shipment":{"N":2,"ProcessState":"Processed","nth":3,"try":1,"at":40,"firstAt":40,"quiet":40040,"undoStop":41040,"allow":30000,"end":55,"output":{"id":"x-2"}},"send-confirmation":{"N":3,"ProcessState":"Processing","LockedBy":"scheduler-1","CompleteBy":1795255240060,"nth":4,"try":1,"at":60,"firstAt":60,"stop":40060,"quiet":40060,"undoStop":41060,"allow":30000,"cause":"reply/book-shipment/1/done"}},"hops":4,"seq":1,"due":40000}' AS BLOB));
INSERT INTO "orders" VALUES(2,5,1795255200000,1795258800000,NULL,NULL,'Processed','order','c','0198c3f2-5f0a-7c4e-9d1b-3a5e7f901234',CAST('{"Schema":1,"OrderID":"0198c3f2-5f0a-7c4e-9d1b-3a5e7f901234","Created":"2026-11-21T10:00:00.000Z","ProcessState":"Processed","Version":5,"Workflow":"order","Definition":"446e143373f936f9e355df30b854c7c5","Order":{"currency":"EUR","customer":{"email":"a@example.com"},"items":[{"sku":"mug","quantity":2,"unitPrice":1250,"physical":true}],"payment":{"card":"tok"},"shipTo":{"city":"Hamburg"}},"replyTo":"shop","Steps":{"reserve-inventory":{"ProcessState":"Processed","nth":1,"try":1,"at":0,"quiet":3000,"end":1137,"endSeq":2,"endCause":"reply/reserve-inventory/1/done","output":{"reservationId":"reservationId012345678901234567890123456"}},"charge-payment":{"N":1,"ProcessState":"Processed","nth":2,"try":1,"at":0,"quiet":3000,"end":1137,"endSeq":3,"endCause":"reply/charge-payment/1/done","output":{"chargeId":"chargeId0123456789012345678901234567890123456"}},"book-shipment":{"N":2,"ProcessState":"Processed","nth":3,"try":1,"at":1137,"quiet":4137,"end":2274,"endSeq":4,"endCause":"reply/book-shipment/1/done","output":{"shipmentId":"shipmentId012345678901234567890123456789012"}},"send-confirmation":{"N":3,"ProcessState":"Processed","nth":4,"try":1,"at":2274,"quiet":5274,"end":3411,"endSeq":5,"endCause":"reply/send-confirmation/1/done","output":{"messageId":"messageId01234567890123456789012345678901234"}}},"hops":4,"seq":6,"startSeq":1,"startCause":"submit","ended":3411,"endSeq":6,"endCause":"reply/send-confirmation/1/done","output":{"chargeId":"chargeId0123456789012345678901234567890123456","reservationId":"reservationId012345678901234567890123456","shipmentId":"shipmentId012345678901234567890123456789012"}}' AS BLOB));
INSERT INTO "orders" VALUES(3,1,NULL,1795255260000,NULL,NULL,'Processed','order','hash','expired',NULL);
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
