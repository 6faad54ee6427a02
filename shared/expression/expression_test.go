package expression_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/expression"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// definition with one step whose input is the template given, and two steps to read from.
func definition(template, when string) *core.Definition {
	return &core.Definition{Name: "test", Steps: []core.StepDefinition{
		{Name: "charge-payment"},
		{Name: "ship"},
		{Name: "last", Input: json.RawMessage(template), When: when},
	}}
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// environment has an order in its shortest form, as the Scheduler takes it.
func environment(order string) core.Environment {
	short, err := rawjson.Compact([]byte(order))
	if err != nil {
		short = []byte(order)
	}
	return core.Environment{
		OrderID: "o-1", Run: 2, Order: short,
		Outputs: map[string]json.RawMessage{
			"charge-payment": json.RawMessage(`{"id":"ch-1","fee":0.10}`),
		},
	}
}

func input(t *testing.T, template string, env core.Environment) (string, error) {
	t.Helper()
	x, err := expression.Compile(definition(template, ""))
	if err != nil {
		return "", err
	}
	got, err := x.Input(2, env)
	return string(got), err
}

const sample = `{
	"total": 1.10, "big": 12345678901234567890, "huge": 1e400, "small": -0, "n": 3, "zero": 0.0, "text": "Tür <&>",
	"a": null, "list": [ 1, 2.50, "x" ], "empty": [], "nested": {"b": {"c": [10, 20]}}, "esc\u0061ped": 7,
	"items": [{"sku":"a","quantity":2,"unitPrice":150,"physical":true,"tags":["x","y"]},
	          {"sku":"b","quantity":1,"unitPrice":99,"tags":["z"]}]
}`

func TestValues(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		// Paths copy the bytes.
		{`order.total`, `1.10`},
		{`order.big`, `12345678901234567890`},
		{`order.huge`, `1e400`},
		{`order.small`, `-0`},
		{`order.list`, `[1,2.50,"x"]`},
		{`order.list[1]`, `2.50`},
		{`order["text"]`, `"Tür <&>"`},
		{`order.nested.b.c[1]`, `20`},
		{`order.escaped`, `7`},
		{`order.items[1].sku`, `"b"`},
		{`orderId`, `"o-1"`},
		{`run`, `2`},
		{`steps.charge_payment.output`, `{"id":"ch-1","fee":0.10}`},
		{`steps.charge_payment.output.fee`, `0.10`},
		{`steps.charge_payment?.output?.id`, `"ch-1"`},
		{`steps.ship.output`, `null`},
		{`steps.ship.output?.id`, `null`},
		{`steps.ship.output?.id.deeper[0]`, `null`},
		// An absent field is null. ?. accepts null, and ?? gives a default.
		{`order.missing`, `null`},
		{`order.a`, `null`},
		{`order.missing?.x.y`, `null`},
		{`order.missing ?? 5`, `5`},
		{`order.missing?.x ?? "d"`, `"d"`},
		{`order.a?.b[0]`, `null`},
		{`order.n ?? 5`, `3`},
		// Numbers that are only copied keep their digits.
		{`[order.total, order.big, order.huge]`, `[1.10,12345678901234567890,1e400]`},
		{`{z: order.total, a: order.small}`, `{"a":-0,"z":1.10}`},
		{`order.missing ?? order.big`, `12345678901234567890`},
		{`filter(order.list, # != 1)`, `[2.50,"x"]`},
		{`string(order.total)`, `"1.10"`},
		{`true ? order.total : 0`, `1.10`},
		// Arithmetic.
		{`order.n + 1`, `4`},
		{`order.total * 2`, `2.2`},
		{`7 / 2`, `3.5`},
		{`8 / 2`, `4`},
		{`7 % 3`, `1`},
		{`-order.n`, `-3`},
		{`-order.total`, `-1.1`},
		{`sum(order.items, .quantity * .unitPrice)`, `399`},
		{`sum(order.items, #.quantity)`, `3`},
		{`sum([])`, `0`},
		{`sum([0.1, 0.2])`, `0.3`},
		{`9007199254740993 + 0`, `9007199254740993`},
		{`order.n - 0`, `3`},
		{`3 - 5`, `-2`},
		{`order.n-run`, `1`},
		{`order.n-order.n`, `0`},
		{`order.n-steps.charge_payment.output.fee`, `2.9`},
		{`9223372036854775807 - 1`, `9223372036854775806`},
		{`+order.total`, `1.10`},
		{`-9223372036854775807 - 1`, `-9223372036854775808`},
		{`9223372036854775806 + 1`, `9223372036854775807`},
		{`0 - -9223372036854775807`, `9223372036854775807`},
		{`-1 - (-9223372036854775807 - 1)`, `9223372036854775807`},
		{`3037000499 * 3037000499`, `9223372030926249001`},
		// Whole numbers are exact past 64 bits, fractions are decimal, and a quotient has 34 digits.
		{`order.big + 1`, `12345678901234567891`},
		{`9223372036854775807 + 1`, `9223372036854775808`},
		{`-9223372036854775807 - 2`, `-9223372036854775809`},
		{`9223372036854775807 * -2`, `-18446744073709551614`},
		{`0 - (-9223372036854775807 - 1)`, `9223372036854775808`},
		{`(-9223372036854775807 - 1) * 1`, `-9223372036854775808`},
		{`9223372036854775807 + 1 - 1`, `9223372036854775807`},
		{`(9223372036854775807 - -1) / -1`, `-9223372036854775808`},
		{`0.1 + 0.2`, `0.3`},
		{`0.1 + 0.2 == 0.3`, `true`},
		{`1.1 * 3`, `3.3`},
		{`order.total * order.total`, `1.21`},
		{`19.99 * 3 - 0.97`, `59`},
		{`[1, 2, 3][1.5 * 2 - 2]`, `2`},
		{`-0.0`, `0`},
		{`order.zero + 0`, `0`},
		{`1 / 3`, `0.3333333333333333333333333333333333`},
		{`2 / 3`, `0.6666666666666666666666666666666667`},
		{`10 / 4`, `2.5`},
		{`1e6 + 0.5`, `1000000.5`},
		{`order.huge * 1`, `1e+400`},
		{`1 / 1000000000`, `1e-9`},
		{`order.huge / order.huge`, `1`},
		// Comparisons are exact even where float64 is not.
		{`order.huge == order.huge + 1`, `true`},
		{`order.big == 1234567890123456789`, `false`},
		{`order.total == 1.1`, `true`},
		{`order.n == 3.0`, `true`},
		{`order.zero == 0`, `true`},
		{`9007199254740993 > 9007199254740992.0`, `true`},
		{`order.huge > order.big`, `true`},
		{`"a" < "b"`, `true`},
		{`"b" >= "a"`, `true`},
		{`1 <= 1`, `true`},
		{`2 >= 3`, `false`},
		{`1 < 2 < 3`, `true`},
		{`false or true`, `true`},
		{`false or false`, `false`},
		{`true and false`, `false`},
		{`order == order`, `true`},
		{`order.items[0] == order.items[1]`, `false`},
		{`[1, [2]] == [1, [2.0]]`, `true`},
		{`{a: 1} != {a: 2}`, `true`},
		{`{a: 1} == {b: 1}`, `false`},
		{`{a: [1]} == {a: [1]}`, `true`},
		{`[1, 2] == [1, 3]`, `false`},
		{`[1] == 5`, `false`},
		{`5 == [1]`, `false`},
		{`nil == order.a`, `true`},
		{`order.list == nil`, `false`},
		{`1 == "1"`, `false`},
		// Logic.
		{`true and not false`, `true`},
		{`false && order.text`, `false`},
		{`true || order.text`, `true`},
		{`order.n > 2 ? "many" : "few"`, `"many"`},
		{`not (order.n > 2)`, `false`},
		// Texts.
		{`orderId + "-" + order.items[0].sku`, `"o-1-a"`},
		{`lower(order.text)`, `"tür <&>"`},
		{`len(order.text)`, `7`},
		{`order.text[0:3]`, `"Tür"`},
		{`order.text[-3:]`, `"<&>"`},
		{`"abc" contains "b"`, `true`},
		{`"abc" startsWith "b"`, `false`},
		{`"abc" endsWith "c"`, `true`},
		{`string({b: 1, a: [nil, true]})`, `"{\"a\":[null,true],\"b\":1}"`},
		{`"quote \" and \\ and \n"`, `"quote \" and \\ and \n"`},
		{`"\x00"`, `"\u0000"`},
		// Times.
		{`addTime("2026-12-31T23:59:60Z", "1h")`, `"2027-01-01T01:00:00Z"`},
		{`addTime("2026-12-31t23:59:59z", "1h")`, `"2027-01-01T00:59:59Z"`},
		{`addTime("2026-03-31T08:00:00Z", "-72h")`, `"2026-03-28T08:00:00Z"`},
		{
			`addTime("2024-02-28T23:30:00.5+02:00", "1d")`, `"2024-02-29T23:30:00.5+02:00"`,
		},
		{
			`addTime(order.at ?? "2026-01-01T00:00:00Z", "1h30m")`, `"2026-01-01T01:30:00Z"`,
		},
		{`map(["2026-01-01T00:00:00Z"], addTime(#, "-1d"))`, `["2025-12-31T00:00:00Z"]`},
		// Lists and objects, always in the order of the data or of sorted keys.
		{
			`map(order.items, ({sku: .sku, place: #index}))`, `[{"place":0,"sku":"a"},{"place":1,"sku":"b"}]`,
		},
		{`map(order.items, len(filter(.tags, # != "y")))`, `[1,1]`},
		{`order.list[-1]`, `"x"`},
		{`order.list[1:]`, `[2.50,"x"]`},
		{`order.list[:-2]`, `[1]`},
		{`order.list[5:9]`, `[]`},
		{`count([true, false])`, `1`},
		{`any(order.items, .physical ?? false)`, `true`},
		{`all(order.items, .physical ?? false)`, `false`},
		{`"sku" in order.items[0]`, `true`},
		{`2.5 in order.list`, `true`},
		{`4 not in order.list`, `true`},
		{`"x" in order.a`, `false`},
		{`len(order.nested)`, `1`},
	} {
		t.Run(c.source, func(t *testing.T) {
			env := environment(sample)
			for range 2 { // P12: the same bytes again
				if got, err := input(t, quote("${ "+c.source+" }"), env); err != nil || got != c.want {
					t.Fatalf("got %s, %v; want %s", got, err, c.want)
				}
			}
		})
	}
}

