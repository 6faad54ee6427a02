package mutants

const (
	memoryStore  = "dev/memory/store.go"
	memoryQueue  = "dev/memory/queue.go"
	memoryLine   = "dev/memory/line.go"
	memoryLedger = "dev/memory/ledger.go"
	memoryLeases = "dev/memory/leases.go"
	sqlCommit    = "dev/sqlite/commit.go"
	sqlCommitter = "dev/sqlite/committer.go"
	sqlLedger    = "dev/sqlite/ledger.go"
	sqlQueue     = "dev/sqlite/queue.go"
	sqlReads     = "dev/sqlite/read.go"
	sqlWriter    = "dev/sqlite/writer.go"
	sqlOpen      = "dev/sqlite/open.go"
	sqlSchema    = "dev/sqlite/schema.go"
	sqlProbe     = "dev/sqlite/probe.go"
	sqlTrouble   = "dev/sqlite/trouble.go"
	sqlAdmit     = "dev/sqlite/admit.go"
	sqlSequence  = "dev/sqlite/sequence.go"
	sqlCheck     = "dev/sqlite/check.go"
	sqlExpire    = "dev/sqlite/expire.go"
	tablesStore  = "shared/dynamo/store.go"
	tablesItem   = "shared/dynamo/item.go"
	tablesErrors = "shared/dynamo/errors.go"
	stateStore   = "shared/state/store.go"
	stateCache   = "shared/state/cache.go"
	portCheck    = "shared/port/check.go"
)

