package expression

import (
	"math"
	"math/big"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// lazyOperators evaluate their right side only where it matters.
var lazyOperators = map[string]bool{"&&": true, "and": true, "||": true, "or": true, "??": true}

// operators compute with the values of both sides.
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
	if _, ok := float(v); !ok {
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

// add adds numbers and joins texts; the bytes of a joined text are charged, so that doubling ends.
func add(e *evaluation, op string, a, b any) (any, error) {
	x, ok1 := a.(string)
	y, ok2 := b.(string)
	if !ok1 && !ok2 {
		return arithmetic(e, op, a, b)
	}
	if !ok1 || !ok2 {
		return nil, fail("+ joins "+kind(a)+" and "+kind(b), "convert with string(…)")
	}
	if err := e.meter.charge(len(x) + len(y)); err != nil {
		return nil, err
	}
	return x + y, nil
}

func arithmetic(_ *evaluation, op string, a, b any) (any, error) {
	x, ok1 := float(a)
	y, ok2 := float(b)
	if !ok1 {
		return nil, mismatch(op, "numbers", a)
	}
	if !ok2 {
		return nil, mismatch(op, "numbers", b)
	}
	i, ok1 := a.(int64)
	j, ok2 := b.(int64)
	if ok1 && ok2 && op != "/" {
		return integers(op, i, j)
	}
	switch op {
	case "+":
		return finite(x + y)
	case "-":
		return finite(x - y)
	case "*":
		return finite(x * y)
	case "/":
		if y == 0 {
			return nil, fail("it divides by zero", "")
		}
		return finite(x / y)
	}
	return nil, fail("% needs whole numbers", "")
}

// integers computes exactly, or says that it cannot.
func integers(op string, i, j int64) (any, error) {
	x, y, z := big.NewInt(i), big.NewInt(j), new(big.Int)
	switch op {
	case "+":
		if s := i + j; (s > i) == (j > 0) {
			return s, nil
		}
		z.Add(x, y)
	case "-":
		if s := i - j; (s < i) == (j > 0) {
			return s, nil
		}
		z.Sub(x, y)
	case "*":
		z.Mul(x, y)
	case "%":
		if j == 0 {
			return nil, fail("it divides by zero", "")
		}
		return i % j, nil
	}
	if !z.IsInt64() {
		return nil, fail("the result does not fit into a 64-bit integer", "write one of the numbers with a point, as in 2.0, if its last digits do not matter")
	}
	return z.Int64(), nil
}

func equality(e *evaluation, op string, a, b any) (any, error) {
	same, err := e.equal(a, b)
	return same == (op == "=="), err
}

// equal compares deeply and charges what it visits; values may share parts.
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
		// Sorted, so that the work charged does not depend on the order of a map.
		for _, k := range sortedKeys(x) {
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
	if _, ok := float(a); ok {
		if _, ok := float(b); ok {
			return compareNumbers(a, b) == 0, nil
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
	_, num1 := float(a)
	_, num2 := float(b)
	switch {
	case ok1 && ok2:
		if err := e.meter.charge(min(len(x), len(y))); err != nil {
			return nil, err
		}
		c = strings.Compare(x, y)
	case num1 && num2:
		c = compareNumbers(a, b)
	case a == nil || b == nil:
		return nil, mismatch(op, "two numbers or two texts", nil)
	default:
		return nil, fail(op+" compares "+kind(a)+" with "+kind(b), "it needs two numbers or two texts")
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

// compareNumbers is exact where that is cheap: rounding keeps the order of numbers, so that only
// numbers with the same nearest float64 need their digits.
func compareNumbers(a, b any) int {
	x, _ := float(a)
	y, _ := float(b)
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	if size := math.Abs(x); size < 1e-300 || math.IsInf(size, 0) {
		return 0
	}
	if isDecimal(a) && isBinary(b) || isBinary(a) && isDecimal(b) {
		return 0 // 1.10 of the order is the 1.1 of the expression, though no float64 is exactly either
	}
	p, ok1 := rational(a)
	q, ok2 := rational(b)
	if !ok1 || !ok2 {
		return 0
	}
	return p.Cmp(q)
}

func isDecimal(v any) bool { _, ok := v.(number); return ok }

func isBinary(v any) bool { _, ok := v.(float64); return ok }

// rational gives the exact value; the caller has checked that its exponent is small.
func rational(v any) (*big.Rat, bool) {
	switch v := v.(type) {
	case int64:
		return new(big.Rat).SetInt64(v), true
	case float64:
		r := new(big.Rat).SetFloat64(v)
		return r, r != nil
	case number:
		if len(v) > 400 {
			return nil, false
		}
		return new(big.Rat).SetString(string(v))
	}
	return nil, false
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
		return nil, fail(op+" works on two texts, got "+kind(a)+" and "+kind(b), "")
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
