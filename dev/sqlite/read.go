package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// prepared returns the prepared form of a query. There are few texts of queries.
func (s *Store) prepared(ctx context.Context, text string) (*sql.Stmt, error) {
	if found, known := s.reads.Load(text); known {
		return found.(*sql.Stmt), nil
	}
	made, err := s.readers.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	found, known := s.reads.LoadOrStore(text, made)
	if known {
		_ = made.Close() // another goroutine was faster
	}
	return found.(*sql.Stmt), nil
}

// each calls row for each row of the result of a query.
func (s *Store) each(ctx context.Context, row func(*sql.Rows) error, text string, args ...any) error {
	query, err := s.prepared(ctx, text)
	if err != nil {
		return s.explained(err)
	}
	rows, err := query.QueryContext(ctx, args...)
	if err != nil {
		return s.explained(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows); err != nil {
			return s.scanned(err)
		}
	}
	return s.explained(rows.Err())
}

// first reads the first row of the result of a query. It returns false if there is no row.
func (s *Store) first(ctx context.Context, to []any, text string, args ...any) (found bool, err error) {
	query, err := s.prepared(ctx, text)
	if err == nil {
		err = query.QueryRowContext(ctx, args...).Scan(to...)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, s.scanned(err)
}

const recordColumns = "t.id, t.version, t.state, t.workflow, t.created, t.bucket, t.index_at, t.hash, " +
	"t.document, t.sum"

// Load returns the newest records. One query reads all records, so an error of the query is the error of each
// record.
func (s *Store) Load(ctx context.Context, ids []string) ([]*port.Record, []error) {
	records := make([]*port.Record, len(ids))
	errs := make([]error, len(ids))
	if err := ctx.Err(); err != nil {
		return records, slices.Repeat([]error{err}, len(ids))
	}
	if len(ids) == 0 {
		return records, errs
	}
	found, err := s.loadRows(ctx, ids)
	err = cmp.Or(err, s.hidden())
	for i, id := range ids {
		if r, there := found[id]; there {
			records[i] = &r
		} else if err != nil {
			errs[i] = fmt.Errorf("loading %d tasks: %w", len(ids), err)
		}
	}
	return records, errs
}

func (s *Store) loadRows(ctx context.Context, ids []string) (map[string]port.Record, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	found := make(map[string]port.Record, len(ids))
	err = s.each(ctx, func(rows *sql.Rows) error {
		r, err := scanRecord(rows)
		if err == nil && !slices.Contains(ids, r.ID) {
			err = fmt.Errorf("%w: task %q stands in the place of another", ErrDamaged, r.ID)
		}
		found[r.ID] = r
		return err
	}, "SELECT "+recordColumns+" FROM orders t WHERE t.created IS NOT NULL AND t.id IN "+
		"(SELECT value FROM json_each(?))", string(list))
	if err != nil {
		return nil, err
	}
	return found, nil
}

// scanRecord reads the columns of recordColumns. It reads additional columns into extra.
func scanRecord(rows *sql.Rows, extra ...any) (port.Record, error) {
	var r port.Record
	var created int64
	var bucket sql.NullString
	var at sql.NullInt64
	var sum []byte
	err := rows.Scan(append([]any{
		&r.ID, &r.Version, &r.State, &r.Workflow, &created, &bucket, &at,
		&r.Hash, &r.Document, &sum,
	}, extra...)...)
	if changed(r.Document, sum) {
		r.Damage = "the database file was changed after the order was stored: the document does not match its " +
			"checksum"
	}
	r.Created = fromMillis(created)
	r.Bucket = port.Bucket(bucket.String)
	if bucket.Valid {
		r.IndexAt = fromMillis(at.Int64)
	}
	return r, err
}

// Content returns the content that is stored outside the order's record. The error is core.ErrUnfit if the file was
// changed after the content was stored.
func (s *Store) Content(ctx context.Context, id, hash string) (content []byte, err error) {
	var sum []byte
	found, err := s.first(ctx, []any{&content, &sum},
		"SELECT c.content, c.sum FROM orders o JOIN contents c ON c.row = o.row WHERE o.id=? AND o.hash=?", id, hash)
	switch {
	case err != nil:
		return nil, fmt.Errorf("loading the content of order %q: %w", id, err)
	case !found:
		return nil, fmt.Errorf("content of order %q: %w", id, cmp.Or(s.hidden(), port.ErrNotFound))
	case changed(content, sum):
		return nil, fmt.Errorf("%w: the database file was changed after the order was stored: its content does "+
			"not match its checksum", core.ErrUnfit)
	}
	return content, nil
}

// Ended reports whether the record of an order has expired.
func (s *Store) Ended(ctx context.Context, id string) (bool, error) {
	var row int64
	ended, err := s.first(ctx, []any{&row}, "SELECT row FROM orders WHERE id=? AND created IS NULL", id)
	if !ended {
		err = cmp.Or(err, s.hidden())
	}
	if err != nil {
		return false, fmt.Errorf("looking for order %q: %w", id, err)
	}
	return ended, nil
}

// SQLite prepares a statement with LIMIT ? anew after each bind, because the limit is part of its plan. It does
// not know the value of an expression: LIMIT 0+? takes a fifth of the time.
const (
	dueQuery = "SELECT id, index_at FROM orders WHERE bucket=? AND shard=? AND index_at<=? ORDER BY " +
		"index_at, id LIMIT 0+?"
	dueAfterQuery = "SELECT id, index_at FROM orders WHERE bucket=? AND shard=? AND index_at<=? AND " +
		"(index_at, id) > (?, ?) ORDER BY index_at, id LIMIT 0+?"
)

// Due returns the due entries of one shard, earliest first. It includes all acknowledged commits.
func (s *Store) Due(ctx context.Context, bucket port.Bucket, shard int, before time.Time, after *port.Due,
	limit int,
) ([]port.Due, error) {
	if limit < 1 || bucket == port.NoBucket {
		return nil, nil
	}
	text := dueQuery
	args := []any{string(bucket), shard, before.UnixMilli()}
	if after != nil {
		text = dueAfterQuery
		args = append(args, millis(after.At), after.ID)
	}
	var found []port.Due
	err := s.each(ctx, func(rows *sql.Rows) error {
		var d port.Due
		var at int64
		err := rows.Scan(&d.ID, &at)
		d.At = fromMillis(at)
		found = append(found, d)
		return err
	}, text, append(args, limit)...)
	if err != nil {
		return nil, fmt.Errorf("index %s, shard %d: %w", bucket, shard, err)
	}
	return found, nil
}

const countStates = "SELECT state, COUNT(*) FROM orders WHERE created IS NOT NULL GROUP BY state"

// States returns the number of stored tasks, by state.
func (s *Store) States(ctx context.Context) (map[string]int, error) {
	all := map[string]int{}
	err := s.each(ctx, func(rows *sql.Rows) error {
		var state string
		var n int
		err := rows.Scan(&state, &n)
		all[state] = n
		return err
	}, countStates)
	if err != nil {
		return nil, fmt.Errorf("counting: %w", err)
	}
	return all, nil
}

// List returns a page of the selected records. It supports every combination of conditions. If the query has
// a state and a workflow, List may read all rows with the rarer of the two. Otherwise it reads only the rows
// of the page.
//
// If damage of the file is known, List returns an error, because the damage may hide orders.
func (s *Store) List(ctx context.Context, q port.Query) (port.Page, error) {
	var page port.Page
	byState, err := s.rarer(ctx, q)
	if err != nil {
		return page, fmt.Errorf("listing: %w", err)
	}
	query, args, err := listing(q, byState)
	if err != nil {
		return page, err
	}
	var row int64
	err = s.each(ctx, func(rows *sql.Rows) error {
		if len(page.Records) == q.Limit {
			page.Next = port.Position{Created: millis(page.Records[q.Limit-1].Created), Number: row}.Cursor()
			return nil
		}
		r, err := scanRecord(rows, &row)
		page.Records = append(page.Records, r)
		return err
	}, query, args...)
	err = cmp.Or(err, s.hidden())
	if err != nil {
		return port.Page{}, fmt.Errorf("listing: %w", err)
	}
	return page, nil
}

// rarer chooses the index for a query with a state and a workflow. byState is true if fewer rows have the
// state than the workflow. rarer stops counting at 5,000 rows.
func (s *Store) rarer(ctx context.Context, q port.Query) (byState bool, err error) {
	if q.State == "" || q.Workflow == "" {
		return q.State != "", nil
	}
	const upTo = "SELECT (SELECT count(*) FROM (SELECT 1 FROM orders WHERE state=? AND created IS NOT " +
		"NULL LIMIT 5000)) < (SELECT count(*) FROM (SELECT 1 FROM orders WHERE workflow=? AND created IS " +
		"NOT NULL LIMIT 5000))"
	_, err = s.first(ctx, []any{&byState}, upTo, q.State, q.Workflow)
	return byState, err
}

// listing returns the SQL of a query. A + before a column prevents SQLite from using the index of the column.
func listing(q port.Query, byState bool) (query string, args []any, err error) {
	start, err := port.CheckQuery(&q)
	if err != nil {
		return "", nil, err
	}
	conditions := []string{"t.created IS NOT NULL"}
	where := func(condition string, values ...any) {
		conditions = append(conditions, condition)
		args = append(args, values...)
	}
	state := "+t.state=?"
	workflow := "t.workflow=?"
	if byState {
		state = "t.state=?"
		workflow = "+t.workflow=?"
	}
	if q.Damaged { // few orders are
		state = "+t.state=?"
		workflow = "+t.workflow=?"
		where("t.bucket=?", string(port.DamagedBucket))
	}
	if q.State != "" {
		where(state, q.State)
	}
	if q.Workflow != "" {
		where(workflow, q.Workflow)
	}
	if !q.Before.IsZero() {
		where("t.created<?", ceiling(q.Before))
	}
	if !q.After.IsZero() {
		where("t.created>=?", ceiling(q.After))
	}
	if q.Cursor != "" {
		where("(t.created, t.row) < (?, ?)", start.Created, start.Number)
	}
	sorted := "t.created DESC, t.row DESC"
	limit := q.Limit + 1
	if q.Oldest {
		sorted = "t.created, t.row"
		limit = 1
	}
	args = append(args, limit)
	return "SELECT " + recordColumns + ", t.row FROM orders t WHERE " + strings.Join(conditions, " AND ") +
		" ORDER BY " + sorted + " LIMIT ?", args, nil
}

func ceiling(t time.Time) int64 {
	ms := t.UnixMilli()
	if time.UnixMilli(ms).Before(t) {
		ms++
	}
	return ms
}
