package services

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the pure Go driver
)

const schema = `
CREATE TABLE ledger (
  seq INTEGER PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('do', 'undo', 'fence')),
  key TEXT NOT NULL,
  amount INTEGER NOT NULL,
  unit TEXT NOT NULL,
  output TEXT NOT NULL,
  at TEXT NOT NULL
) STRICT;
CREATE INDEX ledger_key ON ledger (key);
CREATE TRIGGER ledger_keeps_rows BEFORE UPDATE ON ledger BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_keeps_all BEFORE DELETE ON ledger BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TABLE accounts (
  name TEXT PRIMARY KEY,
  opened INTEGER NOT NULL,
  balance INTEGER NOT NULL CHECK (balance >= 0)
) STRICT;
CREATE TABLE parts (
  seq INTEGER NOT NULL REFERENCES ledger (seq),
  account TEXT NOT NULL,
  quantity INTEGER NOT NULL
) STRICT;
CREATE INDEX parts_seq ON parts (seq);
`

// Kinds of rows.
const (
	kindDo    = "do"
	kindUndo  = "undo"
	kindFence = "fence" // an undo that came first: nothing was reversed, later dos are refused
)

// part is what an effect takes from one account: pieces of a SKU, minor units of a card.
type part struct {
	account  string
	quantity int64
}

// effect is what one accepted do changes.
type effect struct {
	amount int64
	unit   string
	output string // JSON
	parts  []part
}

// history is what a ledger knows of a key.
type history struct {
	dos, undos, fences int
	lastDo             int64 // seq of the newest do
	output             string
}

// open reports whether an effect of the key stands.
func (h history) open() bool { return h.dos > h.undos }

// ledger is one service's own database.
type ledger struct {
	db      *sql.DB
	clock   func() time.Time
	opening func(account string) int64 // opening balance or stock of a new account
	lacking func(account string) *refusal
}

func openLedger(ctx context.Context, path string, clock func() time.Time) (*ledger, error) {
	// synchronous=NORMAL: the demo kills Stepkeeper, never the services, so their files need not
	// survive a power cut.
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("ledger %s: %w", path, err)
	}
	file := url.URL{Scheme: "file", Path: filepath.ToSlash(absolute)} // escapes what a URI would misread
	dsn := file.String() +
		"?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=busy_timeout(5000)&_txlock=immediate"
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("open ledger %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, schema); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("create ledger %s (it must not exist yet): %w", path, err)
	}
	return &ledger{db: db, clock: clock}, nil
}

// change runs f in one transaction; a refusal or an error leaves no trace.
func (l *ledger) change(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := f(tx); err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}

func historyOf(ctx context.Context, tx *sql.Tx, key string) (h history, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT seq, kind, output FROM ledger WHERE key = ? ORDER BY seq`, key)
	if err != nil {
		return h, fmt.Errorf("read ledger of %s: %w", key, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var seq int64
		var kind, output string
		if err := rows.Scan(&seq, &kind, &output); err != nil {
			return h, err
		}
		switch kind {
		case kindDo:
			h.dos++
			h.lastDo, h.output = seq, output
		case kindUndo:
			h.undos++
		case kindFence:
			h.fences++
		}
	}
	return h, rows.Err()
}

// record appends a row and moves its accounts: down for a do, up for an undo.
func (l *ledger) record(ctx context.Context, tx *sql.Tx, kind, key string, e effect) error {
	res, err := tx.ExecContext(ctx,
		`INSERT INTO ledger (kind, key, amount, unit, output, at) VALUES (?, ?, ?, ?, ?, ?)`,
		kind, key, e.amount, e.unit, e.output, l.clock().UTC().Format(time.RFC3339Nano))
	if err != nil {
		return fmt.Errorf("write ledger row %s %s: %w", kind, key, err)
	}
	seq, err := res.LastInsertId()
	if err != nil {
		return err
	}
	for _, p := range e.parts {
		if err := l.move(ctx, tx, kind, p); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO parts (seq, account, quantity) VALUES (?, ?, ?)`, seq,
			p.account, p.quantity); err != nil {
			return fmt.Errorf("write part of %s: %w", key, err)
		}
	}
	return nil
}

func (l *ledger) move(ctx context.Context, tx *sql.Tx, kind string, p part) error {
	by := p.quantity
	if kind == kindDo {
		start := l.opening(p.account)
		if _, err := tx.ExecContext(ctx,
			`INSERT INTO accounts (name, opened, balance) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, p.account,
			start, start); err != nil {
			return fmt.Errorf("open account %s: %w", p.account, err)
		}
		by = -by
	}
	res, err := tx.ExecContext(ctx,
		`UPDATE accounts SET balance = balance + ? WHERE name = ? AND balance + ? >= 0`, by, p.account, by)
	if err != nil {
		return fmt.Errorf("move account %s: %w", p.account, err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 1 {
		return err
	}
	return l.lacking(p.account)
}

// effectOf reads back what a do changed, so that it can be reversed from the key alone.
func effectOf(ctx context.Context, tx *sql.Tx, seq int64) (e effect, err error) {
	if err := tx.QueryRowContext(ctx, `SELECT amount, unit FROM ledger WHERE seq = ?`, seq).Scan(&e.amount,
		&e.unit); err != nil {
		return e, fmt.Errorf("read ledger row %d: %w", seq, err)
	}
	rows, err := tx.QueryContext(ctx, `SELECT account, quantity FROM parts WHERE seq = ?`, seq)
	if err != nil {
		return e, fmt.Errorf("read parts of row %d: %w", seq, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var p part
		if err := rows.Scan(&p.account, &p.quantity); err != nil {
			return e, err
		}
		e.parts = append(e.parts, p)
	}
	e.output = "{}"
	return e, rows.Err()
}
