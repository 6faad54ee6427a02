package source_test

import (
	"encoding/json"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

const usualOrder = `{"customer":{"id":"c-1","name":"Ada","email":"ada@example.org","country":"DE"},"currency":"EUR",
	"items":[{"sku":"book","quantity":2,"unitPrice":1999,"physical":true},{"sku":"licence","quantity":1,"unitPrice":500,"physical":false}],
	"payment":{"card":"tok_1"},"shipTo":{"street":"1 Main St","zip":"01234"}}`

// What the agents of the example get, for an order with goods to carry and for one without.
func TestOrderInputs(t *testing.T) {
	d, problems := source.LoadFile("../../../workflows/order.yaml", source.Options{})
	if d == nil {
		t.Fatal(problems)
	}
	goods := core.Environment{OrderID: "o-1", Order: json.RawMessage(usualOrder), Outputs: map[string]json.RawMessage{
		"reserve-inventory": json.RawMessage(`{"reservationId":"r-1"}`),
		"charge-payment":    json.RawMessage(`{"chargeId":"ch-1"}`),
		"book-shipment":     json.RawMessage(`{"shipmentId":"s-1"}`),
	}}
	download := core.Environment{OrderID: "o-2", Order: json.RawMessage(`{"customer":{"email":"a@b"},"currency":"EUR",
		"items":[{"sku":"song","quantity":3,"unitPrice":99}],"payment":{"card":"tok_2"}}`)}
	for _, c := range []struct {
		step string
		env  core.Environment
		when bool
		want string
	}{
		{"reserve-inventory", goods, true, `{"items":[{"sku":"book","quantity":2,"unitPrice":1999,"physical":true},{"sku":"licence","quantity":1,"unitPrice":500,"physical":false}]}`},
		{"charge-payment", goods, true, `{"card":"tok_1","currency":"EUR","amount":4498}`},
		{"book-shipment", goods, true, `{"items":[{"physical":true,"quantity":2,"sku":"book","unitPrice":1999}],"shipTo":{"street":"1 Main St","zip":"01234"}}`},
		{"send-confirmation", goods, true, `{"to":"ada@example.org","orderId":"o-1","chargeId":"ch-1"}`},
		{"charge-payment", download, true, `{"card":"tok_2","currency":"EUR","amount":297}`},
		{"book-shipment", download, false, `{"items":[],"shipTo":null}`},
		{"send-confirmation", download, true, `{"to":"a@b","orderId":"o-2","chargeId":null}`},
	} {
		i := d.Index(c.step)
		got, err := d.Expr.Input(i, c.env)
		if err != nil || string(got) != c.want {
			t.Errorf("%s of %s: %v\n got %s\nwant %s", c.step, c.env.OrderID, err, got, c.want)
		}
		if when, err := d.Expr.When(i, c.env); err != nil || when != c.when {
			t.Errorf("%s of %s runs: %v %v, want %v", c.step, c.env.OrderID, when, err, c.when)
		}
	}
	for _, c := range []struct {
		env  core.Environment
		want string
	}{
		{goods, `{"chargeId":"ch-1","reservationId":"r-1","shipmentId":"s-1"}`},
		{download, `{"chargeId":null,"reservationId":null,"shipmentId":null}`},
	} {
		if got, err := d.Expr.Output(c.env); err != nil || string(got) != c.want {
			t.Errorf("output of %s: %s %v", c.env.OrderID, got, err)
		}
	}
}

// The whole of what one order costs in expressions.
func BenchmarkOrderExpressions(b *testing.B) {
	d, _ := source.LoadFile("../../../workflows/order.yaml", source.Options{})
	env := core.Environment{OrderID: "o-1", Order: json.RawMessage(usualOrder), Outputs: map[string]json.RawMessage{
		"charge-payment": json.RawMessage(`{"chargeId":"ch-1"}`),
	}}
	for _, part := range []struct {
		name string
		run  func() error
	}{
		{"paths", func() error { _, err := d.Expr.Input(0, env); return err }},
		{"sum", func() error { _, err := d.Expr.Input(1, env); return err }},
		{"when", func() error { _, err := d.Expr.When(2, env); return err }},
		{"output", func() error { _, err := d.Expr.Output(env); return err }},
	} {
		b.Run(part.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := part.run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
