package services

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // SQLite driver without cgo
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

// Kinds of rows that the method record appends. The method reverse appends rows of the kind undo.
const (
	kindDo    = "do"
	kindFence = "fence" // undo of a key without a do; the service refuses later dos of the key
)

// part is the amount that an effect takes from one account. An account is the stock of a SKU, the money of a
// card, or the capacity of a service.
type part struct {
	account  string
	quantity int64
}

type effect struct {
	amount int64
	unit   string
	output string // output of the do as JSON
	parts  []part
}

type history struct {
	dos, undos, fences int
	lastDo             int64 // column seq of the newest do
	output             string
}

func (h history) open() bool { return h.dos > h.undos }

type ledger struct {
	db      *sql.DB
	clock   func() time.Time
	opening func(account string) int64 // function that returns the opening balance of a new account
	lacking func(account string) *refusal
}

func openLedger(ctx context.Context, path string, clock func() time.Time) (*ledger, error) {
	// synchronous=NORMAL is enough. The demo kills only Stepkeeper, so the files of the services need not
	// survive a power cut.
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("ledger %s: %w", path, err)
	}
	file := url.URL{Scheme: "file", Path: filepath.ToSlash(absolute)} // A URL escapes special characters.
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

// change runs f in one transaction. If f returns an error, the ledger does not change.
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
	if err := tx.QueryRowContext(ctx, `
		SELECT COUNT(*) FILTER (WHERE kind = 'do'), COUNT(*) FILTER (WHERE kind = 'undo'),
		       COUNT(*) FILTER (WHERE kind = 'fence'), COALESCE(MAX(seq) FILTER (WHERE kind = 'do'), 0),
		       COALESCE((SELECT output FROM ledger WHERE key = ?1 AND kind = 'do' ORDER BY seq DESC LIMIT 1), '')
		FROM ledger WHERE key = ?1`, key).Scan(&h.dos, &h.undos, &h.fences, &h.lastDo, &h.output); err != nil {
		return h, fmt.Errorf("read ledger of %s: %w", key, err)
	}
	return h, nil
}

// record appends a row and takes the parts of the effect from the accounts.
func (l *ledger) record(ctx context.Context, tx *sql.Tx, kind, key string, e effect) error {
	res, err := tx.ExecContext(ctx,
		`INSERT INTO ledger (kind, key, amount, unit, output, at) VALUES (?, ?, ?, ?, ?, ?)`,
		kind, key, e.amount, e.unit, e.output, l.now())
	if err != nil {
		return fmt.Errorf("write ledger row %s %s: %w", kind, key, err)
	}
	seq, err := res.LastInsertId()
	if err != nil {
		return err
	}
	for _, p := range e.parts {
		if err := l.take(ctx, tx, p); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO parts (seq, account, quantity) VALUES (?, ?, ?)`, seq,
			p.account, p.quantity); err != nil {
			return fmt.Errorf("write part of %s: %w", key, err)
		}
	}
	return nil
}

func (l *ledger) now() string { return l.clock().UTC().Format(time.RFC3339Nano) }

func (l *ledger) take(ctx context.Context, tx *sql.Tx, p part) error {
	start := l.opening(p.account)
	if _, err := tx.ExecContext(ctx,
		`INSERT INTO accounts (name, opened, balance) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, p.account,
		start, start); err != nil {
		return fmt.Errorf("open account %s: %w", p.account, err)
	}
	res, err := tx.ExecContext(ctx,
		`UPDATE accounts SET balance = balance - ?1 WHERE name = ?2 AND balance >= ?1`, p.quantity, p.account)
	if err != nil {
		return fmt.Errorf("move account %s: %w", p.account, err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 1 {
		return err
	}
	return l.lacking(p.account)
}

// reverse appends the undo of the do with the given seq, and returns the do's parts to the accounts.
func (l *ledger) reverse(ctx context.Context, tx *sql.Tx, do int64) error {
	for _, statement := range []string{
		`UPDATE accounts SET balance = balance +
			(SELECT SUM(quantity) FROM parts WHERE seq = :do AND account = name)
			WHERE name IN (SELECT account FROM parts WHERE seq = :do)`,
		`INSERT INTO ledger (kind, key, amount, unit, output, at)
			SELECT 'undo', key, amount, unit, '{}', :now FROM ledger WHERE seq = :do`,
		`INSERT INTO parts (seq, account, quantity)
			SELECT last_insert_rowid(), account, quantity FROM parts WHERE seq = :do`,
	} {
		if _, err := tx.ExecContext(ctx, statement, sql.Named("do", do),
			sql.Named("now", l.now())); err != nil {
			return fmt.Errorf("reverse ledger row %d: %w", do, err)
		}
	}
	return nil
}
