package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/schema"
)

// check compiles a schema and checks a value.
func check(text, value string) error {
	s, err := schema.Compile(json.RawMessage(text))
	if err != nil {
		return err
	}
	return s.Check(json.RawMessage(value))
}

// The schema of an event's value is read strictly, within its limit.
func TestSchemasThatCannotBeRead(t *testing.T) {
	of := func(n int) json.RawMessage {
		const frame = `{"title":""}`
		return json.RawMessage(strings.Replace(frame, `""`, `"`+strings.Repeat("x", n-len(frame))+`"`, 1))
	}
	for want, text := range map[string]json.RawMessage{
		"":                                  of(schema.MaxSize),
		"16385 bytes, the limit is 16384":   of(schema.MaxSize + 1),
		"it is not JSON":                    json.RawMessage(`{`),
		"it refers to another document":     json.RawMessage(`{"$ref":"file:///etc/passwd"}`),
		"it refers to another document, \"": json.RawMessage(`{"$ref":"https://a.example/s.json"}`),
	} {
		if _, err := schema.Compile(text); (err == nil) != (want == "") || err != nil &&
			!strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
}

// A validation has a budget of work, for every keyword. Usual values need far less.
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
		{
			"unique lists", `{"items":{"uniqueItems":true}}`, list(4, list(20, list(50, "1.0e5"))),
			"at /0 it does not match uniqueItems",
		},
		{
			"many unique lists", `{"allOf":` + list(400, `{"uniqueItems":true}`) + `}`, list(20, list(90, "3")),
			budget,
		},
		{
			"a pattern", `{"items":{"pattern":"^(a|b|c|d|e|f|g|h|[a-z]{1,500})*$"}}`,
			list(40, `"`+strings.Repeat("a", 190)+`"`), budget,
		},
		{
			"names by a pattern",
			`{"patternProperties":{"(a|[a-z]{1,500})*0$":true,"(b|[a-z]{1,500})*0$":true}}`,
			`{"` + strings.Repeat("a", 8000) + `":1}`, "",
		},
		{
			"a usual form", `{"properties":{"lines":{"items":{"properties":{"sku":{"type":"string","pattern":"^[A-Z]{2}-[0-9]{1,6}$"},"n":{"type":"integer","minimum":1,"multipleOf":1}},"required":["sku","n"],"additionalProperties":false}}}}`,
			`{"lines":` + list(250, `{"sku":"AB-1234","n":17}`) + `}`, "<nil>",
		},
		{
			"a tree that refers to itself", `{"$defs":{"t":{"type":"object","properties":{"left":{"$ref":"#/$defs/t"},"right":{"$ref":"#/$defs/t"}}}},"$ref":"#/$defs/t"}`,
			strings.Repeat(`{"right":{},"left":`, 60) + "{}" + strings.Repeat("}", 60), "<nil>",
		},
	} {
		err := check(c.schema, c.value)
		if text := fmt.Sprint(err); c.want != "" && !strings.Contains(text, c.want) {
			t.Errorf("%s: %.300s", c.name, text)
		}
	}
	for text, want := range map[string]string{
		`{"pattern":"` + strings.Repeat("[a-z]{1000}", 10) + `"}`:      "the limit is 2000; repeat less",
		`{"minimum":1e9999999}`:                                        "a number is out of bounds",
		`{"$dynamicAnchor":"a","items":{"$dynamicRef":"#a"}}`:          "write $ref",
		strings.Repeat(`{"not":`, 65) + "{}" + strings.Repeat("}", 65): "nested deeper than 64 levels",
	} {
		_, err := schema.Compile(json.RawMessage(text))
		require.ErrorContains(t, err, want, text)
	}
}

