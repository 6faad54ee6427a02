package expression_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/golden"

	"github.com/stepkeeper/stepkeeper/shared/expression"
)

// checked returns the problem that a check reports for each expression.
func checked(scope expression.Scope, sources []string) string {
	var b strings.Builder
	for _, source := range sources {
		_, problem, _ := strings.Cut(fmt.Sprint(expression.Check(source, scope)),
			fmt.Sprintf("expression %q: ", source))
		fmt.Fprintf(&b, "%s\n    %s\n", source, cmp.Or(problem, "accepted"))
	}
	return b.String()
}

// The error of a refused expression states what is wrong, and what to write instead.
func TestWhatIsRefused(t *testing.T) {
	plain := expression.Scope{Steps: []string{"pay-out", "ship", "last"}, Step: "last"}
	hidden := plain
	undo := plain
	hidden.Visible = map[string]bool{"ship": true}
	undo.Undo = true
	got := ""
	for _, c := range []struct {
		scope   expression.Scope
		sources []string
	}{
		{plain, []string{
			"null", "order.discount == None", "undefined", "ordre.a", "nothing", "value", "item",
			"index",
		}},
		{plain, []string{
			"steps", "steps.pay_out", "steps.pay_up", "steps[0]", "steps.shop.output",
			"steps.last.output", "steps.last.failed",
		}},
		{plain, []string{
			"lowr(order.a)", "date()", "duration('1h')", "upper(order.a)", "order.a.b(1)",
			"(order.a)(1)",
		}},
		{plain, []string{
			"len()", "len(1, 2)", "token()", "token('a', 'b', 'c')", "addTime('a')",
			"token('ship')",
		}},
		{plain, []string{
			"1 ** 2", "1 ^ 2", "order.a matches 'x'", "1 .. 3", "let x = 1; x", "map([1], #acc)",
			"map([1], {#nope})",
		}},
		{
			plain,
			[]string{
				"filter(order.a, count(order.b, # > 1) > 0)",
				"filter(order.a, count(filter(#.b ?? [], # > 1)[1:]) > 0)",
				"filter(order.a, count(map([1], #)) > 0)", "filter(order.a, count(#?.b + []) > 0)",
				"filter(order.a, count(#index) > 0)", "filter(order.a, count(#?.b ?? []) > 0)",
			},
		},
		{hidden, []string{"steps.pay_out.output", "steps.ship.output", "steps.pay_out.failed"}},
		{undo, []string{
			"steps.last.output.id", "steps.last.output?.id", "steps.ship.output.id",
			"steps.last.output",
		}},
		{
			plain,
			[]string{
				"[order.a, nothing]", "{a: nothing}", "{(nothing): 1}", "order.a[nothing:]",
				"order.a[:nothing]", "nothing[1:]", "order[nothing]", "nothing ? 1 : 2", "true ? nothing : 2",
				"true ? 1 : nothing", "!nothing", "nothing && true", "true && nothing", "true || nothing",
				"order.a ?? nothing", "lower(nothing)", "map(nothing, #)", "map(order.a, nothing)",
				"nothing?.a",
			},
		},
	} {
		got += checked(c.scope, c.sources)
	}
	golden.Assert(t, got, "refused.txt")
}

// An expression that reads a member of an output that may be null is refused, because the step would fail for
// some orders. It is allowed if a condition, in the expression or of the step, excludes null.
func TestOutputsThatMayBeNull(t *testing.T) {
	scope := func(when string) expression.Scope {
		return expression.Scope{
			Steps: []string{"check", "pay-out", "ship", "last"}, Step: "last", When: when,
			Skippable: map[string]string{"pay-out": "order.pays and order.total > 5", "ship": "order.goods"},
			Continues: map[string]bool{"check": true},
		}
	}
	got := ""
	for _, c := range []struct {
		when    string
		sources []string
	}{
		{"", []string{
			"steps.pay_out.output.id", "steps.pay_out.output[0]", "steps.pay_out.output",
			"steps.pay_out.output?.id", "steps.check.output.id", "lower(steps.ship.output.id)",
			"steps.ship.output != nil ? steps.ship.output.id : 0",
			"steps.ship.output != nil ? 0 : steps.ship.output.id",
			"nil == steps.ship.output ? 0 : steps.ship.output.id",
			"steps.ship.output == 1 ? 0 : steps.ship.output.id",
			"steps.ship.output != nil && steps.ship.output.id > 1",
			"steps.ship.output == nil || steps.ship.output.id > 1",
			"steps.ship.output == nil or steps.ship.output.id > 1",
			"steps.ship.output != nil and steps.ship.output.id > 1",
			"steps.ship.output == nil && steps.ship.output.id > 1",
			"steps.ship.output != nil || steps.ship.output.id > 1",
			"steps.ship.output != nil or steps.ship.output.id > 1",
			"not (steps.ship.output == nil) && steps.ship.output.id > 1",
			"!(steps.ship.output == nil or steps.pay_out.output == nil) && steps.pay_out.output.id > 1",
			"!(steps.ship.output == nil and steps.pay_out.output == nil) && steps.pay_out.output.id > 1",
			"-(steps.ship.output.id) > 1",
			"(steps.ship.output != nil and order.a) ? steps.ship.output.id : 0",
			"(steps.ship.output != nil or order.a) ? steps.ship.output.id : 0",
			"(steps.ship.output == nil or order.a) ? 0 : steps.ship.output.id",
			"(steps.ship.output == nil and order.a) ? 0 : steps.ship.output.id",
			"(steps.ship.output != nil ? true : false) && steps.ship.output.id > 1",
			"not steps.check.failed ? steps.check.output.id : 0",
			"steps.check.failed ? 0 : steps.check.output.id",
			"steps.check.failed ? steps.check.output.id : 0",
			"steps.check.error == nil ? steps.check.output.id : 0",
			"steps.check.failed or steps.check.output.id > 1",
			"not steps.check.failed and steps.check.output.id > 1",
		}},
		{"order.goods", []string{"steps.ship.output.id", "steps.pay_out.output.id"}},
		{
			"order.total > 5 && order.pays && order.a",
			[]string{"steps.pay_out.output.id", "steps.ship.output.id"},
		},
		{"order.pays or order.total > 5", []string{"steps.pay_out.output.id"}},
		{"order.pays", []string{"steps.pay_out.output.id"}},
		{"steps.ship.output != nil", []string{"steps.ship.output.id", "steps.pay_out.output.id"}},
		{"not steps.check.failed", []string{"steps.check.output.id"}},
		{"steps.check.failed", []string{"steps.check.output.id"}},
		{"1 +", []string{"steps.ship.output.id"}},
	} {
		got += "WHEN " + c.when + "\n" + checked(scope(c.when), c.sources)
	}
	golden.Assert(t, got, "null.txt")
}
