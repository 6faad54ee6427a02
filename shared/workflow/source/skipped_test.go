package source_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

const skippable = `workflow: test
steps:
  quote-price: {agent: a, operation: run, timeout: 1s, onFailure: undo, undo: none, grade: plain, when: "order.total > 5 && order.quote"}
  last:
    agent: a
    operation: run
    timeout: 1s
    onFailure: undo
    undo: none
    grade: plain
    after: [quote-price]
    when: WHEN
    input: {id: INPUT}
`

// The output of a step that may be skipped is read with ?., or where a condition says that the step
// was not skipped.
func TestOutputsOfSkippableSteps(t *testing.T) {
	for _, c := range []struct {
		when, input string
		good        bool
	}{
		{`order.x`, `steps.quote_price.output?.id`, true},
		{`order.x`, `steps.quote_price.output`, true},
		{`order.x`, `steps.quote_price.output.id`, false},
		{`order.x`, `steps.quote_price?.output.id`, false},
		{`order.x`, `steps.quote_price.output["id"]`, false},
		{`order.x`, `lower(steps.quote_price.output.id)`, false},
		// The same condition, with its parts in any order, and with more parts.
		{`order.total > 5 && order.quote`, `steps.quote_price.output.id`, true},
		{`order.quote and order.x && order.total>5`, `steps.quote_price.output.id`, true},
		{`order.total > 5`, `steps.quote_price.output.id`, false},
		{`order.total > 5 || order.quote`, `steps.quote_price.output.id`, false},
		// The output itself is compared with null, in the condition or in the expression.
		{`steps.quote_price.output != nil`, `steps.quote_price.output.id`, true},
		{`not (nil == steps.quote_price.output) && order.x`, `steps.quote_price.output.id`, true},
		{`steps.quote_price.output == nil`, `steps.quote_price.output.id`, false},
		{`not (steps.quote_price.output == nil && order.x)`, `steps.quote_price.output.id`, false},
		{`order.x`, `steps.quote_price.output != nil ? steps.quote_price.output.id : 0`, true},
		{`order.x`, `steps.quote_price.output == nil ? 0 : steps.quote_price.output.id`, true},
		{`order.x`, `steps.quote_price.output != nil ? 0 : steps.quote_price.output.id`, false},
		{`order.x`, `steps.quote_price.output != nil && steps.quote_price.output.ok`, true},
		{`order.x`, `steps.quote_price.output == nil or steps.quote_price.output.ok`, true},
		{`order.x`, `steps.quote_price.output != nil or steps.quote_price.output.ok`, false},
		{`order.x`, `(steps.quote_price.output != nil && true) == steps.quote_price.output.ok`, false},
	} {
		file := strings.NewReplacer("WHEN", quote(c.when), "INPUT",
			quote("${ "+c.input+" }")).Replace(skippable)
		d, problems := source.Parse("t.yaml", []byte(file), source.Options{})
		switch {
		case c.good && d == nil:
			t.Errorf("when %s, input %s: %v", c.when, c.input, problems)
		case !c.good && (d != nil || !strings.Contains(problems.Error(),
			"of the output of step quote-price, which is null where that step is skipped") ||
			!strings.Contains(problems.Error(), "write steps.quote_price.output?")):
			t.Errorf("when %s, input %s: accepted, or with another reason: %v", c.when, c.input, problems)
		}
	}
}

func quote(s string) string { return `'` + strings.ReplaceAll(s, `'`, `''`) + `'` }

// A text that looks like an expression, and would be sent unchanged, gets a warning.
func TestLiteralsThatLookLikeExpressions(t *testing.T) {
	for text, want := range map[string]string{
		"{{ order.name }}":  "{{ }} is no expression here",
		"Dear {{name}}":     "{{ }} is no expression here",
		"order.total":       "write ${ order.total }",
		"order.items[0].id": "write ${ order.items[0].id }",
		"an order.":         "",
		"order":             "",
		"order.":            "",
		"{ order.name }":    "",
		"${ order.name }":   "",
	} {
		file := strings.NewReplacer("WHEN", "order.x", "INPUT", quote(text)).Replace(skippable)
		d, problems := source.Parse("t.yaml", []byte(file), source.Options{})
		if d == nil || (want == "") != (len(problems) == 0) || !strings.Contains(problems.Error(), want) {
			t.Errorf("%s: %v, want a warning with %q", text, problems, want)
		}
	}
}

