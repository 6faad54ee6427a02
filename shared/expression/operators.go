package expression

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/cockroachdb/apd/v3"
	"github.com/expr-lang/expr/ast"

	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// lazyOperators lists the operators that evaluate their right side only if the left side does not determine
// the result.
var lazyOperators = map[string]bool{"&&": true, "and": true, "||": true, "or": true, "??": true}

var operators = map[string]func(e *evaluation, op string, a, b any) (any, error){
	"+": add, "-": arithmetic, "*": arithmetic, "/": arithmetic, "%": arithmetic,
	"==": equality, "!=": equality,
	"<": order, "<=": order, ">": order, ">=": order,
	"in": membership, "not in": membership,
	"contains": textual, "startsWith": textual, "endsWith": textual,
}

func (e *evaluation) unary(n *ast.UnaryNode) (any, error) {
	switch n.Operator {
	case "!", "not":
		b, err := e.boolean(n.Operator, n.Node)
		return !b, err
	}
	v, err := e.eval(n.Node)
	if err != nil {
		return nil, err
	}
	if _, ok := decimal(v); !ok {
		return nil, mismatch(n.Operator, "a number", v)
	}
	if n.Operator == "+" {
		return v, nil
	}
	return arithmetic(e, "-", int64(0), v)
}

func (e *evaluation) binary(n *ast.BinaryNode) (any, error) {
	switch n.Operator {
	case "&&", "and", "||", "or":
		left, err := e.boolean(n.Operator, n.Left)
		if err != nil || left == (n.Operator == "||" || n.Operator == "or") {
			return left, err
		}
		return e.boolean(n.Operator, n.Right)
	case "??":
		v, err := e.eval(n.Left)
		if err != nil || v != nil {
			return v, err
		}
		return e.eval(n.Right)
	}
	a, err := e.eval(n.Left)
	if err != nil {
		return nil, err
	}
	b, err := e.eval(n.Right)
	if err != nil {
		return nil, err
	}
	return operators[n.Operator](e, n.Operator, a, b)
}

// add adds numbers and joins texts. It charges the length of a joined text, because repeated joining could
// otherwise use too much memory.
func add(e *evaluation, op string, a, b any) (any, error) {
	x, ok1 := a.(string)
	y, ok2 := b.(string)
	if !ok1 && !ok2 {
		return arithmetic(e, op, a, b)
	}
	if !ok1 || !ok2 {
		return nil, fail("+ cannot join "+kind(a)+" and "+kind(b), "convert both to texts with string(…)")
	}
	if err := e.meter.charge(len(x) + len(y)); err != nil {
		return nil, err
	}
	return x + y, nil
}

// computed is the context of all computations with decimals. A result has up to 34 digits, as in IEEE 754
// decimal128. The function arithmetic refuses an inexact sum, difference or product of whole numbers.
var computed = apd.Context{
	Precision: 34, MaxExponent: rawjson.MaxExponent, MinExponent: -rawjson.MaxExponent,
	Rounding: apd.RoundHalfEven, Traps: apd.DefaultTraps | apd.Subnormal,
}

func arithmetic(e *evaluation, op string, a, b any) (any, error) {
	x, ok1 := decimal(a)
	y, ok2 := decimal(b)
	if !ok1 {
		return nil, mismatch(op, "numbers", a)
	}
	if !ok2 {
		return nil, mismatch(op, "numbers", b)
	}
	i, ok1 := a.(int64)
	j, ok2 := b.(int64)
	if op == "%" {
		i, ok1 = integer(a)
		j, ok2 = integer(b)
	}
	integers := ok1 && ok2
	if integers {
		if v, ok := smallIntegers(op, i, j); ok {
			return v, nil
		}
	}
	if err := e.meter.charge(digits(x, y)); err != nil {
		return nil, err
	}
	d := new(apd.Decimal)
	var c apd.Condition
	var err error
	switch op {
	case "+":
		c, err = computed.Add(d, x, y)
	case "-":
		c, err = computed.Sub(d, x, y)
	case "*":
		c, err = computed.Mul(d, x, y)
	default:
		if op == "%" && !integers {
			return nil, fail("% needs two whole numbers", fixValue)
		}
		if y.IsZero() {
			return nil, fail("it divides by zero",
				"test the divisor first, as in order.count == 0 ? 0 : order.total / order.count")
		}
		c, err = computed.Quo(d, x, y)
	}
	switch {
	case err != nil:
		return nil, fail(fmt.Sprintf("the result has an exponent beyond ±%d", rawjson.MaxExponent),
			"compute with smaller numbers, or let the agent compute it")
	case op != "/" && c.Inexact() && whole(a) && whole(b):
		return nil, fail(fmt.Sprintf("the result is a whole number of more than %d digits",
			computed.Precision),
			"write one of the numbers with a point, as in 2.0, if its last digits do not matter")
	}
	return valueOf(d), nil
}