// secret stands in the order wherever an error could quote it.
const secret = "S3CRET"

// Remedies of several errors.
const (
	fixData     = "; fix: correct the data that it reads, or change the expression in the workflow"
	fixNull     = "; fix: write ?. if the part before it may be absent; otherwise provide the data"
	fixPosition = "; fix: test the length first, as in len(order.items) > 2 ? order.items[2] : nil"
	fixZero     = "; fix: test the divisor first, as in order.count == 0 ? 0 : order.total / order.count"
)

// The expressions that a remedy proposes have a value for orders that would fail otherwise.
func TestRemediesWork(t *testing.T) {
	env := environment(`{"items":[1],"count":0,"total":5}`)
	for remedy, want := range map[string]string{fixPosition: "null", fixZero: "0"} {
		_, proposed, _ := strings.Cut(remedy, ", as in ")
		if got, err := input(t, quote("${ "+proposed+" }"), env); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", proposed, got, err, want)
		}
	}
}

// Errors name the expression and the reason, and never contain data of the order.
func TestFailures(t *testing.T) {
	order := `{"name":"` + secret + `","nested":{"` + secret + `":1},"n":42137,"list":["` + secret +
		`"],"none":null,"yes":true,"max":9223372036854775807,"huge":1e400}`
	for _, c := range []struct{ source, want string }{
		{`order.none.x`, `it reads .x of null` + fixNull},
		{`order.none[3]`, `it reads [3] of null` + fixNull},
		{`order.name.x`, `it reads .x of a text` + fixData},
		{`order.n.x`, `it reads .x of a number` + fixData},
		{`order.list.x`, `it reads .x of a list` + fixData},
		{`(order.n + 1).x`, `it reads a member of a number` + fixData},
		{`order.nested[0]`, `it reads [0] of an object` + fixData},
		{`order.list[7]`, `the list has no element [7]` + fixPosition},
		{`order.list[-7]`, `the list has no element at this position` + fixPosition},
		{
			`lower(order.none.x)`,
			`it reads a member of null` + fixNull,
		},
		{
			`order[order.name].x`,
			`it reads a member of null` + fixNull,
		},
		{
			`order.list[order.name]`, `an element of a list is read by a text, not by its position; fix: give the position as a whole number; the first is 0`,
		},
		{`order.nested[order.n]`, `a field of an object is read by a number, not by its name; fix: give the name as a text; string(…) converts a number`},
		{`order.name + 1`, `+ cannot join a text and a number; fix: convert both to texts with string(…)`},
		{`order.name * 2`, `* needs numbers, got a text` + fixData},
		{
			`order.discount * 2`,
			`* needs numbers, got null; fix: give a default with ??, as in (order.discount ?? 0)`,
		},
		{`-order.name`, `- needs a number, got a text` + fixData},
		{
			`+order.none`,
			`+ needs a number, got null; fix: give a default with ??, as in (order.discount ?? 0)`,
		},
		{
			`order.none < 1`,
			`< needs two numbers or two texts, got null; fix: give a default with ??, as in (order.discount ?? 0)`,
		},
		{
			`order.name > order.list`,
			`> cannot compare a text with a list; fix: compare two numbers or two texts; string(…) makes a text`,
		},
		{`lower(order.n)`, `lower needs a text, got a number` + fixData},
		{
			`order.nested[0:1]`, `[from:to] needs a list or a text, got an object` + fixData,
		},
		{`order.yes.x`, `it reads .x of a boolean` + fixData},
		{
			`order.name > 2`, `> cannot compare a text with a number; fix: compare two numbers or two texts; string(…) makes a text`,
		},
		{`order.name && true`, `&& needs true or false, got a text` + fixData},
		{
			`order.none ? 1 : 2`,
			`a condition needs true or false, got null; fix: give a default with ??, as in (order.discount ?? 0)`,
		},
		{`!order.n`, `! needs true or false, got a number` + fixData},
		{
			`filter(order.list, #)`, `the condition of filter needs true or false, got a text` + fixData,
		},
		{`map(order.name, #)`, `map needs a list, got a text` + fixData},
		{`sum(order.list)`, `sum needs numbers, got a text` + fixData},
		{`1 / (order.n - order.n)`, `it divides by zero` + fixZero},
		{`1 % 0`, `it divides by zero` + fixZero},
		{
			`order.max * order.max * order.max`,
			`the result is a whole number of more than 34 digits; fix: write one of the numbers with a point, as in 2.0, if its last digits do not matter`,
		},
		{`order.huge * order.huge * order.huge`, `the result has an exponent beyond ±999; fix: compute with smaller numbers, or let the agent compute it`},
		{`1 / order.huge / order.huge / order.huge`, `the result has an exponent beyond ±999; fix: compute with smaller numbers, or let the agent compute it`},
		{`order.huge % 2`, `% needs two whole numbers` + fixData},
		{`order.huge / 0`, `it divides by zero` + fixZero},
		{`1.5 % 2`, `% needs two whole numbers` + fixData},
		{`len(order.n)`, `len needs a text, a list or an object, got a number` + fixData},
		{
			`order.name[1:order.name]`, `[from:to] needs a whole number, got a text` + fixData,
		},
		{`{(order.n): 1}`, `a key needs a text, got a number` + fixData},
		{
			`addTime(order.name, "1h")`,
			`addTime got a text that is not a time in RFC 3339; fix: pass a time like 2026-01-31T08:00:00Z`,
		},
		{`addTime(order.n, "1h")`, `addTime needs a time in RFC 3339 as a text, got a number` + fixData},
		{
			`addTime("2026-01-31T08:00:00Z", order.name)`,
			`addTime got a text that is not a time span; fix: pass a time span like '-72h', '90m' or '3d', at most 100000d`,
		},
		{`addTime("2026-01-31T08:00:00Z", 5)`, `addTime needs a time span as a text, got a number` + fixData},
		{`addTime("9999-12-31T08:00:00Z", "1d")`, `the result of addTime is outside the years 0 to 9999` + fixData},
		{
			`addTime("2026-01-31T08:00:00Z", "100001d")`,
			`addTime got a text that is not a time span; fix: pass a time span like '-72h', '90m' or '3d', at most 100000d`,
		},
		{`order.n in order.nested`, `in an object needs a text, got a number` + fixData},
		{
			`order.n in order.name`, `in needs a list or an object on its right, got a text` + fixData,
		},
		{`order.n contains "x"`, `contains needs two texts, got a number and a text; fix: convert with string(…)`},
	} {
		t.Run(c.source, func(t *testing.T) {
			_, err := input(t, quote("${ "+c.source+" }"), environment(order))
			var e *expression.Error
			if !errors.As(err, &e) || err.Error() != fmt.Sprintf("expression %q: %s", c.source, c.want) {
				t.Fatalf("got %v, want %s", err, c.want)
			}
			if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "42137") {
				t.Error("the error holds data of the order")
			}
		})
	}
}

