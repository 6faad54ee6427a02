package audit_test

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/demo/audit"
)

// The layout is written down here once more, on purpose: a change of the services' tables must
// not pass unseen.
const layout = `
CREATE TABLE ledger (seq INTEGER PRIMARY KEY, kind TEXT, key TEXT, amount INTEGER, unit TEXT, output TEXT, at TEXT);
CREATE TABLE accounts (name TEXT PRIMARY KEY, opened INTEGER, balance INTEGER);
CREATE TABLE parts (seq INTEGER, account TEXT, quantity INTEGER);`

// fixture is four ledgers to plant things in.
type fixture struct {
	t     *testing.T
	dbs   map[string]*sql.DB
	paths map[string]string
}

func (w *fixture) ledger(service string) string { return w.paths[service] }

func newFixture(t *testing.T) *fixture {
	t.Helper()
	w := &fixture{t: t, dbs: map[string]*sql.DB{}, paths: map[string]string{}}
	dir := t.TempDir()
	for _, name := range []string{"inventory", "payment", "shipping", "notification"} {
		path := filepath.Join(dir, name+".db")
		db, err := sql.Open("sqlite", path+"?_pragma=synchronous(off)&_pragma=journal_mode(memory)")
		require.NoError(t, err)
		t.Cleanup(func() { _ = db.Close() })
		w.dbs[name] = db
		w.exec(name, layout)
		w.paths[name] = path
	}
	return w
}

func (w *fixture) exec(service, statement string, args ...any) {
	w.t.Helper()
	_, err := w.dbs[service].ExecContext(context.Background(), statement, args...)
	require.NoError(w.t, err)
}

// row appends to a ledger and moves an account along with it.
func (w *fixture) row(service, kind, key string, amount int64, unit string) {
	w.t.Helper()
	w.exec(service, `INSERT INTO ledger (kind, key, amount, unit, output, at) VALUES (?, ?, ?, ?, '{}', '')`,
		kind, key, amount, unit)
	sign := map[string]int64{"do": 1, "undo": -1}[kind]
	w.exec(service, `INSERT INTO parts SELECT max(seq), 'main', ? FROM ledger`, amount)
	w.exec(service, `INSERT INTO accounts VALUES ('main', 1000000, 1000000) ON CONFLICT DO NOTHING`)
	w.exec(service, `UPDATE accounts SET balance = balance - ?`, sign*amount)
}

// do writes the four effects of an order of 3 pieces for 19.99 EUR, or those named.
func (w *fixture) do(id string, services ...string) {
	w.t.Helper()
	if len(services) == 0 {
		services = []string{"inventory", "payment", "shipping", "notification"}
	}
	for _, s := range services {
		w.effect("do", id, s)
	}
}

func (w *fixture) undo(id string, services ...string) {
	w.t.Helper()
	for _, s := range services {
		w.effect("undo", id, s)
	}
}

func (w *fixture) effect(kind, id, service string) {
	w.t.Helper()
	switch key := id + "/0/" + service; service {
	case "inventory":
		w.row(service, kind, key, 3, "piece")
	case "payment":
		w.row(service, kind, key, 1999, "EUR")
	case "shipping":
		w.row(service, kind, key, 1, "parcel")
	case "notification":
		w.row(service, kind, key, 1, "message")
	}
}

func order(id string, outcome audit.Outcome) audit.Order {
	return audit.Order{ID: id, Outcome: outcome, Physical: true, Units: 3, Amount: 1999, Currency: "EUR"}
}

func digital(id string, outcome audit.Outcome) audit.Order {
	o := order(id, outcome)
	o.Physical = false
	return o
}

// cleanOrders is a set that holds, with one of every kind.
func cleanOrders(w *fixture) []audit.Order {
	w.do("good")
	w.do("download", "inventory", "payment", "notification")
	w.do("undone", "inventory", "payment", "shipping")
	w.undo("undone", "shipping", "payment", "inventory")
	w.row("inventory", "fence", "null/0/inventory", 0, "none")
	w.do("stopped", "inventory", "payment")
	w.do("again", "payment")
	w.undo("again", "payment")
	for _, s := range []string{"inventory", "payment", "shipping", "notification"} {
		w.row(s, "do", "again/1/"+s, map[string]int64{
			"inventory": 3, "payment": 1999, "shipping": 1,
			"notification": 1,
		}[s],
			map[string]string{
				"inventory": "piece", "payment": "EUR", "shipping": "parcel",
				"notification": "message",
			}[s])
	}
	// A plain service may have booked more than once, if all but one were cancelled.
	w.do("rebooked")
	w.do("rebooked", "shipping")
	w.undo("rebooked", "shipping", "shipping")
	w.do("rebooked", "shipping")
	return []audit.Order{
		order("good", audit.Processed), digital("download", audit.Processed), order("undone", audit.Undone),
		order("null", audit.Undone), order("refused", audit.Refused), order("stopped", audit.Error),
		order("again", audit.Processed), order("rebooked", audit.Processed),
	}
}

