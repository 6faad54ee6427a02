package expression_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/expression"
)

// P35: which value of an answer is a refusal is an expression over it, and over all that an input may read.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		source, value string
		want          bool
		err           string
	}{
		{`value == "no"`, `"no"`, true, ""}, {`value == "no"`, `"yes"`, false, ""},
		{`value.amount > order.limit`, `{"amount":7}`, true, ""},
		{`value.amount > order.limit`, `{"amount":3}`, false, ""},
		{`value`, `"no"`, false, "refuse needs true or false"},
	} {
		def := &core.Definition{Name: "w",
			Steps: []core.StepDefinition{{Name: "a", Answer: &core.Answer{Refuse: c.source}}, {Name: "b"}}}
		x, err := expression.Compile(def)
		if err != nil {
			t.Fatal(err)
		}
		env := core.Environment{Order: json.RawMessage(`{"limit":5}`), Value: json.RawMessage(c.value)}
		got, err := x.Refused(0, env)
		if got != c.want || (err == nil) != (c.err == "") || err != nil &&
			!strings.Contains(err.Error(), c.err) {
			t.Errorf("%s of %s: %v, %v", c.source, c.value, got, err)
		}
		if no, err := x.Refused(1, env); no || err != nil {
			t.Errorf("a step without a refusal refuses: %v", err)
		}
	}
	if err := expression.Check(`value == "no"`, expression.Scope{}); err == nil {
		t.Error("an input may read the value of an answer")
	}
}

// The schema of an event's value is read strictly, within its limit.
func TestSchemasThatCannotBeRead(t *testing.T) {
	of := func(n int) json.RawMessage {
		const frame = `{"title":""}`
		return json.RawMessage(strings.Replace(frame, `""`, `"`+strings.Repeat("x", n-len(frame))+`"`, 1))
	}
	for want, schema := range map[string]json.RawMessage{
		"":                                  of(expression.MaxSchema),
		"16385 bytes, the limit is 16384":   of(expression.MaxSchema + 1),
		"it is not JSON":                    json.RawMessage(`{`),
		"it refers to another document":     json.RawMessage(`{"$ref":"file:///etc/passwd"}`),
		"it refers to another document, \"": json.RawMessage(`{"$ref":"https://a.example/s.json"}`),
	} {
		if err := expression.CheckSchema(schema); (err == nil) != (want == "") || err != nil &&
			!strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", schema, err, want)
		}
	}
}

// A check names the step that a token cannot be of, or that cannot be asked about, as it is written in the
// file and in an expression.
func TestStepsThatCannotBeNamed(t *testing.T) {
	scope := expression.Scope{Steps: []string{"pay-out", "approve", "bought"},
		Answered: map[string]bool{"approve": false, "bought": true}, Continues: map[string]bool{}}
	for source, want := range map[string][]string{
		`token("aprove")`: {"token names aprove, which is no approval or event",
			"did you mean approve?"},
		`token("pay-out")`: {"token names pay-out", "steps that are: approve, bought"},
		`token("bought")`: {"names no person, and step bought asks who answers",
			"token('bought', order.approver)"},
		`token(order.step)`: {"the step of a token is computed"},
		`steps.pay_out.failed`: {"steps.pay_out.failed is asked of a step",
			"onFailure: continue in step pay-out"},
		`token("approve")`:           nil,
		`token("bought", order.who)`: nil,
	} {
		err := expression.Check(source, scope)
		if (err == nil) != (want == nil) {
			t.Errorf("%s: %v", source, err)
		}
		for _, text := range want {
			if err != nil && !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v, want %q", source, err, text)
			}
		}
	}
	if err := expression.CheckValue(json.RawMessage(`{`), json.RawMessage(`1`)); err == nil ||
		!strings.Contains(err.Error(), "not JSON") {
		t.Errorf("a value under a schema that cannot be read: %v", err)
	}
}