// An error in any evaluated part of an expression fails the whole expression. Parts that are not evaluated do
// not fail.
func TestAFailureAnywhereFailsAll(t *testing.T) {
	evaluated := func(source string) (string, error) {
		return input(t, quote("${ "+strings.ReplaceAll(source, "@", "lower(order.none.x)")+" }"),
			environment(`{"none":null,"list":[1]}`))
	}
	for _, source := range []string{
		"-@", "+@", "!@", "@ + 1", "1 + @", "@ && true", "true && @", "@ || true", "false || @", "@ ?? 1",
		"nil ?? @", "@ ? 1 : 2",
		"true ? @ : 2", "false ? 1 : @", "[1, @]", "{a: @}", "{(@): 1}", "order.list[@]", "order.list[@:]",
		"order.list[:@]", "@[1:]", "@.a",
		"@?.a", "order[@]", "len(@)", "lower(@)", "string(@)", "addTime(@, '1h')",
		"addTime('2026-01-31T08:00:00Z', @)", "map(@, #)",
		"map(order.list, @)", "filter(order.list, @)", "sum(order.list, @)", "count(order.list, @)",
		"any(order.list, @)",
		"all(order.list, @)", "@ in order.list", "1 in @", "@ contains 'x'", "'x' contains @", "@ == 1",
		"1 == @", "@ < 1", "1 < @",
	} {
		const want = ": it reads a member of null" + fixNull
		if got, err := evaluated(source); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %s, %v", source, got, err)
		}
	}
	for source, want := range map[string]string{
		"true || @":                  "true",
		"false && @":                 "false",
		"1 ?? @":                     "1",
		"true ? 1 : @":               "1",
		"any([true], # || @)":        "true",
		"all([false, true], # && @)": "false",
		"map([], @)":                 "[]",
	} {
		if got, err := evaluated(source); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", source, got, err, want)
		}
	}
}