func TestCleanSetHolds(t *testing.T) {
	w := newFixture(t)
	orders := cleanOrders(w)
	got, err := audit.Run(t.Context(), w.ledger, orders)
	require.NoError(t, err)
	for _, v := range got.Violations {
		t.Error(v)
	}
	require.Equal(t, len(orders), got.Orders)
	require.Equal(t, 23, got.Effects)
	require.Equal(t, 6, got.Reversals)
}

// TestPlanted: each wrong, planted among orders that are right, is found, and named.
func TestPlanted(t *testing.T) {
	cases := []struct {
		name  string
		plant func(w *fixture) []audit.Order
		want  []string // the line of each violation
	}{
		{"double charge, two runs", func(w *fixture) []audit.Order {
			w.do("x")
			w.row("payment", "do", "x/1/payment", 1999, "EUR")
			return []audit.Order{order("x", audit.Processed)}
		}, []string{"x, payment: net charges of a processed order; expected 1, found 2"}},
		{"double charge, one key", func(w *fixture) []audit.Order {
			w.do("x")
			w.do("x", "payment")
			return []audit.Order{order("x", audit.Processed)}
		}, []string{
			"x/0/payment, payment: charge made twice under one key; expected at most 1, found a second one",
			"x, payment: net charges of a processed order; expected 1, found 2",
		}},
		{
			"double charge, refunded once", func(w *fixture) []audit.Order {
				w.do("x")
				w.do("x", "payment")
				w.undo("x", "payment")
				return []audit.Order{order("x", audit.Processed)}
			},
			[]string{
				"x/0/payment, payment: charge made twice under one key; expected at most 1, found a " +
					"second one",
			},
		},
		{"charged and confirmed again, one key", func(w *fixture) []audit.Order {
			w.do("x", "payment", "notification")
			w.undo("x", "payment", "notification")
			w.do("x", "payment", "notification")
			return []audit.Order{order("x", audit.Error)}
		}, []string{
			"x/0/payment, payment: charge made twice under one key; expected at most 1, found a second one",
			"x/0/notification, notification: confirmation made twice under one key; expected at most 1, " +
				"found a second one",
		}},
		{"missing refund", func(w *fixture) []audit.Order {
			w.do("x", "inventory", "payment")
			w.undo("x", "inventory")
			return []audit.Order{order("x", audit.Undone)}
		}, []string{"x, payment: net charges of an undone order; expected 0, found 1"}},
		{"missing release", func(w *fixture) []audit.Order {
			w.do("x", "inventory", "payment")
			w.undo("x", "payment")
			return []audit.Order{order("x", audit.Undone)}
		}, []string{"x, inventory: net reservations of an undone order; expected 0, found 1"}},
		{"refund twice", func(w *fixture) []audit.Order {
			w.do("x", "payment")
			w.undo("x", "payment", "payment")
			return []audit.Order{order("x", audit.Undone)}
		}, []string{
			"x/0/payment, payment: reversal without a charge; expected a charge before it, found none",
			"x, payment: net charges of an undone order; expected 0, found -1",
		}},
		{"refund of another amount", func(w *fixture) []audit.Order {
			w.do("x", "payment")
			w.row("payment", "undo", "x/0/payment", 1998, "EUR")
			return []audit.Order{order("x", audit.Undone)}
		}, []string{"x/0/payment, payment: reversal of another amount; expected 1999 EUR, found 1998 EUR"}},
		{
			"order lost by the engine", func(*fixture) []audit.Order {
				return []audit.Order{order("x", audit.Lost)}
			},
			[]string{
				"x, engine: acknowledged, and lost; expected processed, undone or error, " +
					"found unknown order",
			},
		},
		{
			"order without an end", func(*fixture) []audit.Order {
				return []audit.Order{order("x", audit.Unfinished)}
			},
			[]string{
				"x, engine: acknowledged, and has no end; expected processed, undone or error, found " +
					"still running",
			},
		},
		{"outcome left empty", func(*fixture) []audit.Order {
			return []audit.Order{order("x", "")}
		}, []string{`x, engine: no such outcome; expected one of the seven, found ""`}},
		{"shipment of a digital order", func(w *fixture) []audit.Order {
			w.do("x")
			return []audit.Order{digital("x", audit.Processed)}
		}, []string{"x, shipping: net bookings of a processed order; expected 0, found 1"}},
		{"no shipment", func(w *fixture) []audit.Order {
			w.do("x", "inventory", "payment", "notification")
			return []audit.Order{order("x", audit.Processed)}
		}, []string{"x, shipping: net bookings of a processed order; expected 1, found 0"}},
		{"shipped twice", func(w *fixture) []audit.Order {
			w.do("x")
			w.do("x", "shipping")
			return []audit.Order{order("x", audit.Processed)}
		}, []string{"x, shipping: net bookings of a processed order; expected 1, found 2"}},
		{"confirmation of an undone order", func(w *fixture) []audit.Order {
			w.do("x", "notification")
			return []audit.Order{order("x", audit.Undone)}
		}, []string{
			"x, notification: net confirmations of an undone order; expected 0, found 1",
			"x, notification: confirmation of an undone order; expected none, found 1",
		}},
		{"not confirmed", func(w *fixture) []audit.Order {
			w.do("x", "inventory", "payment", "shipping")
			return []audit.Order{order("x", audit.Processed)}
		}, []string{"x, notification: net confirmations of a processed order; expected 1, found 0"}},
		{"amount off by one", func(w *fixture) []audit.Order {
			w.do("x", "inventory", "shipping", "notification")
			w.row("payment", "do", "x/0/payment", 2000, "EUR")
			return []audit.Order{order("x", audit.Processed)}
		}, []string{"x, payment: charge of another amount; expected 1999 EUR, found 2000 EUR"}},
		{"amount off by one, and reversed", func(w *fixture) []audit.Order {
			w.row("payment", "do", "x/0/payment", 2000, "EUR")
			w.row("payment", "undo", "x/0/payment", 2000, "EUR")
			return []audit.Order{order("x", audit.Undone)}
		}, nil},
		{"another currency", func(w *fixture) []audit.Order {
			w.do("x", "inventory", "shipping", "notification")
			w.row("payment", "do", "x/0/payment", 1999, "USD")
			return []audit.Order{order("x", audit.Processed)}
		}, []string{"x, payment: charge of another amount; expected 1999 EUR, found 1999 USD"}},
		{"a piece too few", func(w *fixture) []audit.Order {
			w.do("x", "payment", "shipping", "notification")
			w.row("inventory", "do", "x/0/inventory", 2, "piece")
			return []audit.Order{order("x", audit.Processed)}
		}, []string{"x, inventory: reservation of another amount; expected 3 piece, found 2 piece"}},
		{"effect of a refused order", func(w *fixture) []audit.Order {
			w.do("x", "inventory")
			w.undo("x", "inventory")
			return []audit.Order{order("x", audit.Refused)}
		}, []string{"x, inventory: rows of a refused order; expected none, found 2"}},
		{"one effect of a refused order", func(w *fixture) []audit.Order {
			w.do("x", "inventory")
			return []audit.Order{order("x", audit.Refused)}
		}, []string{"x, inventory: rows of a refused order; expected none, found 1"}},
		{"another amount in the run after an undone one", func(w *fixture) []audit.Order {
			w.do("x", "inventory", "shipping", "notification")
			w.row("payment", "do", "x/0/payment", 1998, "EUR")
			w.row("payment", "undo", "x/0/payment", 1998, "EUR")
			w.row("payment", "do", "x/1/payment", 2000, "EUR")
			return []audit.Order{order("x", audit.Processed)}
		}, []string{"x, payment: charge of another amount; expected 1999 EUR, found 2000 EUR"}},
		{
			"effect of an unknown order", func(w *fixture) []audit.Order {
				w.do("x", "payment")
				return nil
			},
			[]string{
				"x, payment: do for an order that was not submitted; expected none, found do of 1999 EUR",
			},
		},
		{"key of another form", func(w *fixture) []audit.Order {
			for _, key := range []string{"x", "/0/payment", "x//payment", "x/0/", "x/0/payment/1"} {
				w.row("payment", "do", key, 1999, "EUR")
			}
			return nil
		}, []string{
			`x, payment: key of another form; expected <order>/<run>/<step>, found "x"`,
			`/0/payment, payment: key of another form; expected <order>/<run>/<step>, found "/0/payment"`,
			`x//payment, payment: key of another form; expected <order>/<run>/<step>, found "x//payment"`,
			`x/0/, payment: key of another form; expected <order>/<run>/<step>, found "x/0/"`,
			`x/0/payment/1, payment: key of another form; expected <order>/<run>/<step>, found "x/0/payment/1"`,
		}},
		{"reservation after the release", func(w *fixture) []audit.Order {
			w.do("x", "inventory")
			w.undo("x", "inventory")
			w.do("x", "inventory")
			return []audit.Order{order("x", audit.Error)}
		}, []string{
			"x/0/inventory, inventory: reservation made twice under one key; expected at most 1, found a " +
				"second one",
			"x/0/inventory, inventory: reservation after its key was undone; expected none, found one",
		}},
		{
			"reservation after a fence", func(w *fixture) []audit.Order {
				w.row("inventory", "fence", "x/0/inventory", 0, "none")
				w.do("x", "inventory")
				return []audit.Order{order("x", audit.Error)}
			},
			[]string{
				"x/0/inventory, inventory: reservation after its key was undone; expected none, found one",
			},
		},
		{"stopped order charged twice", func(w *fixture) []audit.Order {
			w.do("x", "payment")
			w.row("payment", "do", "x/1/payment", 1999, "EUR")
			return []audit.Order{order("x", audit.Error)}
		}, []string{"x, payment: net charges of an order without an end; expected 0 or 1, found 2"}},
		{"stock that no order took", func(w *fixture) []audit.Order {
			w.exec("inventory", `UPDATE accounts SET balance = balance - 1`)
			return nil
		}, []string{"main, inventory: balance does not follow from the rows; expected 999985, found 999984"}},
		{
			"row of an unknown kind", func(w *fixture) []audit.Order {
				w.row("payment", "gift", "good/0/payment", 1, "EUR")
				return nil
			},
			[]string{
				"good/0/payment, payment: row of an unknown kind; expected do, undo or fence, found gift",
			},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newFixture(t)
			orders := cleanOrders(w)
			orders = append(orders, c.plant(w)...)
			got, err := audit.Run(t.Context(), w.ledger, orders)
			require.NoError(t, err)
			var lines []string
			for _, v := range got.Violations {
				lines = append(lines, v.String())
			}
			require.Equal(t, c.want, lines)
		})
	}
}