// ofAdapters are mutants of the stores, the queues, and the state store above them.
var ofAdapters = []Mutant{
	{Name: "P46-normal-is-starved", File: memoryLine, Func: "line.begin", Old: "some && l.takes%normalFirst == 0", New: "false"},
	{Name: "P46-empty-polls-count", File: memoryLine, Func: "line.begin", Old: "if some {", New: "if true {"},
	{Name: "P46-priority-is-not-looked-at", File: memoryLine, Func: "line.push", Old: "if m.High {", New: "if false {"},
	{Name: "P46-a-group-that-comes-waits-for-all", File: memoryLine, Func: "turns.push", Old: "s.order.at(i-1).last > g.last", New: "false"},
	{Name: "P46-a-flood-keeps-its-turn", File: memoryLine, Func: "turns.pop", Old: "g.last = s.taken\n\ts.again(g)", New: "s.again(g)\n\tfor i := s.order.count - 1; i > 0; i-- {\n\t\ts.order.swap(i - 1)\n\t}"},
	{Name: "P46-only-the-first-group-reports-its-age", File: memoryLine, Func: "turns.trim", Old: "for range s.order.count {", New: "for range min(s.order.count, 1) {"},
	{Name: "P46-requests-of-high-orders-are-like-any", File: "shared/engine/send.go", Func: "post.add", Old: "t.Priority == message.PriorityHigh", New: "false"},
	{Name: "P46-high-goes-with-the-others", File: "shared/sqs/queue.go", Func: "Queue.Send", Old: `messages[i].High && q.high != ""`, New: "false"},
	{Name: "P46-high-is-no-backlog", File: "shared/sqs/queue.go", Func: "Queue.Depth", Old: `err != nil || q.high == ""`, New: "true"},
	{Name: "P46-high-intake-is-no-intake", File: "functions/scheduler/handle.go", Func: "Scheduler.decode", Old: "case port.Intake, port.High(port.Intake):", New: "case port.Intake:"},
	{Name: "P46-notes-in-spite-of-priorities", File: schedulerWiring, Func: "New", Old: "Priorities: settings.Priorities, ", New: ""},
	{Name: "P46-given-back-to-the-other-queue", File: agentOnLambda, Func: "Own", Old: "return queues.Queue(name)", New: "_ = name\n\t\treturn queues.Queue(port.Requests(settings.Name))"},
	{Name: "P46-start-of-a-name-stays", File: "shared/deployment/peers.go", Func: "reader.peers", Old: "High: strings.ReplaceAll(fields[3], Start, start)", New: "High: fields[3]"},
	{Name: "P46-all-functions-for-both", File: "infra/queues.go", Func: "Stepkeeper.addShared", Old: "m.MaxConcurrency -= share", New: ""},
	{Name: "P46-no-function-stays-for-the-others", File: "infra/check.go", Func: "checker.priorities", Old: "n > most-2", New: "n > most"},
	{Name: "P46-any-agent-takes-high", File: "infra/check.go", Func: "checker.clashes", Old: "p.Priorities[name] > 0", New: "false"},
	{Name: "P46-client-sends-all-alike", File: "client/aws/submit.go", Func: "transport.batch", Old: ", High: o.Priority == message.PriorityHigh", New: ""},
	{Name: "P46-client-notes-in-spite-of-priorities", File: "client/aws/submit.go", Func: "transport.batch", Old: "len(t.Outputs.High) == 0", New: "true"},
	{Name: "P46-a-queue-for-high-is-an-agent", File: "client/aws/outputs.go", Func: "ReadOutputs", Old: "delete(o.Requests, port.High(name))", New: ""},
	{Name: "P46-high-waits-for-the-others-queue", File: "client/aws/unattended.go", Func: "transport.await", Old: "queue = port.High(queue)", New: "_ = queue"},
	{Name: "api-statistics-a-gap-is-a-peak", File: "dev/embedded/statistics.go", Func: "seriesOf", Old: "place(all[i-1].at) != at-1", New: "false"},
	{Name: "client-statistics-an-old-sweep-counts", File: "client/aws/statistics.go", Func: "transport.inError", Old: "i-last >= holds", New: "holds < 0"},
	{Name: "client-statistics-read-each-time", File: "client/aws/statistics.go", Func: "transport.Statistics", Old: "now.Before(t.statistics.until)", New: "false"},
	{Name: "P46-tenants-are-not-distinguished", File: "dev/embedded/runtime.go", Func: "Runtime.wire", Old: "FairQueues: true, ", New: ""},
	{Name: "P8-memory-writes-without-condition", File: memoryStore, Func: "Store.commit", Old: "stored.record.Version != w.Expected", New: "false"},
	{Name: "P8-memory-takes-newer-writes-only", File: memoryStore, Func: "Store.commit", Old: "stored.record.Version != w.Expected", New: "stored.record.Version > w.Expected"},
	{Name: "P14-memory-creates-twice", File: memoryStore, Func: "Store.create", Old: "there {", New: "there && false {"},
	{Name: "P26-memory-runs-an-expired-order-again", File: memoryStore, Func: "Store.create", Old: "_, there := s.rows[id]; there {", New: "r, there := s.rows[id]; there && !r.expired {"},
	{Name: "P52-memory-keeps-erased-content", File: memoryStore, Func: "Store.Erase", Old: "r.content = nil", New: "_ = r"},
	{Name: "P26-memory-forgets-the-id-too", File: memoryStore, Func: "Store.Forget", Old: "*r = row{expired: true}", New: "_ = r\n\t\t\tdelete(s.rows, id)"},
	{Name: "I2-memory-loses-a-content", File: memoryStore, Func: "Store.create", Old: "content: bytes.Clone(w.Content), ", New: ""},
	{Name: "I21-memory-finds-due-a-tick-late", File: memoryStore, Func: "Store.Due", Old: "r.record.IndexAt.After(before)", New: "!r.record.IndexAt.Before(before)"},
	{Name: "P13-a-read-that-fails-fails-all", File: stateStore, Func: "Store.Load", Old: "case errs[j] != nil:", New: "case errors.Join(errs...) != nil:\n\t\t\terrs[j] = errors.Join(errs...)"},
	{Name: "P13-a-read-that-fails-is-no-task", File: stateStore, Func: "Store.Load", Old: "case errs[j] != nil:", New: "case errs[j] != nil && j < 0:"},
	{Name: "P13-dynamo-error-at-the-first-place", File: "shared/dynamo/read.go", Func: "Store.load", Old: `errs[i] = fmt.Errorf("load: %w", err)`, New: `errs[0] = fmt.Errorf("load: %w", err)`},
	{Name: "I15-memory-hands-out-its-own-record", File: memoryStore, Func: "Store.Load", Old: "copyRecord(&r.record)", New: "&r.record"},
	{Name: "P31-memory-ledger-without-condition", File: memoryLedger, Func: "Ledger.Move", Old: "stored != e.Version", New: "false"},
	{Name: "P31-memory-ledger-keeps-the-version", File: memoryLedger, Func: "Ledger.Move", Old: "e.Version++", New: ""},
	{Name: "P16-memory-lease-of-any-owner", File: memoryLeases, Func: "Leases.Acquire", Old: "now.Before(h.until)", New: "false"},
	{Name: "P16-memory-lease-for-ever", File: memoryLeases, Func: "Leases.Acquire", Old: " && now.Before(h.until)", New: ""},
	{Name: "I19-memory-old-receipt-deletes", File: memoryQueue, Func: "Queue.Delete", Old: "case e.received != received:", New: "case received < 0:"},
	{Name: "I19-memory-visible-message-is-extended", File: memoryQueue, Func: "Queue.Extend", Old: "e.received != received || e.state != inFlight", New: "e.received != received"},
	{Name: "I19-memory-dead-letter-is-lost", File: memoryQueue, Func: "Queue.settle", Old: "errs := q.config.DeadLetterTo.Send(context.WithoutCancel(ctx), []port.Message{b.message})", New: "errs := []error{nil}"},
	{Name: "I19-memory-taken-is-gone", File: memoryQueue, Func: "Queue.promote", Old: "q.stand(slot, e)", New: "if e.received > 0 { q.slab.release(slot) } else { q.stand(slot, e) }"},
	{Name: "P9a-memory-delay-is-ignored", File: memoryQueue, Func: "Queue.Send", Old: "now.Add(messages[i].Delay)", New: "now"},

	{Name: "P8-sqlite-writes-without-condition", File: sqlCommit, Func: "commit.replace", Old: "if h.version != w.Expected {", New: "w.Expected = h.version\n\tif false {"},
	{Name: "P8-sqlite-trusts-its-memory", File: sqlCommit, Func: "commit.replace", Old: "if n != 1 {", New: "if false {\n\t\t_ = n",
		Equivalent: "The update's own condition is a second guard: the heads in memory are changed by this one writer only, after its transaction was stored, and a folder has one process (its lock); so the first comparison has found every other version before. It is kept against a mistake in that reasoning."},
	{Name: "P26-sqlite-runs-an-expired-order-again", File: sqlWriter, Func: "writer.prepareAll", Old: "VALUES(?,?,?,?,?,?,?,?,?,?) ON CONFLICT(id) DO NOTHING", New: "VALUES(?,?,?,?,?,?,?,?,?,?) ON CONFLICT(id) DO UPDATE SET version=1, created=excluded.created, document=excluded.document WHERE created IS NULL"},
	{Name: "P14-sqlite-known-order-is-created-again", File: sqlCommit, Func: "commit.create", Old: "if n == 0 {", New: "if false && n == 0 {"},
	{Name: "P9-sqlite-index-is-not-moved", File: sqlCommit, Func: "commit.replace", Old: " || h.indexAt != millis(r.IndexAt)", New: ""},
	{Name: "wiring-backup-keeps-the-mark-of-an-open-file", File: "dev/sqlite/backup.go", Func: "finish", Old: "SET value=0", New: "SET value=1"},
	{Name: "wiring-backup-without-the-log", File: "dev/sqlite/backup.go", Func: "readable", Old: "return from, func() {}, nil", New: "return from + \"&immutable=1\", func() {}, nil"},
	{Name: "wiring-backup-that-lacks-commits", File: "dev/sqlite/backup.go", Func: "finish", Old: "answered > stored", New: "answered < 0"},
	{Name: "I1-sqlite-answers-before-the-commit", File: sqlCommitter, Func: "committer.carryOut", Old: "var err error", New: "for _, j := range group {\n\t\tclose(j.answered)\n\t\tj.answered = make(chan struct{})\n\t}\n\tvar err error"},
	{Name: "I1-sqlite-failed-group-counts-as-stored", File: sqlCommitter, Func: "committer.carryOut", Old: "j.err = err", New: "_ = err"},
	{Name: "I1-sqlite-one-harms-its-group", File: sqlCommitter, Func: "committer.carryOut", Old: "if err != nil && len(group) > 1 {", New: "if false {"},
	{Name: "P26-sqlite-expired-orders-are-unknown", File: sqlReads, Func: "prepareReads", Old: "WHERE id=? AND created IS NULL", New: "WHERE id=? AND created IS NULL AND false"},
	{Name: "P52-sqlite-keeps-erased-content", File: sqlWriter, Func: "writer.prepareAll", Old: "WHERE id=? AND hash=?)", New: "WHERE id=? AND hash=? AND false)"},
	{Name: "P52-sqlite-keeps-outputs-in-the-ledger", File: sqlWriter, Func: "writer.prepareAll", Old: "output=NULL, message='' WHERE key>=? AND key<?", New: "message='' WHERE key>=? AND key<?"},
	{Name: "P26-sqlite-keeps-the-content", File: sqlCommit, Func: "transaction.expire", Old: "{tx.expireTask, tx.expireContent}", New: "{tx.expireTask}"},
	{Name: "P31-sqlite-ledger-lost-move-is-no-conflict", File: sqlLedger, Func: "move.apply", Old: "o.moved = n == 1", New: "o.moved = n <= 1"},
	{Name: "P31-sqlite-ledger-without-condition", File: sqlWriter, Func: "writer.prepareAll", Old: "\"WHERE key=? AND version=?\"", New: "\"WHERE key=? AND version>=?\""},
	{Name: "P31-sqlite-ledger-first-entry-is-replaced", File: sqlWriter, Func: "writer.prepareAll", Old: "VALUES(?,?,?,?,?,?,?,?) ON CONFLICT(key) DO NOTHING", New: "VALUES(?,?,?,?,?,?,?,?) ON CONFLICT(key) DO UPDATE SET state=excluded.state"},
	{Name: "I19-sqlite-old-receipt-deletes", File: sqlWriter, Func: "writer.prepareAll", Old: "DELETE FROM messages WHERE row=? AND queue=? AND received=?", New: "DELETE FROM messages WHERE row=? AND queue=? AND received>=?"},
	{Name: "I21-sqlite-finds-due-a-tick-late", File: sqlReads, Func: "prepareReads", Old: "{&r.due, dueQuery}", New: "{&r.due, strings.Replace(dueQuery, \"<=\", \"<\", 1)}"},
	{Name: "P8-sqlite-refuses-by-a-stale-head", File: sqlCommitter, Func: "committer.report", Old: "c.cache.put(id, h)", New: "if c.cache.get(id) == nil { c.cache.put(id, h) }"},
	{Name: "sqlite-no-rollback", File: sqlCommitter, Func: "committer.abort", Old: "_, _ = c.writer.rollback.exec()", New: ""},
	{Name: "I19-sqlite-extends-what-is-visible-again", File: sqlWriter, Func: "writer.prepareAll", Old: "AND received=? AND visible_at>?", New: "AND received=? AND visible_at>0*?"},
	{Name: "sqlite-expires-all-at-once", File: sqlExpire, Func: "transaction.expireOld", Old: ", limit)", New: ", 1<<40)"},
	{Name: "sqlite-messages-of-queues-that-are-gone-stay", File: sqlExpire, Func: "expire.messages", Old: "retention := strayRetention", New: "retention := time.Duration(0)"},
	{Name: "sqlite-one-queue-expires", File: sqlExpire, Func: "expire.messages", Old: "o.Messages += n", New: "o.Messages += n\n\t\tif n > 0 { return nil }"},
	{Name: "sqlite-keeps-from-the-first-rest", File: sqlCommit, Func: "commit.replace", Old: "r.Bucket == port.NoBucket || ", New: ""},
	{Name: "P26-sqlite-expiry-removes-the-order", File: sqlWriter, Func: "writer.prepareAll", Old: "UPDATE orders SET created=NULL, shard=NULL, bucket=NULL, document=NULL WHERE row=?", New: "DELETE FROM orders WHERE row=?"},
	{Name: "P26-sqlite-keeps-for-an-hour-if-asked", File: sqlOpen, Func: "Open", Old: "o.Keep < MinKeep", New: "o.Keep < 0"},
	{Name: "P31-sqlite-expires-the-ledger-of-others", File: sqlExpire, Func: "ledgerKeys", Old: `id + "/", id + "0"`, New: `id, id + "~"`},
	{Name: "sqlite-file-is-not-marked-as-open", File: sqlAdmit, Func: "Store.mark", Old: "value=1", New: "value=0"},
	{Name: "sqlite-mark-stands-in-the-log-alone", File: sqlAdmit, Func: "Store.mark", Old: "; PRAGMA wal_checkpoint(TRUNCATE)", New: ""},
	{Name: "sqlite-mark-stays-after-a-clean-end", File: sqlAdmit, Func: "Store.unmark", Old: "if !s.marked {", New: "if s.marked {"},
	{Name: "sqlite-missing-log-is-not-noticed", File: sqlSequence, Func: "checkSequence", Old: "unclean && !f.log", New: "unclean && f.log && false"},
	{Name: "sqlite-lost-commits-are-not-noticed", File: sqlSequence, Func: "checkSequence", Old: "answered > stored", New: "answered > stored+1<<40"},
	{Name: "sqlite-file-is-not-checked", File: sqlAdmit, Func: "checking.admit", Old: "return c.atStart(ctx, from)", New: "c.whole = true\n\treturn nil"},
	{Name: "sqlite-unfinished-check-ends", File: sqlCheck, Func: "Store.goOn", Old: "if s.checking.whole {", New: "if true {"},
	{Name: "sqlite-damage-hides-orders", File: sqlTrouble, Func: "Store.missing", Old: "found != nil", New: "found != nil && false"},
	{Name: "sqlite-full-disk-loses-the-log", File: sqlAdmit, Func: "Store.unmark", Old: "(\"main\", 1)", New: "(\"main\", 0)"},
	{Name: "sqlite-others-may-read", File: sqlSequence, Func: "protect", Old: "os.Chmod(name, private)", New: "os.Chmod(name, private|0o044)"},
	{Name: "sqlite-lock-is-a-file", File: sqlOpen, Func: "lockFolder", Old: "flock.New(folder, flock.SetFlag(os.O_RDONLY))", New: "flock.New(filepath.Join(folder, \"lock\"))"},
	{Name: "sqlite-takes-the-tables-of-another-program", File: sqlAdmit, Func: "checking.admit", Old: "tables != 2", New: "tables < 0"},
	{Name: "sqlite-takes-an-empty-file", File: sqlAdmit, Func: "inspect", Old: "if len(header) == 0 {", New: "if len(header) == 0 {\n\t\tf.file = false\n\t\treturn f, os.Remove(file)\n\t}\n\tif false {"},
	{Name: "sqlite-opens-a-newer-file", File: sqlSchema, Func: "makeTables", Old: "version == schemaVersion:", New: "version >= schemaVersion:"},
	{Name: "sqlite-opens-the-file-of-a-preview", File: "dev/sqlite/admit.go", Func: "checking.admit", Old: "case old > 0:", New: "case old > 1:"},
	{Name: "sqlite-probe-writes-nothing", File: sqlProbe, Func: "probe.apply", Old: "_, err = tx.addProbe.exec(o.bytes)", New: "err = nil"},
	{Name: "sqlite-lists-by-the-commoner", File: sqlReads, Func: "Store.rarer", Old: ")) < (SELECT", New: ")) > (SELECT"},
	{Name: "sqlite-damage-is-forgotten", File: sqlTrouble, Func: "Store.explained", Old: "s.damage.CompareAndSwap(nil, &err)", New: ""},

	{Name: "P8-dynamo-writes-without-condition", File: tablesStore, Func: "Store.putVersion", Old: `"#version = :expected"`, New: `"#version <= :expected"`},
	{Name: "P8-dynamo-older-version-reopens-a-task", File: tablesStore, Func: "Store.putVersion", Old: `"#version = :expected"`, New: `"#version >= :expected"`},
	{Name: "A15-task-under-way-expires", File: tablesItem, Func: "Store.index", Old: "r.Bucket == port.NoBucket && s.options.TTL > 0", New: "s.options.TTL > 0"},
	{Name: "A15-ended-task-never-expires", File: tablesItem, Func: "Store.index", Old: "r.Bucket == port.NoBucket && s.options.TTL > 0", New: "r.Bucket != port.NoBucket && s.options.TTL > 0"},
	{Name: "A15-expiry-in-milliseconds", File: "shared/dynamo/expiry.go", Func: "Store.expiresAt", Old: "Add(s.options.TTL).Unix()", New: "Add(s.options.TTL).UnixMilli()"},
	{Name: "A16-lease-in-seconds", File: "shared/dynamo/leases.go", Func: "Store.Acquire", Old: "now.Add(ttl).UnixMilli()", New: "now.Add(ttl).Unix()"},
	{Name: "A12-definition-is-written-each-time", File: "shared/dynamo/definitions.go", Func: "Store.PutDefinition", Old: "err == nil && len(there) > 0 {", New: "err == nil && len(there) < 0 {"},
	{Name: "P12-definition-that-cannot-be-looked-for", File: "shared/dynamo/definitions.go", Func: "Store.PutDefinition", Old: "err == nil && len(there) > 0 {", New: "err != nil || len(there) > 0 {"},
	{Name: "P14-dynamo-creates-twice", File: tablesStore, Func: "Store.create", Old: `"attribute_not_exists(#id)"`, New: `"attribute_exists(#id) OR attribute_not_exists(#id)"`},
	{Name: "I2-dynamo-order-before-its-content", File: tablesStore, Func: "Store.create", Old: "if w.Apart {", New: "if false {\n\t\t_ = w.Apart"},
	{Name: "A10-handlers-give-up-after-three-attempts", File: "shared/dynamo/client.go", Func: "NewHandlerClient", Old: "maxBackoff), 0)", New: "maxBackoff), 3)"},
	{Name: "A10-handlers-retries-have-a-quota", File: "shared/dynamo/client.go", Func: "NewHandlerClient", Old: "so.RateLimiter = ratelimit.None", New: "_ = ratelimit.None"},
	{Name: "A10-an-attempt-may-hang", File: "shared/dynamo/client.go", Func: "NewHandlerClient", Old: "wire.LimitAttempts(attemptTime), ", New: ""},
	{Name: "A10-retries-take-all-of-the-handlers-time", File: "shared/dynamo/client.go", Func: "NewHandlerClient", Old: "wire.UntilShortlyBefore(leftOver)", New: "wire.UntilShortlyBefore(-leftOver)"},
	{Name: "A10-a-conflict-of-transactions-is-not-repeated", File: "shared/dynamo/client.go", Func: "retryPassing", Old: "if passing(err) {", New: "if false && passing(err) {"},
	{Name: "A10-throttled-to-the-end-counts-as-perhaps-stored", File: tablesErrors, Func: "meaning", Old: "!errors.As(err, &api) && !doubt && ctx.Err() == nil", New: "!errors.As(err, &api) && !doubt && ctx.Err() != nil"},
	{Name: "P8-dynamo-own-write-is-anothers", File: tablesStore, Func: "Store.replace", Old: "case there == nil || mine(there, writer):", New: "case there == nil:"},
	{Name: "P8-dynamo-overtaken-counts-as-refused", File: tablesErrors, Func: "refusal", Old: "doubt && stored > version", New: "false && stored > version && doubt"},
	{Name: "P8-dynamo-conflict-counts-as-doubt", File: tablesErrors, Func: "refusal", Old: "doubt && stored > version", New: "stored > version || doubt && false"},
	{Name: "P8-dynamo-lost-then-throttled-counts-as-refused", File: tablesErrors, Func: "meaning", Old: "case doubt:", New: "case doubt && false:"},
	{Name: "P8-dynamo-throttle-by-a-5xx-counts-as-refused", File: tablesErrors, Func: "refused", Old: " && answer.HTTPStatusCode() < http.StatusInternalServerError", New: " && http.StatusOK > 0"},
	{Name: "I19-dynamo-bad-gateway-is-final", File: tablesErrors, Func: "unread", Old: "ctx.Err() != nil || final", New: "ctx.Err() != nil || final || errors.As(err, &api) && api.ErrorFault() != smithy.FaultServer && !slices.Contains(throttles, api.ErrorCode())"},

	{Name: "P8-cache-keeps-what-was-not-stored", File: stateStore, Func: "Store.Commit", Old: "gens[j], err == nil)", New: "gens[j], true)"},
	{Name: "P8-cache-keeps-an-overtaken-load", File: stateCache, Func: "cache.loaded", Old: "*c.stripe(t.OrderID) == gen && ", New: "gen >= 0 && "},
	{Name: "P8-cache-lets-an-older-version-back", File: stateCache, Func: "cache.set", Old: "if e.task.Version > t.Version {", New: "if false {"},
	{Name: "P8-cache-keeps-one-of-two-commits", File: stateCache, Func: "cache.committed", Old: "!stored || !alone ||", New: "!stored || alone && false ||"},
	{Name: "P12-definition-is-pinned-before-it-is-stored", File: stateStore, Func: "Store.keep", Old: "err := s.cfg.Definitions.PutDefinition(ctx, def.Hash, data); err != nil", New: "err := error(nil); data == nil"},
	{Name: "P12-definition-of-other-bytes-is-stored", File: portCheck, Func: "CheckDefinition", Old: "of != hash", New: "of == \"\""},
	{Name: "P8-record-of-another-version-is-believed", File: stateStore, Func: "taskOf", Old: "t.Version != r.Version || t.OrderID != r.ID", New: "false"},
	{Name: "P28-document-of-any-size-is-sent", File: stateStore, Func: "Store.writeOf", Old: "len(doc) > s.cfg.Limit", New: "false"},
	{Name: "P9-index-is-not-written", File: stateStore, Func: "Store.writeOf", Old: "bucket, at := core.Index(t)", New: "bucket, at := core.Index(t)\n\tif t.Version > 1 { bucket, at = \"\", 0 }"},
	{Name: "I15-version-goes-on-by-two", File: stateStore, Func: "Store.writeOf", Old: "Expected: t.Version - 1", New: "Expected: max(0, t.Version-2)"},
}