// Items returns the elements of a list, and ChildOrder the order of each child.
func TestEach(t *testing.T) {
	def := &core.Definition{Steps: []core.StepDefinition{
		{
			Name: "parts", Input: json.RawMessage(`"${ order.parts }"`),
			Each: &core.Each{
				Order: json.RawMessage(
					`{"of":"${ item.sku }","all":"${ [item, index] }","place":"${ index }"}`),
			},
		},
		{Name: "plain"},
	}}
	x, err := expression.Compile(def)
	if err != nil {
		t.Fatal(err)
	}
	for order, want := range map[string]string{
		`{"parts":[{"sku":"a"},{"sku":"b"}]}`: `{"of":"a","all":[{"sku":"a"},0],"place":0} {"of":"b","all":[{"sku":"b"},1],"place":1} 2 <nil>`,
		`{"parts":[]}`:                        `0 <nil>`,
		`{"parts":{}}`:                        `0 the value of each is not a list; fix: give a list, or [] if there are no children`,
		`{}`:                                  `0 the value of each is not a list; fix: give a list, or [] if there are no children`,
		`{"parts":[1,2`:                       `0 expression "order.parts": the data that it reads is not valid JSON` + fixData,
	} {
		env := core.Environment{Order: json.RawMessage(order)}
		got := ""
		n, err := x.Items(0, env, func(index int, item json.RawMessage) {
			of := env
			of.Item = item
			of.Index = index
			child, err := x.ChildOrder(0, of)
			if err != nil {
				t.Error(err)
			}
			got += string(child) + " "
		})
		got += fmt.Sprintf("%d %v", n, err)
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", order, got, want)
		}
	}
	if child, err := x.ChildOrder(1, core.Environment{}); child != nil || err != nil {
		t.Errorf("%s %v", child, err)
	}
}