// smallIntegers computes with 64-bit integers. If ok is false, the caller must compute with decimals. ok is
// false for a division, for a zero divisor, and for a result that may not fit into 64 bits.
func smallIntegers(op string, i, j int64) (v int64, ok bool) {
	switch op {
	case "+":
		v = i + j
		return v, (v > i) == (j > 0)
	case "-":
		v = i - j
		return v, (v < i) == (j > 0)
	case "*":
		high, low := bits.Mul64(magnitude(i), magnitude(j))
		return i * j, high == 0 && low <= math.MaxInt64
	case "%":
		if j != 0 {
			return i % j, true
		}
	}
	return 0, false
}

func magnitude(i int64) uint64 {
	if i < 0 {
		return -uint64(i)
	}
	return uint64(i)
}

// digits returns the number of steps for a computation, one for eight digits. It counts the digits of x and
// y, and the places from the highest to the lowest digit, because an addition aligns the numbers.
func digits(x, y *apd.Decimal) int {
	low := min(x.Exponent, y.Exponent)
	high := max(x.NumDigits()+int64(x.Exponent), y.NumDigits()+int64(y.Exponent))
	return int(x.NumDigits()+y.NumDigits()+high-int64(low)) / 8
}

func equality(e *evaluation, op string, a, b any) (any, error) {
	same, err := e.equal(a, b)
	return same == (op == "=="), err
}

// equal reports whether two values are equal, including all their parts. It charges each comparison, because
// a value may contain one part many times.
func (e *evaluation) equal(a, b any) (bool, error) {
	if err := e.meter.charge(1); err != nil {
		return false, err
	}
	switch x := a.(type) {
	case string:
		y, ok := b.(string)
		if !ok || len(x) != len(y) {
			return false, nil
		}
		return x == y, e.meter.charge(len(x))
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false, nil
		}
		for i := range x {
			if same, err := e.equal(x[i], y[i]); err != nil || !same {
				return false, err
			}
		}
		return true, nil
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false, nil
		}
		if err := e.meter.charge(costOfKeys(x)); err != nil {
			return false, err
		}
		// The keys are sorted, so that the charge does not depend on the order of the map.
		for _, k := range slices.Sorted(maps.Keys(x)) {
			v, ok := y[k]
			if !ok {
				return false, nil
			}
			if same, err := e.equal(x[k], v); err != nil || !same {
				return false, err
			}
		}
		return true, nil
	}
	if x, ok := decimal(a); ok {
		if y, ok := decimal(b); ok {
			c, err := e.compareNumbers(x, y)
			return c == 0, err
		}
		return false, nil
	}
	switch b.(type) {
	case []any, map[string]any:
		return false, nil
	}
	return a == b, nil
}

func order(e *evaluation, op string, a, b any) (any, error) {
	var c int
	x, ok1 := a.(string)
	y, ok2 := b.(string)
	p, num1 := decimal(a)
	q, num2 := decimal(b)
	switch {
	case ok1 && ok2:
		if err := e.meter.charge(min(len(x), len(y))); err != nil {
			return nil, err
		}
		c = strings.Compare(x, y)
	case num1 && num2:
		var err error
		c, err = e.compareNumbers(p, q)
		if err != nil {
			return nil, err
		}
	case a == nil || b == nil:
		return nil, mismatch(op, "two numbers or two texts", nil)
	default:
		return nil, fail(op+" cannot compare "+kind(a)+" with "+kind(b),
			"compare two numbers or two texts; string(…) makes a text")
	}
	switch op {
	case "<":
		return c < 0, nil
	case "<=":
		return c <= 0, nil
	case ">":
		return c > 0, nil
	}
	return c >= 0, nil
}

func (e *evaluation) compareNumbers(x, y *apd.Decimal) (int, error) {
	if err := e.meter.charge(int(x.NumDigits()+y.NumDigits()) / 8); err != nil {
		return 0, err
	}
	return x.Cmp(y), nil
}

func membership(e *evaluation, op string, a, b any) (any, error) {
	found := false
	switch b := b.(type) {
	case nil:
	case map[string]any:
		name, ok := a.(string)
		if !ok {
			return nil, mismatch(op+" an object", "a text", a)
		}
		if err := e.meter.charge(len(name) / 8); err != nil {
			return nil, err
		}
		_, found = b[name]
	case []any:
		for _, v := range b {
			same, err := e.equal(v, a)
			if err != nil {
				return nil, err
			}
			if same {
				found = true
				break
			}
		}
	default:
		return nil, mismatch(op, "a list or an object on its right", b)
	}
	return found == (op == "in"), nil
}

func textual(e *evaluation, op string, a, b any) (any, error) {
	if a == nil || b == nil {
		return false, nil
	}
	text, ok1 := a.(string)
	part, ok2 := b.(string)
	if !ok1 || !ok2 {
		return nil, fail(op+" needs two texts, got "+kind(a)+" and "+kind(b), "convert with string(…)")
	}
	if err := e.meter.charge(len(text) + len(part)); err != nil {
		return nil, err
	}
	switch op {
	case "contains":
		return strings.Contains(text, part), nil
	case "startsWith":
		return strings.HasPrefix(text, part), nil
	}
	return strings.HasSuffix(text, part), nil
}
