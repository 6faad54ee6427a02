package shop

import (
	"encoding/json"

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