// Validations of one schema at once have a budget each.
func TestValidationsAtOnce(t *testing.T) {
	s, err := schema.Compile(json.RawMessage(`{"items":{"enum":[1,2]}}`))
	require.NoError(t, err)
	value := json.RawMessage("[" + strings.Repeat("1,", 4000) + "2]")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 5 {
				if err := s.Check(value); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

// An error lists the first mismatches, sorted, each with its place and the requirement of the schema. It
// shows no part of the value, and only a part of a field's name.
func TestFaults(t *testing.T) {
	const order = `{"type":"object","required":["email","items"],"additionalProperties":false,
		"properties":{"email":{"type":"string","pattern":"@"},"kind":{"enum":["book",7]},"v":{"const":1},
		"items":{"type":"array","minItems":1,"items":{"type":"object","required":["sku"],
		"properties":{"sku":{"type":"string","minLength":3,"maxLength":5},
		"qty":{"type":"integer","minimum":1,"maximum":10}}}},"tags":{"propertyNames":{"maxLength":2}},
		"pay":{"oneOf":[{"required":["card"],"properties":{"card":{"type":"string"}}},
		{"required":["iban","bic","name"]}]},"no":false}}`
	for value, want := range map[string]string{
		`{"email":"a@b","items":[{"sku":"abc","qty":1}]}`: "<nil>",
		`{"items":[{"sku":"secret","qty":0},{"sku":7},{}],"email":"secret"}`: "at /email it does not " +
			"match the " +
			"pattern @; at /items/0/qty it is less than 1; at /items/0/sku it has 6 characters, the limit " +
			"is 5; and at 2 more places",
		`["secret"]`:    "at the top it is a list, not a mapping",
		`{"email":"@"}`: `at the top it lacks "items"`,
		`{"email":"@","items":[],"kind":"secret","v":2}`: `at /items it has 0 elements, the least is 1; ` +
			`at /kind it is not one of "book",7; at /v it is not 1`,
		`{"email":"@","items":[{"sku":"ab","qty":11}],"pay":{}}`: `at /items/0/qty it is more than 10; ` +
			`at /items/0/sku it has 2 characters, the least is 3; at /pay it lacks "card"`,
		`{"email":"@","items":[{"sku":"abc"}],"a/b~\u001b[1m":1,"no":1,"tags":{"long":1}}`: `at /no it is not ` +
			`allowed; at the top it has the unknown field "a/b~` + "\ufffd" +
			`[1m"; the name "long" of a field ` +
			`does not match propertyNames`,
		`{"a":1e99999}`: "a: a number is out of bounds",
		`{`:             "it is not JSON",
	} {
		for range 5 { // in whatever order the library walks the fields
			got := fmt.Sprint(check(order, value))
			require.True(t, strings.HasPrefix(got, want), value)
			require.NotContains(t, got, "secret", value)
		}
	}
}

// A schema of another draft is refused, because its keywords can mean something else.
func TestDrafts(t *testing.T) {
	for text, want := range map[string]string{
		`{"$schema":"https://json-schema.org/draft/2020-12/schema"}`: "<nil>",
		`{"$schema":"http://json-schema.org/draft-07/schema#"}`:      "its $schema is",
		`{"$schema":7}`: "its $schema is",
		`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`: "leads back to itself",
		`{"$ref":"#/$defs/absent"}`: "absent",
		`{"$defs":{"a":{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}}}},"$ref":"#/$defs/a"}`: "<nil>",
	} {
		require.Contains(t, fmt.Sprint(check(text, `{}`)), want, text)
	}
}

// Drawn values match their schema and differ from each other. A schema that asks for too much gets none.
func TestSamples(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"object","required":["price"],"properties":{"price":{"type":"number","minimum":270.5},` +
			`"currency":{"enum":["EUR","USD"]},"tags":{"type":"array","items":{"type":"string","minLength":3}}}}`: `{"currency":"EUR","price":271,"tags":["abb"]} {"currency":"USD","price":272,"tags":["abb"]}`,
		`{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"required":["x"]},{"properties":{"y":{"type":"boolean"}}}]}}}`: `{"x":"x","y":true} {"x":"x","y":false}`,
		`{"oneOf":[{"const":1},{"type":"integer","multipleOf":5,"exclusiveMinimum":7}]}`:                            `1 20`,
		`{"type":"number","multipleOf":0.01,"minimum":0.1,"maximum":0.1}`:                                           `0.100000`,
		`{"type":"string","pattern":"^[A-Z]+$","examples":["AB"]}`:                                                  `"AB"`,
		`{"type":"string","pattern":"^[A-Z]+$"}`:                                                                    ``,
		`{"$defs":{"n":{"type":"object","required":["a","b","c"],"properties":{"a":{"$ref":"#/$defs/n"},"b":{"$ref":"#/$defs/n"},` +
			`"c":{"$ref":"#/$defs/n"}}}},"$ref":"#/$defs/n"}`: ``,
		`{"type":"array","minItems":1000000}`:                                            ``,
		`{"allOf":[{"const":{"a":1}},{"type":"object","properties":{"b":{"const":2}}}]}`: ``,
		`{"type":"null"}`: `null`,
		`{}`:              `null`,
	} {
		s, err := schema.Compile(json.RawMessage(text))
		require.NoError(t, err)
		var got []string
		for _, v := range s.Samples(2) {
			got = append(got, string(v))
		}
		require.Equal(t, want, strings.Join(got, " "), text)
	}
}
