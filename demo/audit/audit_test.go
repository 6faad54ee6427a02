package audit_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/demo/audit"
)

// fixture is four ledgers to plant things in.
type fixture struct {
	t        *testing.T
	dir      string
	balances map[string]int // by service
}

func (w *fixture) ledger(service string) string { return filepath.Join(w.dir, service+".jsonl") }

func newFixture(t *testing.T) *fixture {
	t.Helper()
	w := &fixture{t: t, dir: t.TempDir(), balances: map[string]int{}}
	for name := range usual {
		w.write(name, "")
		w.balances[name] = 1_000_000
	}
	return w
}

// write appends text to a ledger.
func (w *fixture) write(service, text string) {
	w.t.Helper()
	f, err := os.OpenFile(w.ledger(service), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(w.t, err)
	_, err = f.WriteString(text)
	require.NoError(w.t, errors.Join(err, f.Close()))
}

// usual is the effect of an order of 3 pieces for 19.99 EUR at each service.
var usual = map[string]string{
	"inventory": "3 piece", "payment": "1999 EUR", "shipping": "1 parcel", "notification": "1 message",
}

// plant writes rows, each of the form "kind order/run service [amount unit]". The service "*" means all four. The row
// moves an account along with it.
func (w *fixture) plant(rows string) {
	w.t.Helper()
	for row := range strings.SplitSeq(rows, "; ") {
		kind, rest, _ := strings.Cut(row, " ")
		run, rest, _ := strings.Cut(rest, " ")
		name, measure, _ := strings.Cut(rest, " ")
		names := []string{name}
		if name == "*" {
			names = []string{"inventory", "payment", "shipping", "notification"}
		}
		for _, service := range names {
			amount, unit, _ := strings.Cut(cmp.Or(measure, usual[service]), " ")
			w.row(service, kind, run+"/"+service, amount, unit)
		}
	}
}

// row writes a row in the layout of the services. The layout is written down here once more, on purpose: a change of
// the services' rows must not pass unseen.
func (w *fixture) row(service, kind, key, amount, unit string) {
	w.t.Helper()
	n, err := strconv.Atoi(amount)
	require.NoError(w.t, err)
	w.balances[service] += map[string]int{"do": -n, "undo": n}[kind]
	w.write(service, fmt.Sprintf(`{"kind":%q,"key":%q,"amount":%d,"unit":%q,"output":"{}","parts":`+
		`[{"account":"main","quantity":%d,"balance":%d}],"at":"2026-11-21T10:00:00Z"}`+"\n",
		kind, key, n, unit, n, w.balances[service]))
}

func order(id string, outcome audit.Outcome) audit.Order {
	return audit.Order{ID: id, Outcome: outcome, Physical: true, Units: 3, Amount: 1999, Currency: "EUR"}
}

func digital(id string, outcome audit.Outcome) audit.Order {
	o := order(id, outcome)
	o.Physical = false
	return o
}

// cleanOrders is a set that holds, with one of every kind. A plain service may have booked more than once, if all but
// one were cancelled.
func cleanOrders(w *fixture) []audit.Order {
	w.plant("do good/0 *")
	w.plant("do download/0 inventory; do download/0 payment; do download/0 notification")
	w.plant("do undone/0 inventory; do undone/0 payment; do undone/0 shipping")
	w.plant("undo undone/0 shipping; undo undone/0 payment; undo undone/0 inventory")
	w.plant("fence null/0 inventory 0 none")
	w.plant("do stopped/0 inventory; do stopped/0 payment")
	w.plant("do again/0 payment; undo again/0 payment; do again/1 *")
	w.plant("do rebooked/0 *; do rebooked/0 shipping")
	w.plant("undo rebooked/0 shipping; undo rebooked/0 shipping; do rebooked/0 shipping")
	return []audit.Order{
		order("good", audit.Processed), digital("download", audit.Processed), order("undone", audit.Undone),
		order("null", audit.Undone), order("refused", audit.Refused), order("stopped", audit.Error),
		order("again", audit.Processed), order("rebooked", audit.Processed),
	}
}

func TestCleanSetHolds(t *testing.T) {
	w := newFixture(t)
	orders := cleanOrders(w)
	got, err := audit.Run(w.ledger, orders)
	require.NoError(t, err)
	require.Equal(t, audit.Result{Orders: len(orders), Effects: 23, Reversals: 6}, got)
}

// Each wrong, planted among orders that are right, is found, and named.
func TestPlanted(t *testing.T) {
	cases := []struct {
		name, rows string
		order      audit.Order // not audited if it has no ID
		want       []string    // the line of each violation
	}{
		{
			"double charge, two runs", "do x/0 *; do x/1 payment", order("x", audit.Processed),
			[]string{"x, payment: net charges of a processed order; expected 1, found 2"},
		},
		{
			"double charge, one key", "do x/0 *; do x/0 payment", order("x", audit.Processed),
			[]string{
				"x/0/payment, payment: charge made twice under one key; expected at most 1, found a second one",
				"x, payment: net charges of a processed order; expected 1, found 2",
			},
		},
		{
			"double charge, refunded once", "do x/0 *; do x/0 payment; undo x/0 payment", order("x", audit.Processed),
			[]string{"x/0/payment, payment: charge made twice under one key; expected at most 1, found a second one"},
		},
		{
			"charged and confirmed again, one key",
			"do x/0 payment; do x/0 notification; undo x/0 payment; undo x/0 notification; do x/0 payment; do x/0 notification",
			order("x", audit.Error),
			[]string{
				"x/0/payment, payment: charge made twice under one key; expected at most 1, found a second one",
				"x/0/notification, notification: confirmation made twice under one key; expected at most 1, found a second one",
			},
		},
		{
			"missing refund", "do x/0 inventory; do x/0 payment; undo x/0 inventory", order("x", audit.Undone),
			[]string{"x, payment: net charges of an undone order; expected 0, found 1"},
		},
		{
			"missing release", "do x/0 inventory; do x/0 payment; undo x/0 payment", order("x", audit.Undone),
			[]string{"x, inventory: net reservations of an undone order; expected 0, found 1"},
		},
		{
			"refund twice", "do x/0 payment; undo x/0 payment; undo x/0 payment", order("x", audit.Undone),
			[]string{
				"x/0/payment, payment: reversal without a charge; expected a charge before it, found none",
				"x, payment: net charges of an undone order; expected 0, found -1",
			},
		},
		{
			"refund of another amount", "do x/0 payment; undo x/0 payment 1998 EUR", order("x", audit.Undone),
			[]string{"x/0/payment, payment: reversal of another amount; expected 1999 EUR, found 1998 EUR"},
		},
		{
			"order lost by the engine", "", order("x", audit.Lost),
			[]string{"x, engine: acknowledged, and lost; expected processed, undone or error, found unknown order"},
		},
		{
			"order without an end", "", order("x", audit.Unfinished),
			[]string{
				"x, engine: acknowledged, and has no end; expected processed, undone or error, found still running",
			},
		},
		{
			"outcome left empty", "", order("x", ""),
			[]string{`x, engine: no such outcome; expected one of the seven, found ""`},
		},
		{
			"shipment of a digital order", "do x/0 *", digital("x", audit.Processed),
			[]string{"x, shipping: net bookings of a processed order; expected 0, found 1"},
		},
		{
			"no shipment", "do x/0 inventory; do x/0 payment; do x/0 notification", order("x", audit.Processed),
			[]string{"x, shipping: net bookings of a processed order; expected 1, found 0"},
		},
		{
			"shipped twice", "do x/0 *; do x/0 shipping", order("x", audit.Processed),
			[]string{"x, shipping: net bookings of a processed order; expected 1, found 2"},
		},
		{
			"confirmation of an undone order", "do x/0 notification", order("x", audit.Undone),
			[]string{
				"x, notification: net confirmations of an undone order; expected 0, found 1",
				"x, notification: confirmation of an undone order; expected none, found 1",
			},
		},
		{
			"not confirmed", "do x/0 inventory; do x/0 payment; do x/0 shipping", order("x", audit.Processed),
			[]string{"x, notification: net confirmations of a processed order; expected 1, found 0"},
		},
		{
			"amount off by one",
			"do x/0 inventory; do x/0 shipping; do x/0 notification; do x/0 payment 2000 EUR",
			order("x", audit.Processed),
			[]string{"x, payment: charge of another amount; expected 1999 EUR, found 2000 EUR"},
		},
		{"amount off by one, and reversed", "do x/0 payment 2000 EUR; undo x/0 payment 2000 EUR", order("x", audit.Undone), nil},
		{
			"another currency",
			"do x/0 inventory; do x/0 shipping; do x/0 notification; do x/0 payment 1999 USD",
			order("x", audit.Processed),
			[]string{"x, payment: charge of another amount; expected 1999 EUR, found 1999 USD"},
		},
		{
			"a piece too few",
			"do x/0 payment; do x/0 shipping; do x/0 notification; do x/0 inventory 2 piece",
			order("x", audit.Processed),
			[]string{"x, inventory: reservation of another amount; expected 3 piece, found 2 piece"},
		},
		{
			"effect of a refused order", "do x/0 inventory; undo x/0 inventory", order("x", audit.Refused),
			[]string{"x, inventory: rows of a refused order; expected none, found 2"},
		},
		{
			"one effect of a refused order", "do x/0 inventory", order("x", audit.Refused),
			[]string{"x, inventory: rows of a refused order; expected none, found 1"},
		},
		{
			"another amount in the run after an undone one",
			"do x/0 payment 1998 EUR; undo x/0 payment 1998 EUR; do x/1 *; undo x/1 payment; do x/2 payment 2000 EUR",
			order("x", audit.Processed),
			[]string{"x, payment: charge of another amount; expected 1999 EUR, found 2000 EUR"},
		},
		{
			"effect of an unknown order", "do x/0 payment",
			audit.Order{},
			[]string{"x, payment: do for an order that was not submitted; expected none, found do of 1999 EUR"},
		},
		{
			"key of another form", "do /0 payment; do x/ payment; do x payment; do x/0/0 payment",
			audit.Order{},
			[]string{
				`/0/payment, payment: key of another form; expected <order>/<run>/<step>, found "/0/payment"`,
				`x//payment, payment: key of another form; expected <order>/<run>/<step>, found "x//payment"`,
				`x/payment, payment: key of another form; expected <order>/<run>/<step>, found "x/payment"`,
				`x/0/0/payment, payment: key of another form; expected <order>/<run>/<step>, found "x/0/0/payment"`,
			},
		},
		{
			"reservation after the release",
			"do x/0 inventory; undo x/0 inventory; do x/0 inventory", order("x", audit.Error),
			[]string{
				"x/0/inventory, inventory: reservation made twice under one key; expected at most 1, found a second one",
				"x/0/inventory, inventory: reservation after its key was undone; expected none, found one",
			},
		},
		{
			"reservation after a fence", "fence x/0 inventory 0 none; do x/0 inventory", order("x", audit.Error),
			[]string{"x/0/inventory, inventory: reservation after its key was undone; expected none, found one"},
		},
		{
			"stopped order charged twice", "do x/0 payment; do x/1 payment", order("x", audit.Error),
			[]string{"x, payment: net charges of an order without an end; expected 0 or 1, found 2"},
		},
		{
			"row of an unknown kind", "gift good/0 payment 1 EUR",
			audit.Order{},
			[]string{"good/0/payment, payment: row of an unknown kind; expected do, undo or fence, found gift"},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newFixture(t)
			orders := cleanOrders(w)
			if c.rows != "" {
				w.plant(c.rows)
			}
			if c.order.ID != "" {
				orders = append(orders, c.order)
			}
			require.Equal(t, c.want, violations(t, w, orders))
		})
	}
}

