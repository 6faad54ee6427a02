package shop_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
	require.Len(t, lines(), 1000)
	require.LessOrEqual(t, len(shop.Orders()), 700<<10)
	r := read()
	orders := r.orders
	again := r.again
	other := r.other
	require.Len(t, orders, 980)
	require.Equal(t, 2, again)
	require.Equal(t, 2, other)
	for _, want := range []string{
		"missing-field orderId", "invalid-field orderId", "invalid-field workflow", "invalid-field schema",
		"invalid-field priority", "invalid-field deadline", "invalid-field replyTo", "missing-field order",
		"unknown-field oder", "not-json ",
	} {
		require.NotZero(t, r.refused[want], want)
	}
	require.Equal(t, 3, r.refused["not-json "])
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
		require.NoError(t, json.Unmarshal(s.Order, &o), id)
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
			require.GreaterOrEqual(t, i.Quantity, int64(1), id)
			require.GreaterOrEqual(t, i.UnitPrice, int64(1), id)
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
	require.GreaterOrEqual(t, len(countries), 15)
	require.GreaterOrEqual(t, len(currencies), 12)
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