// A validation has a budget of work, whatever keyword the work is in; what is usual stays far below it.
func TestValidationHasABudget(t *testing.T) {
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	list := func(n int, element string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + "]"
	}
	branch := func(keyword string) string {
		return strings.ReplaceAll(`{"$defs":{"n":{"K":[{"properties":{"a":{"$ref":"#/$defs/n"}},"required":["z"]},{"properties":{"a":{"$ref":"#/$defs/n"}},"required":["y"]}]}},"$ref":"#/$defs/n"}`, "K", keyword)
	}
	enum := `{"items":{"enum":` + list(3000, "77") + `}}`
	const budget = "takes more than 100000 steps of work"
	for _, c := range []struct{ name, schema, value, want string }{
		{"anyOf", branch("anyOf"), nested(60), budget},
		{"oneOf", branch("oneOf"), nested(60), budget},
		{"allOf", branch("allOf"), nested(60), budget},
		{"not", `{"not":` + branch("anyOf") + `}`, nested(60), ""},
		{"a long enum", enum, list(4000, "78"), budget},
		{"a long const", `{"items":{"const":` + list(3000, "77") + `}}`, list(1000, list(3, "77")), budget},
		{"contains", `{"allOf":` + list(300, `{"contains":{"const":1}}`) + `}`, list(4000, "2"), budget},
		{"unique lists", `{"items":{"uniqueItems":true}}`, list(4, list(20, list(50, "1.0e5"))),
			"at /0 it does not keep to uniqueItems"},
		{"many unique lists", `{"allOf":` + list(400, `{"uniqueItems":true}`) + `}`, list(20, list(90, "3")),
			budget},
		{"a pattern", `{"items":{"pattern":"^(a|b|c|d|e|f|g|h|[a-z]{1,500})*$"}}`,
			list(40, `"`+strings.Repeat("a", 190)+`"`), budget},
		{"names by a pattern",
			`{"patternProperties":{"(a|[a-z]{1,500})*0$":true,"(b|[a-z]{1,500})*0$":true}}`,
			`{"` + strings.Repeat("a", 8000) + `":1}`, ""},
		{"a usual form", `{"properties":{"lines":{"items":{"properties":{"sku":{"type":"string","pattern":"^[A-Z]{2}-[0-9]{1,6}$"},"n":{"type":"integer","minimum":1,"multipleOf":1}},"required":["sku","n"],"additionalProperties":false}}}}`,
			`{"lines":` + list(250, `{"sku":"AB-1234","n":17}`) + `}`, "<nil>"},
		{"a tree that refers to itself", `{"$defs":{"t":{"type":"object","properties":{"left":{"$ref":"#/$defs/t"},"right":{"$ref":"#/$defs/t"}}}},"$ref":"#/$defs/t"}`,
			strings.Repeat(`{"right":{},"left":`, 60) + "{}" + strings.Repeat("}", 60), "<nil>"},
	} {
		err := expression.CheckValue(json.RawMessage(c.schema), json.RawMessage(c.value))
		if text := fmt.Sprint(err); c.want != "" && !strings.Contains(text, c.want) {
			t.Errorf("%s: %.300s", c.name, text)
		}
	}
	for schema, want := range map[string]string{
		`{"pattern":"` + strings.Repeat("[a-z]{1000}", 10) + `"}`:      "the limit is 2000; repeat less",
		`{"minimum":1e9999999}`:                                        "a number is out of bounds",
		`{"$dynamicAnchor":"a","items":{"$dynamicRef":"#a"}}`:          "write $ref",
		strings.Repeat(`{"not":`, 65) + "{}" + strings.Repeat("}", 65): "nested deeper than 64 levels",
	} {
		if err := expression.CheckSchema(json.RawMessage(schema)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %q", schema, err, want)
		}
	}
}

// Validations of one schema at once have a budget each.
func TestValidationsAtOnce(t *testing.T) {
	def := &core.Definition{Name: "w",
		Steps: []core.StepDefinition{{Name: "a",
			Answer: &core.Answer{Event: "e", Schema: json.RawMessage(`{"items":{"enum":[1,2]}}`)}}}}
	x, err := expression.Compile(def)
	if err != nil {
		t.Fatal(err)
	}
	value := json.RawMessage("[" + strings.Repeat("1,", 4000) + "2]")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 5 {
				if err := x.CheckAnswer(0, value); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}
