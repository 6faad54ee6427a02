package shop

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"

	"github.com/stepkeeper/stepkeeper/demo/audit"
)

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
	units := new(big.Rat)
	amount := new(big.Rat)
	for _, i := range order.Items {
		quantity := exact(i.Quantity)
		units.Add(units, quantity)
		amount.Add(amount, quantity.Mul(quantity, exact(i.UnitPrice)))
		expect.Physical = expect.Physical || i.Physical
	}
	expect.Units = whole(units)
	expect.Amount = whole(amount)
	return head.OrderID, expect
}

// exact returns the value of a number in an order: the exact value, or a float64 if the number has an
// exponent. It returns 0 if the text is not a number or the number is too large.
func exact(n json.Number) *big.Rat {
	f, err := n.Float64()
	if err != nil || math.Abs(f) > 1e15 {
		return new(big.Rat)
	}
	if strings.ContainsAny(n.String(), "eE") { // The exact value could have a million digits.
		return new(big.Rat).SetFloat64(f)
	}
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		return new(big.Rat)
	}
	return r
}

// whole returns the number if it is an integer that fits into int64. Otherwise it returns 0, because no
// service accepts the number as an amount.
func whole(r *big.Rat) int64 {
	if r.IsInt() && r.Num().IsInt64() {
		return r.Num().Int64()
	}
	return 0
}
