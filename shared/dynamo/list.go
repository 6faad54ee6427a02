package dynamo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// ErrNotListed means that the query selects finished tasks, and that the index does not contain these tasks.
var ErrNotListed = errors.New(
	"finished orders are not in the index: ask for one by its ID, or deploy with the index of finished " +
		"orders, which costs one more write an order")

const (
	mostListed   = 20_000 // open tasks above which List returns an error, or a part of them
	partListed   = 10_000 // open tasks of such a part, whose documents fit into the memory of a function
	finishedDays = 30     // days that List searches for finished tasks if the query has no start time
)

var finishedStates = []string{"Processed", "Compensated", "Cancelled", "Closed"}

// List returns open tasks and tasks that wait for the operator, newest first. With Options.FinishedIndex it
// also returns finished tasks. Without this option, a query for a finished state returns ErrNotListed.
//
// No index sorts open tasks by their time of creation, so each call reads all entries of the buckets due and
// attention, or of attention only (see buckets). If there are more than mostListed entries, List returns an
// error, or with Query.Partial the records of partListed entries. If many tasks are open, List reuses tasks that
// an earlier call has read; see the type recent.
func (s *Store) List(ctx context.Context, q port.Query) (port.Page, error) {
	var page port.Page
	if q.Limit < 1 || q.Limit > 1000 {
		return page, fmt.Errorf("listing with limit %d: give 1 to 1000", q.Limit)
	}
	finished := slices.Contains(finishedStates, q.State)
	if finished && !s.options.FinishedIndex {
		return page, fmt.Errorf("listing state %s: %w", q.State, ErrNotListed)
	}
	if q.Oldest && s.options.FinishedIndex && (finished || q.State == "") {
		return page, errors.New("the oldest order is known only of open orders: give their state")
	}
	from, err := parseCursor(q.Cursor)
	if err != nil {
		return page, err
	}
	l := listing{Store: s, query: q, from: from}
	found, partial, err := l.open(ctx)
	if err != nil {
		return page, fmt.Errorf("listing: %w", err)
	}
	page.Partial = partial
	if q.Oldest {
		found = found[max(len(found)-1, 0):]
	} else if s.options.FinishedIndex && (finished || q.State == "") && !q.Damaged {
		found, err = l.finished(ctx, found)
		if err != nil {
			return page, fmt.Errorf("listing: %w", err)
		}
	}
	if len(found) > q.Limit {
		last := found[q.Limit-1]
		page.Next = last.Created.UTC().Format(timeLayout) + "#" + last.ID
		found = found[:q.Limit]
	}
	for _, r := range found {
		page.Records = append(page.Records, *r)
	}
	return page, nil
}

type listing struct {
	*Store
	query port.Query
	from  *port.Due // last record of the previous page; nil for the first page
}

func parseCursor(text string) (*port.Due, error) {
	if text == "" {
		return nil, nil
	}
	at, id, _ := strings.Cut(text, "#")
	created, err := time.Parse(timeLayout, at)
	if err != nil || id == "" {
		return nil, fmt.Errorf("%w: %.40q is not one of a page of this store; start again without a cursor",
			port.ErrCursor, text)
	}
	return &port.Due{ID: id, At: created}, nil
}

// newestFirst compares two records, so that a sort puts the newer record first. It sorts records of the same
// millisecond by ID, in descending sequence.
func newestFirst(a, b *port.Record) int {
	return cmp.Or(b.Created.Compare(a.Created), strings.Compare(b.ID, a.ID))
}

// open returns the matching records of the buckets due, attention and damaged. It reads the bucket due first, because
// an order that enters Error moves from due to attention. If open read both buckets at the same time, it
// could miss such an order. partial is true if there are too many entries, and the query accepts a part.
func (l *listing) open(ctx context.Context) (found []*port.Record, partial bool, err error) {
	var entries []port.Due
	for _, b := range l.buckets() {
		var partitions []string
		for shard := range l.options.Shards {
			partitions = append(partitions, fmt.Sprintf("%s#%d", b, shard))
		}
		some, err := l.entries(ctx, partitions, mostListed+1)
		if err != nil {
			return nil, false, err
		}
		entries = append(entries, some...)
	}
	partial = len(entries) > mostListed
	if partial && !l.query.Partial {
		return nil, false,
			fmt.Errorf(
				"more than %d orders are open, too many to be listed by their age; ask for one by its ID",
				mostListed)
	}
	if partial {
		entries = entries[len(entries)-partListed:] // the orders that wait for the operator are the last
	}
	found, err = l.kept(l.openRecords(ctx, entries))
	return found, partial, err
}

// buckets returns the buckets that can contain tasks of the query. A task in Error is in the bucket due while
// it has a step in flight or an end to report. Afterwards it is in the bucket attention. A query for Error
// without InFlight does not ask for tasks in the bucket due. A task that cannot be read may have any state.
func (l *listing) buckets() []port.Bucket {
	switch {
	case l.query.Damaged:
		return []port.Bucket{port.DamagedBucket}
	case l.query.State == "Error" && !l.query.InFlight:
		return []port.Bucket{port.AttentionBucket, port.DamagedBucket}
	}
	return []port.Bucket{port.DueBucket, port.AttentionBucket, port.DamagedBucket}
}

func (l *listing) entries(ctx context.Context, partitions []string, limit int) ([]port.Due, error) {
	found := make([][]port.Due, len(partitions))
	calls, ctx := errgroup.WithContext(ctx)
	calls.SetLimit(l.options.Parallel)
	for i, p := range partitions {
		calls.Go(func() error {
			return port.Guard(nil, "a read", func() (err error) {
				found[i], _, err = partition{l.Store, p}.entries(ctx, earliestKey, latestKey, limit)
				return err
			})
		})
	}
	err := calls.Wait()
	return slices.Concat(found...), err
}