// P39: a token is made with the key of the deployment, for a step and optionally a person.
func TestTokens(t *testing.T) {
	def := &core.Definition{Steps: []core.StepDefinition{
		{Name: "approve", Answer: &core.Answer{Ask: "mail"}},
		{
			Name: "mail", Agent: "post",
			Input: json.RawMessage(`["${ token('approve') }", "${ lower(token('approve', order.who)) }"]`),
		},
	}}
	x, err := expression.Compile(def)
	if err != nil || !x.MakesTokens() {
		t.Fatal(err)
	}
	made := func(step, person string) (string, error) { return "T-" + step + "-" + person, nil }
	for _, c := range []struct {
		order string
		token func(step, person string) (string, error)
		want  string
	}{
		{`{"who":"ANN"}`, made, `["T-approve-","t-approve-ann"] <nil>`},
		{`{"who":""}`, made, ` expression "lower(token('approve', order.who))": token needs the name of a person as a text, got a text` + fixData},
		{`{"who":5}`, made, ` expression "lower(token('approve', order.who))": token needs the name of a person as a text, got a number` + fixData},
		{`{"who":"ANN"}`, nil, ` expression "token('approve')": this deployment has no key for tokens; fix: deploy one, as docs/how-to/answer-links.md shows`},
		{`{"who":"ANN"}`, func(string, string) (string, error) {
			return "", errors.New("the key is away")
		}, ` expression "token('approve')": the key is away`},
	} {
		got, err := x.Input(1, core.Environment{Order: json.RawMessage(c.order), Token: c.token})
		if text := fmt.Sprintf("%s %v", got, err); text != c.want {
			t.Errorf("%s: %s, want %s", c.order, text, c.want)
		}
	}
}

