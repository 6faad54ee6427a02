package audit

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // SQLite driver without cgo
)

type row struct {
	Kind   string // "do", "undo" or "fence"
	Key    string
	Amount int64
	Unit   string
}

// account is the stock of a SKU, the money of a card, or the capacity of a service. Moved is the net amount
// that the rows have taken from the account.
type account struct {
	Name                   string
	Opened, Balance, Moved int64
}

// book is the content of a ledger. The oldest row comes first.
type book struct {
	rows     []row
	accounts []account
}

func readBook(ctx context.Context, path string) (b book, err error) {
	// Abs fails only if there is no working directory. Reading the ledger then fails too.
	absolute, _ := filepath.Abs(path)
	file := url.URL{
		Scheme: "file", Path: filepath.ToSlash(absolute),
		RawQuery: "mode=ro&_pragma=query_only(1)",
	}
	db, _ := sql.Open("sqlite", file.String()) // The driver is known, so Open does not fail.
	err = errors.Join(read(ctx, db, &b.rows, `SELECT json_object('kind', kind, 'key', key, 'amount', amount, 'unit', unit) AS line FROM ledger ORDER BY seq`),
		read(ctx, db, &b.accounts, `
		SELECT json_object('name', a.name, 'opened', a.opened, 'balance', a.balance, 'moved',
		       COALESCE(SUM(CASE l.kind WHEN 'do' THEN p.quantity WHEN 'undo' THEN -p.quantity END), 0)) AS line
		FROM accounts a LEFT JOIN parts p ON p.account = a.name LEFT JOIN ledger l ON l.seq = p.seq
		GROUP BY a.name ORDER BY a.name`), db.Close())
	if err != nil {
		return b, fmt.Errorf("read ledger %s: %w", path, err)
	}
	return b, nil
}

// read runs a query whose rows are JSON objects. It decodes all rows into a slice. The argument into points
// to this slice.
func read(ctx context.Context, db *sql.DB, into any, lines string) error {
	var text []byte
	if err := db.QueryRowContext(ctx, `SELECT json_group_array(json(line)) FROM (`+lines+
		`)`).Scan(&text); err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// orderOf returns the order of an idempotency key. For a child order <order>~<step>~<index> it is the order that the
// child belongs to. It returns false if the key does not have the form <order>/<run>/<step>.
func orderOf(key string) (order string, ok bool) {
	parts := strings.Split(key, "/")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return "", false
	}
	order, _, _ = strings.Cut(parts[0], "~")
	return order, order != ""
}