// selected loads the records of the entries. It returns each matching record once, newest first.
func (l *listing) selected(ctx context.Context, entries []port.Due) ([]*port.Record, error) {
	ids := make([]string, len(entries))
	for i := range entries {
		ids[i] = entries[i].ID
	}
	slices.Sort(ids) // a stale index may contain an ID twice
	return l.kept(l.load(ctx, slices.Compact(ids), false))
}

// kept returns the records that match the query, newest first.
func (l *listing) kept(records []*port.Record, errs []error) ([]*port.Record, error) {
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	records = slices.DeleteFunc(records, func(r *port.Record) bool { return r == nil || !l.selects(r) })
	slices.SortFunc(records, newestFirst)
	return records, nil
}

func (l *listing) selects(r *port.Record) bool {
	return l.query.Selects(r) &&
		(l.from == nil || newestFirst(&port.Record{ID: l.from.ID, Created: l.from.At}, r) < 0)
}

// finished adds finished tasks to found. It reads one day at a time, from the newest day to the oldest, and
// stops when the page is full.
func (l *listing) finished(ctx context.Context, found []*port.Record) ([]*port.Record, error) {
	newest, oldest := l.days()
	for day := newest; !day.Before(oldest); day = day.AddDate(0, 0, -1) {
		var err error
		found, err = l.day(ctx, day, found)
		if err != nil || l.full(found, day) {
			return found, err
		}
	}
	return found, nil
}

// full reports whether found contains more than a page of records that are not older than the given time.
func (l *listing) full(found []*port.Record, since time.Time) bool {
	return len(found) > l.query.Limit && !found[l.query.Limit].Created.Before(since)
}

// day adds the finished tasks of one day to found. It reads some of the newest entries of each shard at a time, and
// stops when the page is full, because a day can have millions of tasks.
func (l *listing) day(ctx context.Context, day time.Time, found []*port.Record) ([]*port.Record, error) {
	for shards := l.shardsOf(day); ; {
		entries, complete, err := l.next(ctx, shards)
		if err != nil {
			return nil, err
		}
		more, err := l.selected(ctx, slices.DeleteFunc(entries, func(d port.Due) bool {
			return !l.selects(l.like(d))
		}))
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
		slices.SortFunc(found, newestFirst)
		found = slices.CompactFunc(found, func(a, b *port.Record) bool { return a.ID == b.ID })
		if complete.IsZero() || l.full(found, complete) {
			return found, nil
		}
	}
}

// shardsOf returns a query for each shard of one day in the index of finished tasks. It returns none if the listing
// asks for no time.
func (l *listing) shardsOf(day time.Time) (shards []*dynamodb.QueryInput) {
	start := int64(earliestKey)
	end := int64(latestKey)
	if l.from != nil {
		end = sortKey(l.from.At)
	}
	if b := l.query.Before; !b.IsZero() {
		end = min(end, sortKey(b))
	}
	if a := l.query.After; !a.IsZero() {
		start = sortKey(a)
	}
	for shard := 0; shard < l.options.Shards && start <= end; shard++ {
		q := partition{l.Store, fmt.Sprintf("%s%s#%d", finishedPrefix, day.Format(time.DateOnly), shard)}.query(start, end)
		q.ScanIndexForward = new(bool) // the newest entry is the first
		shards = append(shards, q)
	}
	return shards
}

// next reads the next entries of all shards. It removes the queries of shards without further ones. All unread
// entries are older than the time complete, which is zero if there are none.
func (l *listing) next(ctx context.Context, shards []*dynamodb.QueryInput) (found []port.Due, complete time.Time,
	err error,
) {
	read := make([][]port.Due, len(shards))
	calls, ctx := errgroup.WithContext(ctx)
	calls.SetLimit(l.options.Parallel)
	for i, q := range shards {
		if q == nil {
			continue
		}
		calls.Go(func() error {
			return port.Guard(nil, "a read", func() (err error) {
				read[i], err = l.page(ctx, q, 2*l.query.Limit/len(shards)+2)
				return err
			})
		})
	}
	err = calls.Wait()
	for i, q := range shards {
		switch {
		case q == nil:
		case len(q.ExclusiveStartKey) == 0:
			shards[i] = nil
		default: // further entries may be of the same millisecond
			last := indexTime(q.ExclusiveStartKey).Add(time.Millisecond)
			if last.After(complete) {
				complete = last
			}
		}
	}
	return slices.Concat(read...), complete, err
}

// like returns a record for an entry of the index of finished tasks. An entry contains only the ID and the
// time of creation. The record has the State and Workflow of the query, so that the query checks only the
// time.
func (l *listing) like(d port.Due) *port.Record {
	return &port.Record{ID: d.ID, Created: d.At, State: l.query.State, Workflow: l.query.Workflow}
}

func (l *listing) days() (newest, oldest time.Time) {
	newest = l.options.Clock.Now().Add(24 * time.Hour) // another program's clock may be ahead
	oldest = newest.AddDate(0, 0, -finishedDays)
	if b := l.query.Before; !b.IsZero() && b.Before(newest) {
		newest = b
	}
	if l.from != nil && l.from.At.Before(newest) {
		newest = l.from.At
	}
	if a := l.query.After; !a.IsZero() {
		oldest = a
	}
	return newest.UTC().Truncate(24 * time.Hour), oldest.UTC().Truncate(24 * time.Hour)
}
