package audit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the pure Go driver
)

// row is one line of a ledger, in the order of writing.
type row struct {
	seq    int64
	kind   string // do, undo, fence
	key    string
	amount int64
	unit   string
}

// account is stock or a card; moved is what the rows say was taken from it, net.
type account struct {
	name                   string
	opened, balance, moved int64
}

// book is a service's ledger as read.
type book struct {
	rows     []row
	accounts []account
}

func readBook(ctx context.Context, path string) (b book, err error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return b, err
	}
	file := url.URL{Scheme: "file", Path: filepath.ToSlash(absolute), RawQuery: "mode=ro&_pragma=query_only(1)"}
	db, err := sql.Open("sqlite", file.String())
	if err != nil {
		return b, fmt.Errorf("open ledger %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if b.rows, err = readRows(ctx, db); err != nil {
		return b, fmt.Errorf("read ledger %s: %w", path, err)
	}
	if b.accounts, err = readAccounts(ctx, db); err != nil {
		return b, fmt.Errorf("read accounts of %s: %w", path, err)
	}
	return b, nil
}

func readRows(ctx context.Context, db *sql.DB) (found []row, err error) {
	rows, err := db.QueryContext(ctx, `SELECT seq, kind, key, amount, unit FROM ledger ORDER BY seq`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.seq, &r.kind, &r.key, &r.amount, &r.unit); err != nil {
			return nil, err
		}
		found = append(found, r)
	}
	return found, rows.Err()
}

func readAccounts(ctx context.Context, db *sql.DB) (found []account, err error) {
	rows, err := db.QueryContext(ctx, `
		SELECT a.name, a.opened, a.balance,
		       COALESCE(SUM(CASE l.kind WHEN 'do' THEN p.quantity WHEN 'undo' THEN -p.quantity END), 0)
		FROM accounts a LEFT JOIN parts p ON p.account = a.name LEFT JOIN ledger l ON l.seq = p.seq
		GROUP BY a.name ORDER BY a.name`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var a account
		if err := rows.Scan(&a.name, &a.opened, &a.balance, &a.moved); err != nil {
			return nil, err
		}
		found = append(found, a)
	}
	return found, rows.Err()
}

// orderOf takes an idempotency key apart: <order>/<run>/<step>.
func orderOf(key string) (order string, ok bool) {
	parts := strings.Split(key, "/")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return key, false
	}
	return parts[0], true
}
