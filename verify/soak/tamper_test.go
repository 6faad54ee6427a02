package soak_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the pure Go driver

	"github.com/stepkeeper/stepkeeper/demo/audit"
	"github.com/stepkeeper/stepkeeper/demo/services"
)

// errBlind means that the audit missed a deliberate falsification of the services' books.
var errBlind = errors.New("the audit overlooks what was falsified on purpose")

// forgery is a falsification of a ledger, as a wrong service or a faulty engine could cause it.
type forgery struct {
	name    string
	service string
	change  string // SQL; :order is the key's beginning
	undone  bool   // the row belongs to an undone order instead of a processed one
}

var forgeries = []forgery{
	{
		"a charge is lost", services.Payment,
		`DELETE FROM ledger WHERE seq = (SELECT max(seq) FROM ledger WHERE kind = 'do' AND key LIKE :order)`,
		false,
	},
	{"a reservation is made twice", services.Inventory, `INSERT INTO ledger (kind, key, amount, unit, output, at)
		SELECT kind, key, amount, unit, output, at FROM ledger WHERE kind = 'do' AND key LIKE :order LIMIT 1`, false},
	{
		"a confirmation was never sent", services.Notification, `DELETE FROM ledger WHERE key LIKE :order`,
		false,
	},
	{
		"a refund is lost", services.Payment, `DELETE FROM ledger WHERE kind = 'undo' AND key LIKE :order`,
		true,
	},
	{"a parcel of an undone order", services.Shipping, `INSERT INTO ledger (kind, key, amount, unit, output, at)
		VALUES ('do', replace(:order, '%', '') || '0/book-shipment', 1, 'parcel', '{}', '')`, true},
	{
		"another amount", services.Payment,
		`UPDATE ledger SET amount = amount + 1 WHERE kind = 'do' AND key LIKE :order`, false,
	},
}

// falsify copies the books, falsifies each copy in one way, and audits it. It returns the number of falsified
// copies that the audit noticed, and errBlind if the audit missed one.
func falsify(ctx context.Context, s *site, orders []audit.Order) (int, error) {
	noticed := 0
	for i, f := range forgeries {
		id, err := s.tamperable(ctx, f, orders)
		if err != nil {
			return noticed, err
		}
		if id == "" {
			continue // a short run may have no order for this forgery
		}
		dir := s.File(fmt.Sprintf("forged-%d", i))
		if err := s.copyBooks(dir); err != nil {
			return noticed, err
		}
		book := func(service string) string { return filepath.Join(dir, service+".db") }
		if err := change(ctx, book(f.service), f.change, id); err != nil {
			return noticed, fmt.Errorf("%s: %w", f.name, err)
		}
		result, err := audit.Run(ctx, book, orders)
		if err != nil {
			return noticed, err
		}
		if len(result.Violations) == 0 {
			return noticed, fmt.Errorf("%w: %s, order %s", errBlind, f.name, id)
		}
		noticed++
	}
	if noticed < len(forgeries)-2 { // a short run may lack the orders for at most two forgeries
		return noticed, fmt.Errorf("%w: only %d of %d could be tried", errBlind, noticed, len(forgeries))
	}
	return noticed, nil
}

// tamperable returns an order whose books hold the rows that the forgery changes.
func (s *site) tamperable(ctx context.Context, f forgery, orders []audit.Order) (string, error) {
	want := audit.Processed
	if f.undone {
		want = audit.Undone
	}
	db, err := sql.Open("sqlite", s.Fleet.Ledger(f.service))
	if err != nil {
		return "", err
	}
	defer func() { _ = db.Close() }()
	for _, o := range orders {
		if o.Outcome != want {
			continue
		}
		if f.service == services.Shipping {
			return o.ID, nil // a new row, of any order
		}
		kind := "do"
		if f.undone {
			kind = "undo"
		}
		n := 0
		err := db.QueryRowContext(ctx, `SELECT count(*) FROM ledger WHERE kind = ? AND key LIKE ?`, kind,
			o.ID+"/%").Scan(&n)
		if err != nil || n > 0 {
			return o.ID, err
		}
	}
	return "", nil
}

func (s *site) copyBooks(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, name := range services.Names() {
		// the services have stopped; their last writes may still be in the WAL
		for _, end := range []string{"", "-wal"} {
			text, err := os.ReadFile(s.Fleet.Ledger(name) + end)
			if errors.Is(err, os.ErrNotExist) && end != "" {
				continue
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name+".db"+end), text, 0o600)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// change falsifies a book. It removes the triggers that keep the book append-only.
func change(ctx context.Context, path, statement, id string) (err error) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, q := range []string{`DROP TRIGGER ledger_keeps_rows`, `DROP TRIGGER ledger_keeps_all`} {
		if _, err := db.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	done, err := db.ExecContext(ctx, statement, sql.Named("order", id+"/%"))
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return fmt.Errorf("nothing was changed: %w", errors.Join(err, sql.ErrNoRows))
	}
	return nil
}
