// Package shop generates the orders of a realistic shop. It also computes the effects that each order should
// have at the remote services.
package shop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"

	"github.com/stepkeeper/stepkeeper/demo/audit"
)

type item struct {
	SKU       string `json:"sku"`
	Quantity  int    `json:"quantity"`
	UnitPrice int64  `json:"unitPrice"`
	Physical  bool   `json:"physical"`
}

type customer struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Email   string `json:"email"`
	Country string `json:"country"`
}

type address struct {
	Name    string `json:"name"`
	Street  string `json:"street"`
	City    string `json:"city"`
	Country string `json:"country"`
}

type order struct {
	Customer customer          `json:"customer"`
	Currency string            `json:"currency"`
	Items    []item            `json:"items"`
	Payment  map[string]string `json:"payment"`
	ShipTo   *address          `json:"shipTo,omitempty"`
}

type submission struct {
	Schema   int    `json:"schema"`
	OrderID  string `json:"orderId"`
	Workflow string `json:"workflow"`
	Order    order  `json:"order"`
	Priority string `json:"priority,omitempty"`
}

// Shares of orders with a special card, item or address, in thousandths. A service refuses most of these
// orders.
const (
	badCardShare  = 35
	soldOutShare  = 25
	limitedShare  = 60
	unservedShare = 15
)

// Good yields valid orders without end. Each order is one line of JSON.
func Good(seed uint64) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		rng := rand.New(rand.NewPCG(seed, 0x5374657063))
		for n := 1; yield(encode(submit(rng, n))); n++ {
		}
	}
}

// First returns the first n valid orders of `stepkeeper demo`, each as one line of JSON.
func First(n int) (lines [][]byte) {
	for line := range Good(1) {
		if len(lines) == n {
			break
		}
		lines = append(lines, line)
	}
	return lines
}

// Orders returns the orders of `stepkeeper demo` as 1,000 lines of JSON. The broken lines are spread among
// the valid lines. The result is always the same.
func Orders() []byte {
	good := First(1000 - len(broken))
	lines := slices.Clone(good)
	for n, b := range slices.Backward(broken) {
		at := (n + 1) * len(good) / (len(broken) + 1)
		lines = slices.Insert(lines, at, spoil(b.member, b.json, good[at-1], good[at]))
	}
	return append(bytes.Join(lines, []byte("\n")), '\n')
}

func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // Encoding plain data cannot fail.
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func submit(rng *rand.Rand, n int) submission {
	s := submission{Schema: 1, OrderID: orderID(rng, n), Workflow: "order", Order: purchase(rng, n)}
	if rng.IntN(20) == 0 {
		s.Priority = "high"
	}
	return s
}

// orderID returns an ID in one of the usual forms of shops. Each ID contains n, so that no two IDs are equal.
func orderID(rng *rand.Rand, n int) string {
	switch rng.IntN(4) {
	case 0:
		return fmt.Sprintf("web-2026-%05d", n)
	case 1:
		return fmt.Sprintf("shop.eu:%d", 700000+n)
	case 2:
		return fmt.Sprintf("%08x-%04x", rng.Uint32(), n)
	}
	return fmt.Sprintf("A_%d", n)
}

func purchase(rng *rand.Rand, n int) order {
	home := countries[rng.IntN(len(countries))]
	name := home.names[rng.IntN(len(home.names))]
	o := order{
		Customer: customer{
			fmt.Sprintf("c-%d", 1000+rng.IntN(600)), name,
			fmt.Sprintf("customer%d@example.com", n), home.code,
		},
		Currency: home.currency,
		Payment:  map[string]string{"card": fmt.Sprintf("%s_%d", pick(rng, goodCards), n)},
	}
	digital := rng.IntN(6) == 0
	for range 1 + min(rng.IntN(4), rng.IntN(4)) {
		p := products[rng.IntN(len(products))]
		for digital && p.physical {
			p = products[rng.IntN(len(products))]
		}
		o.Items = append(o.Items, item{p.sku, 1 + min(rng.IntN(5), rng.IntN(5)), p.price, p.physical})
	}
	rare(rng, n, &o, digital)
	for _, i := range o.Items {
		if i.Physical && o.ShipTo == nil {
			o.ShipTo = &address{
				name, fmt.Sprintf("%d Main Street", 1+rng.IntN(200)),
				home.cities[rng.IntN(len(home.cities))], home.code,
			}
		}
	}
	return o
}

// rare changes some orders so that a service may refuse them. Each changed order has one reason for a
// refusal.
func rare(rng *rand.Rand, n int, o *order, digital bool) {
	switch u := rng.IntN(1000); {
	case u < badCardShare:
		o.Payment["card"] = fmt.Sprintf("%s_%d", pick(rng, badCards), n)
	case u < badCardShare+soldOutShare:
		o.Items = append(o.Items, item{pick(rng, soldOut), 1, 3500, true})
	case u < badCardShare+soldOutShare+limitedShare:
		o.Items = append(o.Items, item{pick(rng, limited), 1 + rng.IntN(2), 6000, true})
	case u < badCardShare+soldOutShare+limitedShare+unservedShare && !digital:
		o.Items = append(o.Items, item{"POSTER-A2", 1, 990, true})
		o.ShipTo = &address{o.Customer.Name, "1 Ice Road", "McMurdo", "AQ"}
	}
}

func pick(rng *rand.Rand, from []string) string { return from[rng.IntN(len(from))] }

// Expectation returns the ID of an order and the effects that the order should have at the services. A value
// that cannot be read from the text is zero in the result. If the server processes such a text, the audit
// reports a violation.
func Expectation(text []byte) (string, audit.Order) {
	var head struct {
		OrderID string          `json:"orderId"`
		Order   json.RawMessage `json:"order"`
	}
	if json.Unmarshal(text, &head) != nil {
		return "", audit.Order{}
	}
	var o order
	expect := audit.Order{ID: head.OrderID}
	if json.Unmarshal(head.Order, &o) != nil {
		return head.OrderID, expect
	}
	expect.Currency = o.Currency
	for _, i := range o.Items {
		expect.Units += int64(i.Quantity)
		expect.Amount += int64(i.Quantity) * i.UnitPrice
		expect.Physical = expect.Physical || i.Physical
	}
	return head.OrderID, expect
}
