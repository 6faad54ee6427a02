package expression_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/expression"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// An expression that would run long or use much memory is refused, or stopped by the budget. The budget
// counts work, and uses no clock.
func TestHostileExpressions(t *testing.T) {
	long := strings.Repeat("x", 60_000)
	numbers := "[" + strings.TrimSuffix(strings.Repeat("1,", 20_000), ",") + "]"
	object := func(value int) string {
		var b strings.Builder
		for i := range 2000 {
			fmt.Fprintf(&b, `"k%d":%d,`, i, value)
		}
		return "{" + strings.TrimSuffix(b.String(), ",") + "}"
	}
	order := fmt.Sprintf(
		`{"long":%q,"numbers":%s,"deep":%s1%s,"one":%s,"two":%s,"span":%q,"wide":%s,"small":1e-999,"more":%q}`, long,
		numbers,
		strings.Repeat("[", 150), strings.Repeat("]", 150), object(1), object(2),
		strings.Repeat("0h", 30_000), strings.Repeat("7", 100)+"e899", strings.Repeat(long, 5))
	for _, c := range hostile() {
		t.Run(c.name, func(t *testing.T) {
			got, err := input(t, quote("${"+c.source+"}"), environment(order))
			if c.want == "" { // either way is fine, as long as it ends
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %.80s, %v; want %s", got, err, c.want)
			}
			if err != nil && len(err.Error()) > 1000 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

// attack is a hostile expression and the error that stops it. want is "" if the expression may also succeed.
type attack struct{ name, source, want string }

func hostile() []attack {
	const budget = "it does more than 1000000 steps of work; fix: compute less here"
	return []attack{
		{"copies of a text", "map(order.numbers, order.long)", "larger than 65536 bytes"},
		{"a long text in each turn", "map(order.numbers, order.long + order.long)", budget},
		{"comparing in each turn", "count(order.numbers, order.long + \"a\" == order.long + \"b\")", budget},
		{"membership in each turn", "count(order.numbers, 2 in order.numbers)", budget},
		{"lower in each turn", "map(order.numbers, lower(order.long))", budget},
		{"counting characters in each turn", "count(order.numbers, len(order.long) == 1)", budget},
		{"objects in each turn", "count(order.numbers, order.one == order.two)", budget},
		{
			"a long span in each turn", "map(order.numbers, addTime('2026-01-01T00:00:00Z', order.span))",
			budget,
		},
		{"a long time in each turn", "map(order.numbers, addTime(order.long, '1h'))", "not a time in RFC"},
		{"a long name in each turn", "count(order.numbers, order.one[order.long] == 1)", budget},
		{"a long name of an object in each turn", "count(order.numbers, ({(order.long): 1}) == 1)", budget},
		{"a long name sought in each turn", "count(order.numbers, order.long in order.one)", budget},
		{"numbers far apart in each turn", "count(order.numbers, order.wide + order.small > 1)", budget},
		{"many sums", strings.Repeat("sum(order.numbers)+", 60) + "1", budget},
		{
			"nested loops", "sum(order.numbers, sum(order.numbers, #))",
			"goes over something else than the element at hand",
		},
		{
			"nested loops in a list", "sum(order.numbers, sum([order.numbers][0], #))",
			"goes over something else than the element at hand",
		},
		{"repeat", `repeat("x", 1000000000)`, "there is no function repeat"},
		{"reduce", "reduce(order.numbers, #acc + #acc, \"x\")", "there is no function reduce"},
		{"the clock", "now()", "an expression has no clock"},
		{"a time zone", `timezone("Europe/Berlin")`, "an expression has no clock"},
		{"the environment", "$env", "unknown name $env"},
		{"a method", "order.String()", "there is no function String"},
		{"the rest is missing", "[1", "; fix: complete it; in YAML, put it in quotes"},
		{
			"an object of a predicate", "map([1], {a: #})",
			"; fix: an object that a predicate gives stands in parentheses",
		},
		{"two expressions", "1 1", "; fix: write one expression"},
		{"many parts", strings.Repeat("1+", 600) + "1", "more than 500 parts"},
		{"a long text", "1 +" + strings.Repeat(" ", 5000) + "1", "the limit is 4096"},
		{"deep parentheses", strings.Repeat("(", 2000) + "1" + strings.Repeat(")", 2000), ""},
		{"deep lists", strings.Repeat("[", 400) + strings.Repeat("]", 400), "nested deeper than 64 levels"},
		{"many nots", strings.Repeat("!", 2000) + "true", ""},
		{"the whole order", "order", "larger than 65536 bytes"},
		{"a large part of the order", "order.more", "larger than 65536 bytes"},
		{"the whole order as a text", "len(string([order.long, order.long]))", "larger than 65536 bytes"},
		{"the whole order, computed", "[order]", "larger than 65536 bytes"},
	}
}

// The charge bounds the work of an evaluation, whatever the data is. The test measures work by allocated
// bytes, and only prints the time.
func TestWorkIsBoundedByItsCharge(t *testing.T) {
	number := rapid.OneOf(rapid.StringMatching(`-?[1-9][0-9]{0,126}`),
		rapid.StringMatching(`-?[1-9]\.[0-9]{1,100}e-?[0-9]{1,3}`), rapid.StringMatching(`[0-9]`))
	text := rapid.Map(rapid.IntRange(0, 3000),
		func(n int) string { return fmt.Sprintf("%q", strings.Repeat("ä", n)) })
	object := rapid.Map(rapid.IntRange(0, 300), func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"key %d":%d,`, i, i)
		}
		return "{" + strings.TrimSuffix(b.String(), ",") + "}"
	})
	element := rapid.OneOf(number, text, object, rapid.Just("null"), rapid.Just("true"),
		rapid.Just("[[],[1]]"))
	source := rapid.SampledFrom([]string{
		"sum(order.l)", "sum(order.l, # * #)", "map(order.l, # + order.v)",
		"count(order.l, # == order.v)", "count(order.l, # > order.v)",
		"order.v in order.l", "map(order.l, # / 7)", "map(order.l, -#)", "map(order.l, len(#))",
		"map(order.l, lower(#))", "map(order.l, string(#))",
		"filter(order.l, # != order.v)", "len(string(order.l))", "order.l == order.m", "map(order.l, #[1:])",
		"map(order.l, ({(#): 1}))", "order.v", "order.l[1:]",
		"map(order.l, order.v[string(#)])", "order.v % 7", "map(order.l, # - 0.1)",
		"any(order.l, # contains order.v)",
	})
	worst := 0.0
	worstTime := ""
	rapid.Check(t, func(t *rapid.T) {
		list := "[" + strings.Join(rapid.SliceOfN(element, 0, 40).Draw(t, "list"), ",") + "]"
		if rapid.Bool().Draw(t, "of one kind") {
			list = "[" + strings.TrimSuffix(strings.Repeat(element.Draw(t, "element")+",",
				rapid.IntRange(1, 200).Draw(t, "n")), ",") + "]"
		}
		order := `{"l":` + list + `,"m":` + list + `,"v":` + element.Draw(t, "v") + `}`
		what := source.Draw(t, "source")
		x, err := expression.Compile(definition(quote("${"+what+"}"), ""))
		require.NoError(t, err)
		env := environment(order)
		charged := x.Usage(env).Steps
		began := time.Now()
		_, _ = x.Value(core.PartInput, 2, env)
		took := time.Since(began)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = x.Value(core.PartInput, 2, env)
		runtime.ReadMemStats(&after)
		bytes := after.TotalAlloc - before.TotalAlloc
		require.LessOrEqual(t, bytes, uint64(256*charged+4*expression.MaxResult))
		if ratio := float64(bytes) / float64(charged+1); ratio > worst {
			worst = ratio
			worstTime = fmt.Sprintf("%s: %d bytes, %d steps, %v", what, bytes, charged, took)
		}
	})
	t.Log(worstTime)
}

// JSON that breaks off, or continues after its end, is an error wherever it is read.
func TestDamagedOrders(t *testing.T) {
	for _, order := range []string{`{"a":[1`, `{"a":[1]}}`, `{"a":[1],`, `{"a":[1,]}`} {
		for _, template := range []string{
			`"${ [order] }"`, `"${ order.a + order.a }"`,
			`"${ order.a[0] + 1 }"`,
		} {
			_, err := input(t, template, environment(order))
			require.ErrorContains(t, err, "not valid JSON", template)
		}
	}
}

// JSON that is nested too deep is an error in every function that reads it, and never overflows the stack.
func TestDeepOrders(t *testing.T) {
	const libraryReads = 9_000 // the library refuses 10,000 levels as not valid
	for _, depth := range []int{402, libraryReads, 1_000_000} {
		deep := strings.Repeat(`{"a":[`, depth/2) + "1" + strings.Repeat("]}", depth/2)
		order := `{"x":1,"deep":` + deep + `}`
		for _, source := range []string{
			"order.deep", "order", "len(order)", "order.deep == 1",
			"steps.ship.output", "[steps.ship.output]",
		} {
			env := environment(order)
			env.Outputs = map[string]json.RawMessage{"ship": json.RawMessage(order)}
			_, err := input(t, quote("${"+source+"}"), env)
			if err == nil || depth <= libraryReads && !strings.Contains(err.Error(), "nested deeper than") &&
				!strings.Contains(err.Error(), "larger than") &&
				!strings.Contains(err.Error(), "steps of work") {
				t.Errorf("%s of depth %d: %v", source, depth, err)
			}
		}
		// An expression that does not use the deep part does not read it.
		if got, err := input(t, `"${order.x}"`, environment(order)); depth <= libraryReads &&
			(err != nil || got != "1") {
			t.Errorf("a path beside depth %d: %s %v", depth, got, err)
		}
	}
}

// Results, which are stored and sent, have the same limit of nesting as input, however they were made.
func TestDeepResults(t *testing.T) {
	lists := func(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
	order := `{"deep":` + lists(rawjson.MaxLevels-1) + `,"objects":` + strings.Repeat(`{"a":`,
		rawjson.MaxLevels-2) + "{}" + strings.Repeat("}", rawjson.MaxLevels-2) + `}`
	for source, fits := range map[string]bool{
		`"${order}"`:                 true,
		`"${[order.deep]}"`:          true,
		`"${[order]}"`:               false,
		`["${order}"]`:               false,
		`"${{a: order.objects}}"`:    true,
		`"${[{a: order.objects}]}"`:  false,
		`["${order.deep}"]`:          true,
		lists(rawjson.MaxLevels):     true,
		lists(rawjson.MaxLevels + 1): false,
		`{"a":"${[order.deep]}"}`:    false,
	} {
		_, err := input(t, source, environment(order))
		if fits != (err == nil) || err != nil &&
			!strings.Contains(err.Error(), "nested deeper than 64 levels") {
			t.Errorf("%.40s: %v", source, err)
		}
	}
}

// Broken JSON, which the codecs refuse, is an error and never a panic. Only a whole order is not read.
func TestBrokenOrders(t *testing.T) {
	for _, order := range []string{
		``, `{`, `{"a"`, `{"a":`, `{"a":}`, `{"a":1`, `{a:1}`, `[1,`, `"`,
		`{"a":"\`, `{"a":[}`, `{"a":1]`, `}`, `{"a":{"b":tru}}`, "\x00", `{,}`, `{"a":1}}`,
	} {
		for _, source := range []string{"order.a.b", "order.a", "order[0]", "[order.a]", "[order]"} {
			got, err := input(t, quote("${"+source+"}"), environment(order))
			if err == nil && !json.Valid([]byte(got)) {
				t.Errorf("%s of %q gives %q", source, order, got)
			}
		}
	}
}

// No expression panics, and each result is JSON and the same each time.
func FuzzExpression(f *testing.F) {
	for _, s := range []string{
		"order.items[0].sku ?? 1", "sum(order.list, # * 2)",
		`"a" + string(order) contains "x"`, "order.list[1:]", "map(order.items, {a: #index})",
		"1 in [1] ? -order.n : order?.x[0].y", "1<2<3",
	} {
		f.Add(s, `{"n":1.5,"list":[1,2],"items":[{"sku":"x"}]}`)
	}
	f.Fuzz(func(t *testing.T, source, order string) {
		x, err := expression.Compile(definition(quote("${"+source+"}"), source))
		if err != nil {
			return
		}
		env := environment(order)
		if rawjson.Check(env.Order, rawjson.MaxLevels) != nil {
			return
		}
		first, err1 := x.Value(core.PartInput, 2, env)
		second, err2 := x.Value(core.PartInput, 2, env)
		require.Equal(t, string(second), string(first))
		require.Equal(t, err2 == nil, err1 == nil)
		if err1 == nil && (!json.Valid(first) || len(first) > expression.MaxResult) {
			t.Fatalf("%q gives %q", source, first)
		}
		_, _ = x.Holds(core.PartWhen, 2, env)
	})
}