// ofExpiry are noticed by tests that need a DynamoDB.
var ofExpiry = []Mutant{
	{Name: "P26-dynamo-runs-an-expired-order-again", File: tablesStore, Func: "Store.create", Old: "err != nil || ended {", New: "err != nil {\n\t\t\t_ = ended"},
	{Name: "P52-dynamo-late-create-brings-content-back", File: "shared/dynamo/expiry.go", Func: "Store.putContent", Old: "attribute_not_exists(#erased)", New: "attribute_not_exists(#erased) OR attribute_exists(#erased)"},
	{Name: "P52-dynamo-erased-content-never-expires", File: "shared/dynamo/expiry.go", Func: "Store.Erase", Old: "s.options.TTL > 0", New: "false"},
	{Name: "P52-dynamo-refused-content-stays", File: "shared/dynamo/store.go", Func: "Store.create", Old: "s.dropRefused(ctx, w, there)", New: ""},
	{Name: "P26-dynamo-no-tombstone", File: tablesStore, Func: "Store.replace", Old: "if resting {", New: "if false {"},
	{Name: "P26-dynamo-content-expires-under-an-open-order", File: tablesStore, Func: "Store.replace", Old: "s.options.TTL > 0 && w.Apart && !resting", New: "s.options.TTL > 0 && w.Apart && !resting && false"},
	{Name: "P26-dynamo-content-never-expires", File: tablesStore, Func: "Store.replace", Old: "if resting && w.Apart {", New: "if false {"},
	{Name: "P26-dynamo-tombstone-before-a-create", File: "shared/dynamo/expiry.go", Func: "Store.expires", Old: " && w.Expected > 0", New: ""},
}
