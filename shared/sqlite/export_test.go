package sqlite

import (
	"context"
	"fmt"
)

// LimitPages lets the file grow to that many pages at most, as a full disk would. It goes through
// the committer, since the writer belongs to it.
func (s *Store) LimitPages(n int) error {
	return s.Script(fmt.Sprintf("PRAGMA max_page_count=%d", n))
}

type script string

func (o script) apply(tx *transaction) error { return tx.run(string(o)) }

// Pages is how many pages the file has.
func (s *Store) Pages() (n int, err error) {
	err = s.readers.QueryRow("PRAGMA page_count").Scan(&n)
	return n, err
}

// Script runs SQL in a transaction of its own.
func (s *Store) Script(text string) error { return s.committer.do(context.Background(), script(text)) }

// Integrity is SQLite's own verdict on the file, "ok" if it is sound.
func (s *Store) Integrity() (verdict string, err error) {
	err = s.readers.QueryRow("PRAGMA integrity_check").Scan(&verdict)
	return verdict, err
}
