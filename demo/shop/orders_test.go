package shop_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/demo/shop"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

func lines() [][]byte {
	return bytes.Split(bytes.TrimSuffix(shop.Orders(), []byte("\n")), []byte("\n"))
}

// reading holds the lines by kind.
type reading struct {
	orders       map[string]message.SubmitOrder
	again, other int            // lines of an order that came before, with the same content and with another
	refused      map[string]int // number of refusals by code and field
}

// read sorts the lines: the first of each ID that can be read, and why others cannot.
func read() reading {
	r := reading{orders: map[string]message.SubmitOrder{}, refused: map[string]int{}}
	for _, line := range lines() {
		o, err := message.DecodeSubmit(line)
		var no *core.Refusal
		switch first, seen := r.orders[o.OrderID]; {
		case errors.As(err, &no):
			r.refused[no.Code+" "+no.Field]++
		case seen && bytes.Equal(first.Order, o.Order):
			r.again++
		case seen:
			r.other++
		default:
			r.orders[o.OrderID] = o
		}
	}
	return r
}

func TestFile(t *testing.T) {
	if n := len(lines()); n != 1000 {
		t.Errorf("the file has %d lines, want 1000", n)
	}
	if size := len(shop.Orders()); size > 700<<10 {
		t.Errorf("the file has %d bytes, want at most 700 KiB", size)
	}
	r := read()
	orders := r.orders
	again := r.again
	other := r.other
	if len(orders) != 980 || again != 2 || other != 2 {
		t.Errorf("%d orders, %d again, %d with other content; want 980 (one of an unknown workflow), 2, 2",
			len(orders), again, other)
	}
	for _, want := range []string{
		"missing-field orderId", "invalid-field orderId", "invalid-field workflow", "invalid-field schema",
		"invalid-field priority", "invalid-field deadline", "invalid-field replyTo", "missing-field order",
		"unknown-field oder", "not-json ",
	} {
		if r.refused[want] == 0 {
			t.Errorf("no line is refused as %q; there are %v", want, r.refused)
		}
	}
	if r.refused["not-json "] != 3 {
		t.Errorf("%d lines are no JSON (cut off, wrong UTF-8, too deep), want 3", r.refused["not-json "])
	}
}

// TestVariety: the file shows a shop of this world, and every reason to undo.
func TestVariety(t *testing.T) {
	var got struct{ several, digital, high, badCard, soldOut, limited, unserved, foreign int }
	countries := map[string]bool{}
	currencies := map[string]bool{}
	orders := read().orders
	for id, s := range orders {
		var o struct {
			Customer struct{ Name, Country string }
			Currency string
			Items    []struct {
				SKU                 string
				Quantity, UnitPrice int64
				Physical            bool
			}
			Payment struct{ Card string }
			ShipTo  *struct{ Country string }
		}
		if err := json.Unmarshal(s.Order, &o); err != nil {
			t.Fatalf("order %s: %v", id, err)
		}
		countries[o.Customer.Country] = true
		currencies[o.Currency] = true
		count := func(n *int, yes bool) {
			if yes {
				*n++
			}
		}
		physical := false
		for _, i := range o.Items {
			physical = physical || i.Physical
			count(&got.soldOut, strings.HasPrefix(i.SKU, "SOLDOUT-"))
			count(&got.limited, strings.HasPrefix(i.SKU, "LTD-"))
			if i.Quantity < 1 || i.UnitPrice < 1 {
				t.Errorf("order %s has an item of %d pieces at %d", id, i.Quantity, i.UnitPrice)
			}
		}
		if physical && o.ShipTo == nil {
			t.Errorf("order %s has goods and no address", id)
		}
		count(&got.several, len(o.Items) > 1)
		count(&got.digital, !physical)
		count(&got.high, s.Priority == "high")
		count(&got.badCard, strings.HasPrefix(o.Payment.Card, "tok_declined") ||
			strings.HasPrefix(o.Payment.Card, "tok_expired") ||
			strings.HasPrefix(o.Payment.Card, "tok_empty"))
		count(&got.unserved, o.ShipTo != nil && o.ShipTo.Country == "AQ")
		count(&got.foreign, strings.IndexFunc(o.Customer.Name, func(r rune) bool { return r > 127 }) >= 0)
	}
	if len(countries) < 15 || len(currencies) < 12 {
		t.Errorf("%d countries, %d currencies; want at least 15 and 12", len(countries), len(currencies))
	}
	for name, n := range map[string]int{
		"several items": got.several / 30, "digital only": got.digital / 10, "high priority": got.high / 3,
		"bad card": got.badCard / 2,
		"sold out": got.soldOut, "limited": got.limited / 3, "country not served": got.unserved / 1,
		"names beyond ASCII": got.foreign / 30,
	} {
		if n < 8 {
			t.Errorf("too few orders with %s: %+v", name, got)
		}
	}
}