func violations(t *testing.T, w *fixture, orders []audit.Order) (lines []string) {
	t.Helper()
	got, err := audit.Run(w.ledger, orders)
	require.NoError(t, err)
	for _, v := range got.Violations {
		lines = append(lines, v.String())
	}
	return lines
}

func TestWhatNoOrderDid(t *testing.T) {
	w := newFixture(t)
	orders := cleanOrders(w)
	w.balances["inventory"]--
	w.plant("do good/1 inventory; undo good/1 inventory")
	w.row("payment", "do", "x/0/", "1999", "EUR")
	require.Equal(t, []string{
		"main, inventory: balance does not follow from the rows; expected 999982, found 999981",
		`x/0/, payment: key of another form; expected <order>/<run>/<step>, found "x/0/"`,
	}, violations(t, w, orders))
}

// TestCannotAudit: what proves nothing must not look like a proof.
func TestCannotAudit(t *testing.T) {
	w := newFixture(t)
	twice := []audit.Order{order("x", audit.Undone), order("x", audit.Processed)}
	_, err := audit.Run(w.ledger, twice)
	require.Error(t, err)
	for absent := range usual {
		_, err := audit.Run(func(service string) string {
			if service == absent {
				return filepath.Join(t.TempDir(), "absent")
			}
			return w.ledger(service)
		}, nil)
		require.Error(t, err, absent)
	}
}

// TestLedgerThatCannotBeRead: a ledger that is read in part proves nothing either.
func TestLedgerThatCannotBeRead(t *testing.T) {
	for name, text := range map[string]string{
		"a member has another name": `{"kind":"do","key":"x/0/payment","sum":1,"unit":"EUR"}`,
		"an amount is no number":    `{"kind":"do","key":"x/0/payment","amount":"much","unit":"EUR"}`,
		"a balance is no number":    `{"kind":"do","key":"x/0/payment","parts":[{"balance":"much"}]}`,
		"a row ends early":          `{"kind":"do","key":"x/0/pay`,
		"a page is damaged":         strings.Repeat("\xff", 4096),
	} {
		w := newFixture(t)
		orders := cleanOrders(w)
		w.write("payment", text)
		_, err := audit.Run(w.ledger, orders)
		require.ErrorContains(t, err, w.ledger("payment"), name)
	}
}
