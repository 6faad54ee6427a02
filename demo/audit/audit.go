// Package audit checks the ledgers of the demo's remote services. It proves that every processed order had
// each effect exactly once, and that no undone order has an effect left.
//
// The package shares no code with Stepkeeper, the services or the runner. It uses only the expected effects
// of an order and the rows of a ledger.
//
// The audit checks each order by its outcome:
//
//	processed   The order has one reservation, one charge of the right amount and currency, and one
//	            confirmation. It has one booking if and only if it contains something to ship.
//	            Effects that were undone do not count.
//	undone      Every effect of the order was undone. It never had a confirmation.
//	refused     No ledger has a row for the order.
//	error       The order has each effect at most once, so that the operator can finish it.
//	unfinished  The order was acknowledged and has not ended, which is a violation.
//	lost        The order was acknowledged and Stepkeeper does not know it, which is a violation.
//
// The audit also checks each ledger as a whole:
//
//   - Every effect belongs to a known order.
//   - Every key has the form <order>/<run>/<step>. The effects of a child order <order>~<step>~<index> are those of
//     the order.
//   - A fenced or idempotent service has at most one do for each key.
//   - Every undo follows a do and has the same amount.
//   - No do follows a fence of its key. A fence is a row for an undo that found no do.
//   - At the fenced service, no do follows an undo of its key.
//   - The balance of each account matches the rows.
package audit

import "fmt"

type service struct {
	name      string
	effect    string // name of the effect in violations
	knowsKeys bool   // true if the service has at most one effect for each key
	fences    bool
	due       func(o Order) bool            // function that reports whether the order must have the effect
	amount    func(o Order) (int64, string) // function that returns the effect's expected amount and unit
}

func services() []service {
	always := func(Order) bool { return true }
	one := func(unit string) func(Order) (int64, string) {
		return func(Order) (int64, string) { return 1, unit }
	}
	return []service{
		{
			"inventory", "reservation", true, true, always,
			func(o Order) (int64, string) { return o.Units, "piece" },
		},
		{
			"payment", "charge", true, false, always,
			func(o Order) (int64, string) { return o.Amount, o.Currency },
		},
		{"shipping", "booking", false, false, func(o Order) bool { return o.Physical }, one("parcel")},
		{"notification", "confirmation", true, false, always, one("message")},
	}
}

// Run audits the ledgers of the services. The function ledger returns the path of a service's ledger.
// The Result contains all violations. Run returns an error if it cannot read a ledger, or if orders contains
// an order twice. An audit with an error proves nothing.
func Run(ledger func(service string) string, orders []Order) (Result, error) {
	a := auditor{orders: make(map[string]Order, len(orders)), result: Result{Orders: len(orders)}}
	for _, o := range orders {
		if _, twice := a.orders[o.ID]; twice {
			return Result{}, fmt.Errorf("order %q was given to the audit twice; give each one outcome", o.ID)
		}
		a.orders[o.ID] = o
	}
	for _, s := range services() {
		rows, err := readLedger(ledger(s.name))
		if err != nil {
			return Result{}, err
		}
		a.ledger(s, rows)
		a.accounts(s, rows)
		net := a.net(s, rows)
		for _, o := range orders {
			a.order(s, o, net[o.ID])
		}
	}
	for _, o := range orders {
		a.ended(o)
	}
	return a.result, nil
}

type auditor struct {
	orders map[string]Order
	result Result
}

func (a *auditor) violation(order, service, what, expected, found string) {
	a.result.Violations = append(a.result.Violations, Violation{order, service, what, expected, found})
}

// ledger checks the rows of each key against the grade of the service.
func (a *auditor) ledger(s service, rows []row) {
	type keyState struct {
		open   []row // rows of dos that were not undone
		dos    int
		fenced bool
	}
	keys := map[string]*keyState{}
	for _, r := range rows {
		k := keys[r.Key]
		if k == nil {
			k = &keyState{}
			keys[r.Key] = k
		}
		switch r.Kind {
		case "do":
			a.result.Effects++
			k.dos++
			k.open = append(k.open, r)
			if s.knowsKeys && k.dos == 2 {
				a.violation(r.Key, s.name, s.effect+" made twice under one key", "at most 1", "a second one")
			}
			if k.fenced {
				a.violation(r.Key, s.name, s.effect+" after its key was undone", "none", "one")
			}
		case "undo":
			a.result.Reversals++
			if len(k.open) == 0 {
				a.violation(r.Key, s.name, "reversal without a "+s.effect, "a "+s.effect+" before it", "none")
				break
			}
			last := k.open[len(k.open)-1]
			k.open = k.open[:len(k.open)-1]
			if last.Amount != r.Amount || last.Unit != r.Unit {
				a.violation(r.Key, s.name, "reversal of another amount", measure(last.Amount, last.Unit),
					measure(r.Amount, r.Unit))
			}
			k.fenced = s.fences
		case "fence":
			k.fenced = true
		default:
			a.violation(r.Key, s.name, "row of an unknown kind", "do, undo or fence", r.Kind)
		}
	}
}

