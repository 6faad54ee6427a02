package source_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

const usualOrder = `{"customer":{"id":"c-1","name":"Ada","email":"ada@example.org","country":"DE"},"currency":"EUR",
	"items":[{"sku":"book","quantity":2,"unitPrice":1999,"physical":true},{"sku":"licence","quantity":1,"unitPrice":500,"physical":false}],
	"payment":{"card":"tok_1"},"shipTo":{"street":"1 Main St","zip":"01234"}}`

// The inputs of the example's agents, for an order with goods to ship and for one without.
func TestOrderInputs(t *testing.T) {
	d, problems := source.LoadFile("../../../examples/order/order.yaml", source.Options{})
	if d == nil {
		t.Fatal(problems)
	}
	goods := core.Environment{
		OrderID: "o-1", Order: json.RawMessage(usualOrder),
		Outputs: map[string]json.RawMessage{
			"reserve-inventory": json.RawMessage(`{"reservationId":"r-1"}`),
			"charge-payment":    json.RawMessage(`{"chargeId":"ch-1"}`),
			"book-shipment":     json.RawMessage(`{"shipmentId":"s-1"}`),
		},
	}
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

// The questions of the steps in answers.yaml, and the values that they accept and refuse (P35).
func TestQuestions(t *testing.T) {
	d, problems := source.LoadFile("testdata/good/answers.yaml", source.Options{})
	if d == nil {
		t.Fatal(problems)
	}
	env := core.Environment{
		OrderID: "o-1",
		Order:   json.RawMessage(`{"amount":5,"requestedBy":"ann","who":["x"],"need":1,"patience":"3d"}`),
	}
	for step, want := range map[string]string{
		"approve": `{"question":"Pay 5?","show":{"amount":5,"purpose":null},"need":2,"who":["ann","bob","eve"],"notSelf":"ann"}`,
		"settled": ``,
		"late":    `{"question":"Late?","need":1,"who":["x"],"timeout":"3d"}`,
	} {
		if got, err := d.Expr.Input(d.Index(step), env); err != nil || string(got) != want {
			t.Errorf("%s: %v\n got %s\nwant %s", step, err, got, want)
		}
	}
	for _, c := range []struct {
		step, value string
		wrong       string
		refused     bool
	}{
		{"approve", `"approve"`, "", false},
		{"approve", `"reject"`, "", true},
		{"settled", `{"status":"ok"}`, "", false},
		{"settled", `{"status":"failed"}`, "", true},
		{"settled", `{"status":"secret"}`, `at /status it is not one of "ok","failed"`, false},
		{"settled", `["secret"]`, "at the top it is a list, not a mapping", false},
		{"late", `"yes"`, "", false},
	} {
		env.Value = json.RawMessage(c.value)
		i := d.Index(c.step)
		if err := d.Expr.CheckAnswer(i, env.Value); (err == nil) != (c.wrong == "") || err != nil &&
			err.Error() != c.wrong {
			t.Errorf("%s to %s: %v", c.value, c.step, err)
		}
		if c.wrong != "" {
			continue
		}
		if refused, err := d.Expr.Refused(i, env); refused != c.refused || err != nil {
			t.Errorf("%s to %s is refused: %v, %v", c.value, c.step, refused, err)
		}
	}
	env.Value = json.RawMessage(`"secret"`)
	if _, err := d.Expr.Refused(d.Index("settled"), env); err == nil ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("a value of another shape: %v", err)
	}
}
