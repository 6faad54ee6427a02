package storetest_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// epoch is when the suite's tasks were created.
var epoch = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }

// far is later than every index time of the suite.
var far = time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)

// write creates the task (expected 0) with its order, or replaces its version `expected`; changes come last.
func write(id string, expected int64, changes ...func(*port.Write)) port.Write {
	w := port.Write{Expected: expected, Record: port.Record{
		ID: id, Version: expected + 1, State: "Processing", Workflow: "order", Created: epoch,
		Bucket: port.DueBucket, IndexAt: at(60), Document: fmt.Appendf(nil, `{"id":%q,"version":%d}`, id,
			expected+1),
	}}
	if expected == 0 {
		apart([]byte(`{"item":"` + id + `"}`))(&w)
	}
	for _, change := range changes {
		change(&w)
	}
	if w.Record.State == "Error" && w.Record.Bucket == port.DueBucket { // nothing of it is in flight
		w.Record.Bucket = port.AttentionBucket
	}
	return w
}

func in(bucket port.Bucket, when time.Time) func(*port.Write) {
	return func(w *port.Write) {
		w.Record.Bucket = bucket
		w.Record.IndexAt = when
	}
}

func holding(document []byte) func(*port.Write) {
	return func(w *port.Write) { w.Record.Document = document }
}

func created(when time.Time) func(*port.Write) {
	return func(w *port.Write) { w.Record.Created = when }
}

// finished is a task at rest.
func finished(w *port.Write) {
	w.Record.State = "Processed"
	w.Record.Bucket = port.NoBucket
	w.Record.IndexAt = time.Time{}
}

// apart gives a create a content of its own item.
func apart(content []byte) func(*port.Write) {
	return func(w *port.Write) {
		w.Hash = hashOf(content)
		w.Apart = true
		w.Content = content
	}
}

func hashOf(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }

// inline is an order whose content stands in its document.
func inline(w *port.Write) {
	w.Apart = false
	w.Content = nil
}

// tombstone is what a Cancel that comes first leaves (P17, a cancel is kept).
func tombstone(w *port.Write) {
	finished(w)
	inline(w)
	w.Record.State = "Cancelled"
	w.Hash = ""
}

// document is JSON of exactly that size, at least 2 bytes.
func document(size int) []byte {
	b := bytes.Repeat([]byte("abcdefghij"), size/10+1)[:size]
	b[0] = '"'
	b[size-1] = '"'
	return b
}

// operation is one call of a port; it answers, as text, all that a caller sees of the answer.
type operation func(ctx context.Context, b Backends) string

// class is what a caller can see of an error.
func class(err error) string {
	if err == nil {
		return "success"
	}
	for _, sentinel := range []error{
		port.ErrExists, port.ErrNotFound, port.ErrConflict, port.ErrTooLarge,
		port.ErrUnavailable, port.ErrReceipt, port.ErrHash,
	} {
		if errors.Is(err, sentinel) {
			return sentinel.Error()
		}
	}
	return "another error"
}

func text(b []byte) string {
	if len(b) > 2000 {
		return fmt.Sprintf("%d bytes %x", len(b), sha256.Sum256(b))
	}
	return fmt.Sprintf("%q", b)
}

// show is every field of a record. In no bucket the sort key means nothing.
func show(r *port.Record) string {
	if r == nil {
		return "none"
	}
	due := "-"
	if r.Bucket != port.NoBucket {
		due = r.IndexAt.UTC().String()
	}
	return fmt.Sprintf("%q version %d, %q %q, created %v, %q %s: %s", r.ID, r.Version, r.State, r.Workflow,
		r.Created.UTC(), r.Bucket, due, text(r.Document))
}

func commits(writes ...port.Write) operation {
	return func(ctx context.Context, b Backends) string {
		errs := b.Store.Commit(ctx, writes)
		classes := make([]string, len(errs))
		for i, err := range errs {
			classes[i] = class(err)
		}
		return strings.Join(classes, ", ")
	}
}