func TestWhen(t *testing.T) {
	for _, c := range []struct {
		when string
		want bool
		err  string
	}{
		{"", true, ""},
		{"order.yes", true, ""},
		{"order.n > 5", false, ""},
		{"not order.yes", false, ""},
		{"order.n", false, `expression "order.n": when needs true or false, got a number` + fixData},
		{"order.missing", false, `expression "order.missing": when needs true or false, got null; fix: give a default with ??, as in (order.discount ?? 0)`},
		{"orderId", false, `expression "orderId": when needs true or false, got a text` + fixData},
	} {
		x, err := expression.Compile(definition("null", c.when))
		if err != nil {
			t.Fatal(err)
		}
		got, err := x.When(2, environment(`{"yes":true,"n":3}`))
		if got != c.want || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%q: %v, %v; want %v, %s", c.when, got, err, c.want, c.err)
		}
	}
}

func TestTemplates(t *testing.T) {
	env := environment(`{"x":1.0,"y":{"k":"v"}}`)
	for _, c := range []struct{ template, want string }{
		{`{"a": 1.10, "b": [true, null]}`, `{"a":1.10,"b":[true,null]}`},
		{`{"b":"${order.x}","a":"${ order.y }"}`, `{"b":1.0,"a":{"k":"v"}}`},
		{`"$${order.x}"`, `"${order.x}"`},
		{`"costs $${x} and $${y}"`, `"costs ${x} and ${y}"`},
		{`"$5 {x}"`, `"$5 {x}"`},
		{`{"${key}": "${run}"}`, `{"${key}":2}`},
		{`["\u0024{run}", "${\"}\"}"]`, `[2,"}"]`},
		{`"${ {a: 1} }"`, `{"a":1}`},
		{`{"s":"<&>\u2028"}`, "{\"s\":\"<&>\u2028\"}"},
		{`""`, `""`},
	} {
		if got, err := input(t, c.template, env); err != nil || got != c.want {
			t.Errorf("%s: got %s, %v; want %s", c.template, got, err, c.want)
		}
	}
	for _, template := range []string{
		`"a ${run}"`, `"${run} b"`, `"${run}${run}"`, `"${run"`, `"${}"`, `{`,
		`{"a":}`, ``, strings.Repeat("[", 100_000),
	} {
		x, err := expression.Compile(&core.Definition{Name: "t", Output: json.RawMessage(template)})
		if err == nil && template != "" {
			t.Errorf("%.40s: accepted", template)
		}
		if template == "" {
			if got, err := x.Output(env); got != nil || err != nil {
				t.Errorf("no output gives %s, %v", got, err)
			}
		}
	}
}