// TestCannotAudit: what proves nothing must not look like a proof.
func TestCannotAudit(t *testing.T) {
	w := newFixture(t)
	twice := []audit.Order{order("x", audit.Undone), order("x", audit.Processed)}
	_, err := audit.Run(t.Context(), w.ledger, twice)
	require.Error(t, err)
	for absent := range w.paths {
		_, err := audit.Run(t.Context(), func(service string) string {
			if service == absent {
				return filepath.Join(t.TempDir(), "absent.db")
			}
			return w.ledger(service)
		}, nil)
		require.Error(t, err, absent)
	}
}

// TestLedgerThatCannotBeRead: a ledger that is read in part proves nothing either.
func TestLedgerThatCannotBeRead(t *testing.T) {
	const many = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO `
	for name, c := range map[string]struct {
		statements string
		damaged    bool // a page in the middle of the file
	}{
		"a column is missing": {`ALTER TABLE ledger DROP COLUMN amount`, false},
		"an amount is no number": {
			`INSERT INTO ledger (kind, key, amount, unit) VALUES ('do', 'x/0/payment', 'much', 'EUR')`,
			false,
		},
		"a balance is no number": {`INSERT INTO accounts VALUES ('main', 10, 'much')`, false},
		"there are no accounts":  {`DROP TABLE accounts`, false},
		"a page of its rows is damaged": {many +
			`ledger (kind, key, amount, unit) SELECT 'fence', 'x/0/payment', 0, 'none' FROM n`, true},
		"a page of accounts is damaged": {many + `accounts SELECT 'account-' || i, 0, 0 FROM n`, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t)
			w.exec("payment", c.statements)
			orders := []audit.Order{order("x", audit.Undone)}
			if c.damaged {
				got, err := audit.Run(t.Context(), w.ledger, orders)
				require.NoError(t, err)
				require.Empty(t, got.Violations)
				require.NoError(t, w.dbs["payment"].Close())
				damage(t, w.paths["payment"])
			}
			_, err := audit.Run(t.Context(), w.ledger, orders)
			require.ErrorContains(t, err, w.paths["payment"])
		})
	}
	w := newFixture(t)
	given, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := audit.Run(given, w.ledger, nil)
	require.ErrorIs(t, err, context.Canceled, "an audit that was cancelled")
}

// damage overwrites a page in the middle of a database.
func damage(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	const page = 4096
	middle := len(data) / page / 2 * page
	copy(data[middle:middle+page], bytes.Repeat([]byte{0xff}, page))
	require.NoError(t, os.WriteFile(path, data, 0o600))
}