const goingOn = `workflow: test
steps:
  ship: {agent: a, operation: run, timeout: 1s, onFailure: continue, undo: stop, grade: fenced, WHEN}
  last: {agent: a, operation: run, timeout: 1s, onFailure: undo, undo: none, grade: plain, after: [ship], when: IF, input: {id: INPUT}}
`

// P42: an expression reads the output of a step that the order may go on without with ?., or if a condition
// excludes the failure.
func TestOutputsOfStepsThatMayHaveFailed(t *testing.T) {
	for _, c := range []struct {
		when, here, input string
		good              bool
	}{
		{``, `order.x`, `steps.ship.output?.id`, true},
		{``, `order.x`, `steps.ship.output.id`, false},
		{``, `not steps.ship.failed`, `steps.ship.output.id`, true},
		{``, `!(steps.ship.failed) && order.x`, `steps.ship.output.id`, true},
		{``, `steps.ship.failed`, `steps.ship.output.id`, false},
		{``, `steps.ship.output != nil`, `steps.ship.output.id`, true},
		{``, `order.x`, `steps.ship.failed ? nil : steps.ship.output.id`, true},
		{``, `order.x`, `steps.ship.failed ? steps.ship.output.id : nil`, false},
		{``, `order.x`, `steps.ship.failed || steps.ship.output.ok`, true},
		{``, `order.x`, `steps.ship.failed && steps.ship.output.ok`, false},
		{`when: order.y`, `not steps.ship.failed`, `steps.ship.output.id`, false},
		{`when: order.y`, `order.y && not steps.ship.failed`, `steps.ship.output.id`, true},
		{`when: order.y`, `order.y`, `steps.ship.output.id`, false},
	} {
		file := strings.NewReplacer("WHEN", c.when, "IF", quote(c.here), "INPUT",
			quote("${ "+c.input+" }")).Replace(goingOn)
		d, problems := source.Parse("t.yaml", []byte(file), source.Options{})
		if c.good != (d != nil) {
			t.Errorf("%s: when %s, input %s: %v", c.when, c.here, c.input, problems)
		}
		if !c.good && !strings.Contains(problems.Error(), "which is null where that step") {
			t.Errorf("%s: when %s, input %s: %v", c.when, c.here, c.input, problems)
		}
	}
}

// An approval gets a warning if every answer lets the order continue, unless a later step reads the answer.
func TestAnswersThatMakeNoDifference(t *testing.T) {
	const head = "workflow: w\nsteps:\n  four-eyes: {approval: {question: Pay?, answers: [yes!, no!], " +
		"timeout: 1d, onTimeout: stop%s}}\n" +
		"  pay: {agent: a, operation: pay, after: [four-eyes], timeout: 5s, onFailure: stop, undo: none, " +
		"grade: fenced%s}\n"
	for name, c := range map[string]struct{ approval, pay, want string }{
		"neither": {
			"", "",
			`t.yaml:3:42: warning: every answer to step four-eyes lets the order go on, "no!" too`,
		},
		"refuse": {`, refuse: value == "no!"`, "", ""},
		"read":   {"", `, when: steps.four_eyes.output.value == "yes!"`, ""},
	} {
		_, problems := source.Parse("t.yaml", fmt.Appendf(nil, head, c.approval, c.pay), source.Options{})
		got := ""
		if len(problems) > 0 {
			got = problems.Error()
		}
		if (c.want == "") != (got == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %v, want %q", name, problems, c.want)
		}
	}
}