func places(id string, version int64, bucket port.Bucket, when time.Time) operation {
	return func(ctx context.Context, b Backends) string {
		return class(b.Store.Place(ctx, id, version, bucket, when))
	}
}

func loads(ids ...string) operation {
	return func(ctx context.Context, b Backends) string {
		records, errs := b.Store.Load(ctx, ids)
		if len(records) != len(ids) || len(errs) != len(ids) {
			return fmt.Sprintf("%d records and %d errors for %d IDs", len(records), len(errs), len(ids))
		}
		var all []string
		for i, r := range records {
			all = append(all, class(errs[i])+" "+show(r))
		}
		return strings.Join(all, "\n")
	}
}

// loadsContent reads the content of the order that is stored, and of one that was never submitted.
func loadsContent(id string, content []byte) operation {
	return func(ctx context.Context, b Backends) string {
		found, err := b.Store.Content(ctx, id, hashOf(content))
		_, other := b.Store.Content(ctx, id, hashOf([]byte("never submitted")))
		return class(err) + " " + text(found) + ", " + class(other)
	}
}

// usual is the content of an order by write.
func usual(id string) []byte { return write(id, 0).Content }

// ended asks as an actor does, if there is no record.
func ended(id string) operation {
	return func(ctx context.Context, b Backends) string {
		records, errs := b.Store.Load(ctx, []string{id})
		if errs[0] != nil || records[0] != nil {
			return class(errs[0])
		}
		ended, err := b.Store.Ended(ctx, id)
		return fmt.Sprint(class(err), " ", ended)
	}
}

// readsDue reads a whole bucket in pages of that size, shards put together, since adapters may have
// other numbers of them; within one the entries ascend by time and ID.
func readsDue(bucket port.Bucket, before time.Time, size int) operation {
	return func(ctx context.Context, b Backends) string {
		all := map[string]time.Time{}
		for shard := range b.Store.Shards() {
			var after *port.Due
			for {
				page, err := b.Store.Due(ctx, bucket, shard, before, after, size)
				if err != nil || len(page) > size {
					return fmt.Sprintf("%d entries in a page of %d, %s", len(page), size, class(err))
				}
				for i, d := range page {
					switch _, twice := all[d.ID]; {
					case twice || after != nil &&
						(d.At.Before(after.At) || d.At.Equal(after.At) && d.ID <= after.ID):
						return fmt.Sprintf("%v comes after %v", d, after)
					case port.ShardOf(d.ID, b.Store.Shards()) != shard:
						return fmt.Sprintf("%q stands in shard %d", d.ID, shard)
					}
					all[d.ID] = d.At.UTC()
					after = &page[i]
				}
				if len(page) < size {
					break
				}
			}
		}
		return fmt.Sprint(all) // maps print in the order of their keys
	}
}

// readsPage reads one page of the due bucket in the first shard.
func readsPage(before time.Time, after *port.Due, limit int) operation {
	return func(ctx context.Context, b Backends) string {
		page, err := b.Store.Due(ctx, port.DueBucket, 0, before, after, limit)
		text := class(err)
		for _, d := range page {
			text += fmt.Sprint(" ", d.ID, " ", d.At.UTC())
		}
		return text
	}
}

// lists reads a whole listing in pages of that size. Records of one millisecond are in no order that
// is promised: sorted compares them all the same.
func lists(q port.Query, size int, sorted bool) operation {
	q.Limit = size
	return func(ctx context.Context, b Backends) string {
		var all []string
		for q := q; ; {
			page, err := b.Store.List(ctx, q)
			if err != nil || len(page.Records) > size || page.Partial {
				return fmt.Sprintf("%d records in a page of %d, partial %t, %s", len(page.Records), size, page.Partial,
					class(err))
			}
			for _, record := range page.Records {
				all = append(all, show(&record))
			}
			if page.Next == "" {
				break
			}
			q.Cursor = page.Next
		}
		if sorted {
			sort.Strings(all)
		}
		return strings.Join(all, "\n")
	}
}

func forgets(ids ...string) operation {
	return func(ctx context.Context, b Backends) string { return class(b.Forget(ctx, ids)) }
}

