package shop

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"

	"github.com/stepkeeper/stepkeeper/demo/audit"
)

// Expectation computes the expected calls of the services from an order. It returns zeros for a text that is
// no valid order. If such a text is processed, the audit reports it.
func Expectation(text []byte) (string, audit.Order) {
	var head struct {
		OrderID string          `json:"orderId"`
		Order   json.RawMessage `json:"order"`
	}
	if json.Unmarshal(text, &head) != nil {
		return "", audit.Order{}
	}
	var order struct {
		Currency string `json:"currency"`
		Items    []struct {
			Quantity  json.Number `json:"quantity"`
			UnitPrice json.Number `json:"unitPrice"`
			Physical  bool        `json:"physical"`
		} `json:"items"`
	}
	expect := audit.Order{ID: head.OrderID}
	if json.Unmarshal(head.Order, &order) != nil {
		return head.OrderID, expect
	}
	expect.Currency = order.Currency
	units, amount := new(big.Rat), new(big.Rat)
	for _, i := range order.Items {
		quantity := exact(i.Quantity)
		units.Add(units, quantity)
		amount.Add(amount, quantity.Mul(quantity, exact(i.UnitPrice)))
		expect.Physical = expect.Physical || i.Physical
	}
	expect.Units, expect.Amount = whole(units), whole(amount)
	return head.OrderID, expect
}

// exact returns a number of an order, with decimals. It returns 0 for a text that is no number, or that is
// out of range.
func exact(n json.Number) *big.Rat {
	f, err := n.Float64()
	if err != nil || math.Abs(f) > 1e15 {
		return new(big.Rat)
	}
	if strings.ContainsAny(n.String(), "eE") { // the exact number could have a million digits
		return new(big.Rat).SetFloat64(f)
	}
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		return new(big.Rat)
	}
	return r
}

// whole returns the number if it is whole and small enough, otherwise 0, because no service accepts such an
// amount.
func whole(r *big.Rat) int64 {
	if r.IsInt() && r.Num().IsInt64() {
		return r.Num().Int64()
	}
	return 0
}
