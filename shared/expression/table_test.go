package expression_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/expression"
)

// table evaluates the sources in a file, and compares the results below them. Each line that is not indented is a
// source, except comments, and settings, which begin with a word in capitals.
func table(t *testing.T, name string, settings map[string]func(text string), result func(source string) string) {
	t.Helper()
	var out strings.Builder
	for line := range strings.Lines(string(golden.Get(t, name))) {
		source := strings.TrimSuffix(line, "\n")
		word, text, _ := strings.Cut(source, " ")
		switch set := settings[word]; {
		case strings.HasPrefix(line, "    "):
		case strings.HasPrefix(line, "# "):
			out.WriteString(line)
		case set != nil:
			set(text)
			out.WriteString(line)
		default:
			fmt.Fprintf(&out, "%s    %s\n", line, result(source))
		}
	}
	golden.Assert(t, out.String(), name)
}

// shown returns a result, or the error without the expression that it quotes.
func shown(result string, err error) string {
	if err == nil {
		return result
	}
	text := err.Error()
	if quoted, what, ok := strings.Cut(text, `": `); ok && strings.HasPrefix(quoted, "expression ") {
		text = what
	}
	return "error: " + text
}

func TestValues(t *testing.T) {
	table(t, "values.txt", nil, func(source string) string {
		env := environment(sample)
		first, err := input(t, quote("${ "+source+" }"), env)
		again, _ := input(t, quote("${ "+source+" }"), env)
		require.Equal(t, first, again, "P12: the same bytes again")
		return shown(first, err)
	})
	failed := environment(`{}`)
	failed.Failures = map[string]string{"charge-payment": "card-lost"}
	table(t, "failed.txt", nil, func(source string) string {
		return shown(input(t, quote("${ "+source+" }"), failed))
	})
	table(t, "templates.txt", nil, func(source string) string {
		return shown(input(t, source, environment(`{"x":1.0,"y":{"k":"v"}}`)))
	})
	table(t, "conditions.txt", nil, func(source string) string {
		x, err := expression.Compile(definition("null", source))
		require.NoError(t, err)
		met, err := x.Holds(core.PartWhen, 2, environment(`{"yes":true,"n":3}`))
		return shown(fmt.Sprint(met), err)
	})
}

// Errors name the reason and the remedy, and never contain data of the order.
func TestFailures(t *testing.T) {
	order := `{"name":"` + secret + `","nested":{"` + secret + `":1},"n":42137,"list":["` + secret +
		`"],"none":null,"yes":true,"max":9223372036854775807,"huge":1e400}`
	table(t, "failures.txt", nil, func(source string) string {
		_, err := input(t, quote("${ "+source+" }"), environment(order))
		require.ErrorContains(t, err, fmt.Sprintf("expression %q: ", source))
		require.NotContains(t, err.Error(), secret)
		require.NotContains(t, err.Error(), "42137")
		return shown("", err)
	})
	table(t, "parts.txt", nil, func(source string) string {
		source = strings.ReplaceAll(source, "@", "lower(order.none.x)")
		return shown(input(t, quote("${ "+source+" }"), environment(`{"none":null,"list":[1]}`)))
	})
}

// The error of a refused expression states what is wrong, and what to write instead.
func TestWhatIsRefused(t *testing.T) {
	plain := expression.Scope{Steps: []string{"pay-out", "ship", "last"}, Step: "last"}
	hidden := plain
	hidden.Visible = map[string]bool{"ship": true}
	undo := plain
	undo.Undo = true
	condition := plain
	condition.Condition = true
	scopes := map[string]expression.Scope{
		"plain": plain, "hidden": hidden, "undo": undo, "condition": condition,
		"continues": {
			Steps: []string{"a", "b", "c"}, Step: "c",
			Visible: map[string]bool{"a": true, "b": true}, Continues: map[string]bool{"a": true},
		},
		"answered": {
			Steps:    []string{"pay-out", "approve", "bought"},
			Answered: map[string]bool{"approve": false, "bought": true}, Continues: map[string]bool{},
			Outputs: map[string][]string{
				"approve": {"value", "by", "at"}, "bought": {"count", "failed"}, "pay-out": nil,
			},
		},
	}
	var scope expression.Scope
	set := map[string]func(string){"SCOPE": func(name string) { scope = scopes[name] }}
	table(t, "refused.txt", set, func(source string) string { return checked(scope, source) })
}

// An expression that reads a member of an output that may be null is refused, because the step would fail for
// some orders. It is allowed if a condition, in the expression or of the step, excludes null.
func TestOutputsThatMayBeNull(t *testing.T) {
	scope := expression.Scope{
		Steps: []string{"check", "pay-out", "ship", "last"}, Step: "last",
		Skippable: map[string]string{"pay-out": "order.pays and order.total > 5", "ship": "order.goods"},
		Continues: map[string]bool{"check": true},
	}
	set := map[string]func(string){"WHEN": func(when string) { scope.When = when }}
	table(t, "null.txt", set, func(source string) string { return checked(scope, source) })
}

// checked returns the problem that a check reports for an expression.
func checked(scope expression.Scope, source string) string {
	_, _, err := expression.Check(source, scope)
	_, problem, _ := strings.Cut(fmt.Sprint(err), fmt.Sprintf("expression %q: ", source))
	return cmp.Or(problem, "accepted")
}

// A definition without an output and a condition has none.
func TestNothingToEvaluate(t *testing.T) {
	x, err := expression.Compile(&core.Definition{Name: "t", Steps: []core.StepDefinition{{Name: "a"}}})
	require.NoError(t, err)
	output, err := x.Output(core.Environment{})
	require.NoError(t, err)
	require.Nil(t, output)
	met, err := x.Holds(core.PartWhen, 0, core.Environment{})
	require.NoError(t, err)
	require.True(t, met)
}

// P35: an expression decides which value of an answer is a refusal. It reads the value, and everything that an input
// may read.
func TestRefusals(t *testing.T) {
	for source, want := range map[string]string{
		`value.amount > order.limit`: "true <nil>", `value.amount == order.limit`: "false <nil>",
		`value`: `false expression "value": a condition needs true or false`,
	} {
		x, err := expression.Compile(&core.Definition{
			Steps: []core.StepDefinition{{Name: "a", Answer: &core.Answer{Refuse: source}}},
		})
		require.NoError(t, err)
		got, err := x.Holds(core.PartRefuse, 0, core.Environment{
			Order: []byte(`{"limit":5}`), Value: []byte(`{"amount":7}`),
		})
		require.Contains(t, fmt.Sprint(got, " ", err), want)
	}
}