func puts(hash string, data []byte) operation {
	return func(ctx context.Context, b Backends) string {
		return class(b.Definitions.PutDefinition(ctx, hash, data))
	}
}

func defines(hash string) operation {
	return func(ctx context.Context, b Backends) string {
		data, err := b.Definitions.Definition(ctx, hash)
		return class(err) + " " + text(data)
	}
}

func acquires(name, owner string, now time.Time, ttl time.Duration) operation {
	return func(ctx context.Context, b Backends) string {
		ours, err := b.Leases.Acquire(ctx, name, owner, now, ttl)
		return fmt.Sprint(class(err), " ", ours)
	}
}

func moves(e port.LedgerEntry) operation {
	return func(ctx context.Context, b Backends) string { return class(b.Ledger.Move(ctx, e)) }
}

func entries(key string) operation {
	return func(ctx context.Context, b Backends) string {
		e, err := b.Ledger.Entry(ctx, key)
		output := text(e.Output)
		e.Output = nil
		return fmt.Sprintf("%s %+v %s", class(err), e, output)
	}
}

// suite is an adapter, and the model that it has to answer like.
type suite struct {
	rapid.TB
	Backends
	model   Backends
	options Options
	ctx     context.Context
}

// same carries the operations out on both, one after the other, and compares the answers.
func (s *suite) same(operations ...operation) {
	s.Helper()
	for _, do := range operations {
		want := do(s.ctx, s.model)
		require.Equal(s, want, do(s.ctx, s.Backends))
	}
}

// soon compares readings that may lag behind where the adapter's index is stale.
func (s *suite) soon(operations ...operation) {
	s.Helper()
	for _, read := range operations {
		want := read(s.ctx, s.model)
		for deadline := time.Now().Add(settle); s.options.StaleIndex &&
			time.Now().Before(deadline) && read(s.ctx, s.Backends) != want; {
			time.Sleep(50 * time.Millisecond)
		}
		s.same(read)
	}
}

// settled compares all that is stored of these tasks, and of an unknown one, in places of a batch.
func (s *suite) settled(ids ...string) {
	s.Helper()
	s.same(loads(append(append([]string{"unknown"}, ids...), ids...)...))
	for _, id := range ids {
		s.same(loadsContent(id, s.contentOf(id)), ended(id))
	}
	s.soon(readsDue(port.DueBucket, far, 100), readsDue(port.AttentionBucket, far, 100),
		readsDue(port.DamagedBucket, far, 100))
	if listsFinished(s) {
		s.soon(lists(port.Query{After: s.oldest()}, 100, true))
	}
}

// oldest is a time before the creation of all rows. It is known if the rows are of the suite's time, where it saves
// an adapter to look through the days before.
func (s *suite) oldest() time.Time {
	for _, r := range s.rows() {
		if r.record != nil && r.record.Created.Before(epoch) {
			return time.Time{}
		}
	}
	return epoch
}

// rows are what the model holds. Its ports are one value, of which the Store may be wrapped.
func (s *suite) rows() map[string]row { return s.model.Ledger.(*model).rows }

// contentOf is what the model keeps apart of an order, something else if it keeps nothing.
func (s *suite) contentOf(id string) []byte {
	if content := s.rows()[id].content; content != nil {
		return content
	}
	return []byte("nothing")
}

// commit carries out a batch on both.
func (s *suite) commit(writes ...port.Write) {
	s.Helper()
	s.same(commits(writes...))
}

// answers checks the adapter's answer alone.
func (s *suite) answers(do operation, want string) {
	s.Helper()
	require.Equal(s, want, do(s.ctx, s.Backends))
}

// holds checks the adapter's record alone.
func (s *suite) holds(want port.Record) {
	s.Helper()
	s.answers(loads(want.ID), "success "+show(&want))
}

// idsOf is the IDs of the writes, each once, without the empty one.
func idsOf(batches [][]port.Write) (ids []string) {
	for _, w := range slices.Concat(batches...) {
		if id := w.Record.ID; id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}
