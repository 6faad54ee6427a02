package expression_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

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
	got, err := x.Value(core.PartInput, 2, env)
	return string(got), err
}

const sample = `{
	"total": 1.10, "big": 12345678901234567890, "huge": 1e400, "small": -0, "n": 3, "zero": 0.0, "text": "Tür <&>",
	"a": null, "list": [ 1, 2.50, "x" ], "empty": [], "nested": {"b": {"c": [10, 20]}}, "esc\u0061ped": 7,
	"items": [{"sku":"a","quantity":2,"unitPrice":150,"physical":true,"tags":["x","y"]},
	          {"sku":"b","quantity":1,"unitPrice":99,"tags":["z"]}]
}`

// secret stands in the order wherever an error could quote it.
const secret = "S3CRET"

// Remedies of several errors.
const (
	fixData     = "; fix: correct the data that it reads, or change the expression in the workflow"
	fixPosition = "; fix: test the length first, as in len(order.items) > 2 ? order.items[2] : nil"
	fixZero     = "; fix: test the divisor first, as in order.count == 0 ? 0 : order.total / order.count"
)

// The expressions that a remedy proposes have a value for orders that would fail otherwise.
func TestRemediesWork(t *testing.T) {
	env := environment(`{"items":[1],"count":0,"total":5}`)
	for remedy, want := range map[string]string{fixPosition: "null", fixZero: "0"} {
		_, proposed, _ := strings.Cut(remedy, ", as in ")
		got, err := input(t, quote("${ "+proposed+" }"), env)
		require.NoError(t, err, want)
		require.Equal(t, want, got)
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
	require.NoError(t, err)
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
			child, err := x.Value(core.PartChildOrder, 0, of)
			if err != nil {
				t.Error(err)
			}
			got += string(child) + " "
		})
		got += fmt.Sprintf("%d %v", n, err)
		require.True(t, strings.HasPrefix(got, want), "%s: %s, want %s", order, got, want)
	}
	child, err := x.Value(core.PartChildOrder, 1, core.Environment{})
	require.Nil(t, child)
	require.NoError(t, err)
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
	require.NoError(t, err)
	require.True(t, x.MakesTokens())
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
		got, err := x.Value(core.PartInput, 1, core.Environment{Order: json.RawMessage(c.order), Token: c.token})
		require.Equal(t, c.want, fmt.Sprintf("%s %v", got, err), c.order)
	}
}

// The usage of a definition is that of its largest part, and a condition is one.
func TestUsage(t *testing.T) {
	for _, d := range []*core.Definition{
		definition(`"${ [1, 2, 3, 4] }"`, "true"), definition("null", "1 in [1, 2, 3, 4]"),
		{Steps: []core.StepDefinition{{Name: "a", Each: &core.Each{Order: json.RawMessage(`"${ [1, 2, 3, 4] }"`)}}}},
		{Steps: []core.StepDefinition{{Name: "a", Each: &core.Each{Repeat: &core.Repeat{Until: "1 in [1, 2, 3, 4]"}}}}},
		{Steps: []core.StepDefinition{{Name: "a", DeadlineAt: json.RawMessage(`"${ [1, 2, 3, 4] }"`)}}},
	} {
		x, err := expression.Compile(d)
		require.NoError(t, err)
		u := x.Usage(environment("{}"))
		require.GreaterOrEqual(t, u.Parts, 5)
		require.GreaterOrEqual(t, u.Steps, 5)
	}
	for _, op := range []string{"+", "-", "*", "%"} { // whole numbers of 64 bits cost as much as short ones
		var steps []int
		for _, number := range []string{"9", "900000000000000000"} {
			x, err := expression.Compile(definition(quote("${"+number+op+" 1}"), ""))
			require.NoError(t, err)
			steps = append(steps, x.Usage(environment("{}")).Steps)
		}
		require.Equal(t, steps[1], steps[0], op)
	}
}

// Every expression of a definition is compiled when the definition is read.
func TestEveryPartIsRead(t *testing.T) {
	wrong := json.RawMessage(`"${ nothing }"`)
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
	require.NoError(t, err)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				got, err := x.Value(core.PartInput, 2, environment(sample))
				if err != nil || string(got) != `{"a":399,"b":true}` {
					t.Errorf("%s %v", got, err)
				}
				if yes, err := x.Holds(core.PartWhen, 2, environment(sample)); !yes || err != nil {
					t.Error(yes, err)
				}
			}
		})
	}
	group.Wait()
}
