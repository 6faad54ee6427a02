package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// LimitPages lets the file grow to that many pages at most, as a full disk would. It goes through
// the committer, since the writer belongs to it.
func (s *Store) LimitPages(n int) error {
	return s.Script(fmt.Sprintf("PRAGMA max_page_count=%d", n))
}

// Pages is how many pages the file has.
func (s *Store) Pages() (n int, err error) {
	err = s.readers.QueryRow("PRAGMA page_count").Scan(&n)
	return n, err
}

// Script runs SQL in a transaction of its own.
func (s *Store) Script(text string) error {
	return s.committer.do(context.Background(), func(tx *transaction) error { return tx.run(text) })
}

// Integrity is SQLite's own verdict on the file, "ok" if it is sound.
func (s *Store) Integrity() (verdict string, err error) {
	err = s.readers.QueryRow("PRAGMA integrity_check").Scan(&verdict)
	return verdict, err
}

// During runs f in a transaction.
func (s *Store) During(f func() error) error {
	return s.committer.do(context.Background(), func(*transaction) error { return f() })
}

// Hold keeps the committer busy until release is called, so that a group gathers.
func (s *Store) Hold() (release func()) {
	held := make(chan struct{})
	free := make(chan struct{})
	go func() {
		_ = s.committer.do(context.Background(), func(*transaction) error {
			close(held)
			<-free
			return nil
		})
	}()
	<-held
	return func() { close(free) }
}

// Panic runs an operation that panics while it is applied, or, if later, when its transaction is on the disk.
func (s *Store) Panic(later bool) error {
	return s.committer.do(context.Background(), func(tx *transaction) error {
		tx.stored = append(tx.stored, func() { panic("after the commit") })
		if !later {
			panic("while it is applied")
		}
		return nil
	})
}

// Pending is how many operations wait for the committer.
func (s *Store) Pending() int {
	s.committer.mu.Lock()
	defer s.committer.mu.Unlock()
	return len(s.committer.pending)
}

// Plan says how a listing, or the due index, finds its rows.
func (s *Store) Plan(query string, args ...any) (string, error) {
	rows, err := s.readers.Query("EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		return "", err
	}
	defer func() { _ = rows.Close() }()
	plan := ""
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			return "", err
		}
		plan += detail + "\n"
	}
	return plan, rows.Err()
}

// Listing is the query of List.
func (s *Store) Listing(q port.Query) (query string, args []any, err error) {
	byState, err := s.rarer(context.Background(), q)
	if err != nil {
		return "", nil, err
	}
	return listing(q, byState)
}

// Queries are the other ones over tables that grow, with how many arguments they take.
var Queries = map[string]struct {
	Text string
	Args int
}{"due": {dueQuery, 4}, "due after": {dueAfterQuery, 6}, "rested": {restedTasks, 2}}

// Appear gives a complete backup its name.
var Appear = appear

// UseLog turns the write-ahead log on for a database in memory, which SQLite refuses.
func UseLog() error {
	w, err := openWriter(":memory:")
	if err != nil {
		return err
	}
	return errors.Join(useLog(w), w.close())
}

// Number is the answer of a query to one number.
func (s *Store) Number(query string) (n int64, err error) {
	err = s.readers.QueryRow(query).Scan(&n)
	return n, err
}

// Schema is all that the file declares.
func (s *Store) Schema() (all string, err error) {
	err = s.readers.QueryRow(
		"SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_schema ORDER BY name)").Scan(&all)
	return all, err
}

// ExpiresAtOnce is how many messages and tasks one transaction removes at most.
const ExpiresAtOnce = max(expiresMessages, expiresTasks)

// Setting is a pragma of the connection that writes.
func (s *Store) Setting(name string) (n int64, err error) {
	err = s.committer.do(context.Background(), func(tx *transaction) (err error) {
		n, err = tx.number("PRAGMA " + name)
		return err
	})
	return n, err
}

// ShortCheck leaves no time for the check at the start.
func ShortCheck(o Options) Options {
	o.checkTime = 1
	return o
}

// Leaves lists the pages at the bottom of an index.
func (s *Store) Leaves(index string) (pages []int, err error) {
	rows, err := s.readers.Query("SELECT pageno FROM dbstat WHERE name=? AND pagetype='leaf'", index)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var page int
		if err := rows.Scan(&page); err != nil {
			return nil, err
		}
		pages = append(pages, page)
	}
	return pages, rows.Err()
}