// accounts checks that each balance follows from the balance before it.
func (a *auditor) accounts(s service, rows []row) {
	balances := map[string]int64{}
	for _, r := range rows {
		sign := map[string]int64{"do": -1, "undo": 1}[r.Kind]
		for _, p := range r.Parts {
			before, known := balances[p.Account]
			if want := before + sign*p.Quantity; known && p.Balance != want {
				a.violation(p.Account, s.name, "balance does not follow from the rows", fmt.Sprint(want),
					fmt.Sprint(p.Balance))
			}
			balances[p.Account] = p.Balance
		}
	}
}

type standing struct {
	rows   int // number of rows of any kind
	dos    int
	effect int // number of dos minus the number of undos
	open   []row
}

// net groups the rows by order. It combines the rows of all runs of an order. It reports a row as a violation
// if the order was not submitted or the key has a wrong form.
func (a *auditor) net(s service, rows []row) map[string]standing {
	net := map[string]standing{}
	for _, r := range rows {
		id, ok := orderOf(r.Key)
		if !ok {
			a.violation(r.Key, s.name, "key of another form", "<order>/<run>/<step>",
				fmt.Sprintf("%q", r.Key))
			continue
		}
		if _, known := a.orders[id]; !known {
			a.violation(id, s.name, r.Kind+" for an order that was not submitted", "none",
				r.Kind+" of "+measure(r.Amount, r.Unit))
			continue
		}
		n := net[id]
		n.rows++
		switch r.Kind {
		case "do":
			n.dos++
			n.effect++
			n.open = append(n.open, r)
		case "undo":
			n.effect--
			n.open = without(n.open, r.Key)
		}
		net[id] = n
	}
	return net
}

func without(open []row, key string) []row {
	for i := len(open) - 1; i >= 0; i-- {
		if open[i].Key == key {
			return append(open[:i:i], open[i+1:]...)
		}
	}
	return open
}

func (a *auditor) order(s service, o Order, n standing) {
	switch o.Outcome {
	case Processed:
		want := 0
		if s.due(o) {
			want = 1
		}
		if n.effect != want {
			a.violation(o.ID, s.name, "net "+s.effect+"s of a processed order", fmt.Sprint(want),
				fmt.Sprint(n.effect))
		}
	case Undone:
		if n.effect != 0 {
			a.violation(o.ID, s.name, "net "+s.effect+"s of an undone order", "0", fmt.Sprint(n.effect))
		}
		if s.name == "notification" && n.dos > 0 {
			a.violation(o.ID, s.name, "confirmation of an undone order", "none", fmt.Sprint(n.dos))
		}
	case Refused:
		if n.rows > 0 {
			a.violation(o.ID, s.name, "rows of a refused order", "none", fmt.Sprint(n.rows))
		}
	default:
		if n.effect < 0 || n.effect > 1 {
			a.violation(o.ID, s.name, "net "+s.effect+"s of an order without an end", "0 or 1",
				fmt.Sprint(n.effect))
		}
	}
	amount, unit := s.amount(o)
	for _, r := range n.open {
		if r.Amount != amount || r.Unit != unit {
			a.violation(o.ID, s.name, s.effect+" of another amount", measure(amount, unit),
				measure(r.Amount, r.Unit))
		}
	}
}

// ended adds a violation if an acknowledged order has not ended.
func (a *auditor) ended(o Order) {
	switch o.Outcome {
	case Processed, Undone, Refused, Error, Running:
	case Unfinished:
		a.violation(o.ID, "", "acknowledged, and has no end", "processed, undone or error", "still running")
	case Lost:
		a.violation(o.ID, "", "acknowledged, and lost", "processed, undone or error", "unknown order")
	default:
		a.violation(o.ID, "", "no such outcome", "one of the seven", fmt.Sprintf("%q", o.Outcome))
	}
}

func measure(amount int64, unit string) string { return fmt.Sprintf("%d %s", amount, unit) }