// The usage of a definition is that of its largest part, and a condition is one.
func TestUsage(t *testing.T) {
	for _, d := range []*core.Definition{
		definition(`"${ [1, 2, 3, 4] }"`, "true"), definition("null", "1 in [1, 2, 3, 4]"),
	} {
		x, err := expression.Compile(d)
		if err != nil {
			t.Fatal(err)
		}
		if u := x.Usage(environment("{}")); u.Parts < 5 || u.Steps < 5 {
			t.Errorf("%+v", u)
		}
	}
	for _, op := range []string{"+", "-", "*", "%"} { // whole numbers of 64 bits cost as much as short ones
		var steps []int
		for _, number := range []string{"9", "900000000000000000"} {
			x, err := expression.Compile(definition(quote("${"+number+op+" 1}"), ""))
			if err != nil {
				t.Fatal(err)
			}
			steps = append(steps, x.Usage(environment("{}")).Steps)
		}
		if steps[0] != steps[1] {
			t.Errorf("%s of 1 digit takes %d steps, of 18 digits %d", op, steps[0], steps[1])
		}
	}
}

// Every expression of a definition is checked when the definition is read.
func TestEveryPartIsRead(t *testing.T) {
	wrong := json.RawMessage(`"${ nothing }"`)
	if _, err := input(t, `"${ value }"`, environment(`{}`)); err == nil ||
		!strings.Contains(err.Error(), "unknown name value; fix: only the condition refuse") {
		t.Errorf("value outside of refuse: %v", err)
	}
	for name, d := range map[string]core.Definition{
		"input":       {Steps: []core.StepDefinition{{Name: "a", Input: wrong}}},
		"undo":        {Steps: []core.StepDefinition{{Name: "a", Undo: &core.Undo{Input: wrong}}}},
		"condition":   {Steps: []core.StepDefinition{{Name: "a", When: "nothing"}}},
		"child order": {Steps: []core.StepDefinition{{Name: "a", Each: &core.Each{Order: wrong}}}},
		"refusal":     {Steps: []core.StepDefinition{{Name: "a", Answer: &core.Answer{Refuse: "nothing"}}}},
		"output":      {Output: wrong},
	} {
		if _, err := expression.Compile(&d); err == nil ||
			!strings.Contains(err.Error(), "unknown name nothing") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The escape of half a character is refused. The parser would replace it by another character.
func TestEscapesOfHalfACharacter(t *testing.T) {
	for source, fits := range map[string]bool{
		`'\\ud83d'`: false, `'x\\ud83d\\ude00'`: false, `'\\u{d83d}'`: false, `'\\U0000dfff'`: false,
		`{'\\uDBFF': 1}`: false, `order['\\\\\\ud83d']`: false, `'\\\\ud83d'`: true, `'\\U0001F600'`: true,
		`'\\ud7ff'`: true, `'😀'[0:1]`: true,
	} {
		got, err := input(t, `"${ `+source+` }"`, environment(sample))
		if fits != (err == nil) || err != nil && !strings.Contains(err.Error(), "one half of a surrogate pair") ||
			err == nil && rawjson.Check([]byte(got), 1) != nil {
			t.Errorf("%s: %s, %v", source, got, err)
		}
	}
}

// Expressions of one definition are used by many goroutines at once.
func TestConcurrentUse(t *testing.T) {
	x, err := expression.Compile(
		definition(
			`{"a":"${ sum(order.items, .quantity * .unitPrice) }","b":"${ order.text startsWith \"T\" }"}`,
			"order.n == 3"))
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				got, err := x.Input(2, environment(sample))
				if err != nil || string(got) != `{"a":399,"b":true}` {
					t.Errorf("%s %v", got, err)
				}
				if yes, err := x.When(2, environment(sample)); !yes || err != nil {
					t.Error(yes, err)
				}
			}
		})
	}
	group.Wait()
}

// P42: an expression can ask whether the order went on without a failed step. For every other step the result
// is false.
func TestStepsThatFailed(t *testing.T) {
	env := environment(`{}`)
	env.Failures = map[string]string{"charge-payment": "card-lost"}
	for source, want := range map[string]string{
		`steps.charge_payment.failed`: `true`, `steps.charge_payment.error`: `"card-lost"`,
		`steps.ship.failed`: `false`, `steps.ship.error`: `null`,
		`not steps.ship.failed and steps.charge_payment.failed`: `true`,
		`steps.charge_payment.error == "card-lost" ? 1 : 2`:     `1`, `steps.ship.error ?? "none"`: `"none"`,
		`lower(steps.ship.error ?? "NONE")`: `"none"`,
	} {
		if got, err := input(t, quote("${ "+source+" }"), env); err != nil || got != want {
			t.Errorf("%s is %s, want %s (%v)", source, got, want, err)
		}
	}
	scope := expression.Scope{
		Steps: []string{"a", "b", "c"}, Step: "c",
		Visible: map[string]bool{"a": true, "b": true}, Continues: map[string]bool{"a": true},
	}
	for source, want := range map[string]string{
		`steps.a.failed`: "", `steps.b.failed`: "does not go on without", `steps.c.error`: "of its own step",
		`steps.d.failed`: "there is no step d", `steps.a.failure`: "without its output",
	} {
		err := expression.Check(source, scope)
		if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %q", source, got, want)
		}
	}
}
