package expression

import (
	"strconv"
	"strings"

	"github.com/cockroachdb/apd/v3"
)

// The value of an expression has one of these types: nil, bool, int64, *number, string, []any,
// map[string]any.

// number is a JSON number that is not stored as an int64, such as 1.50. The text keeps all digits of the
// number.
type number struct {
	text  string
	value apd.Decimal
}

func numberOf(text string) (any, error) {
	if n := len(text); n > 0 && n <= 20 {
		if i, err := strconv.ParseInt(text, 10, 64); err == nil && text != "-0" {
			return i, nil
		}
	}
	n := &number{text: text}
	if _, _, err := n.value.SetString(text); err != nil {
		return nil, errBadJSON
	}
	return n, nil
}

func decimal(v any) (*apd.Decimal, bool) {
	switch v := v.(type) {
	case int64:
		return apd.New(v, 0), true
	case *number:
		return &v.value, true
	}
	return nil, false
}

// integer returns a number without a fraction, such as 2.0, as an integer of 64 bits.
func integer(v any) (int64, bool) {
	n, ok := v.(*number)
	if !ok {
		i, ok := v.(int64)
		return i, ok
	}
	i, err := n.value.Int64()
	return i, err == nil
}

// whole reports whether a number is written in digits alone. One with a point may be rounded.
func whole(v any) bool {
	n, ok := v.(*number)
	return !ok || !strings.ContainsAny(n.text, ".eE")
}

func valueOf(d *apd.Decimal) any {
	d.Reduce(d)
	if d.IsZero() {
		return int64(0)
	}
	if i, err := d.Int64(); err == nil {
		return i
	}
	format := byte('f')
	if adjusted := d.NumDigits() + int64(d.Exponent) - 1; adjusted < -7 || adjusted > 20 {
		format = 'e'
	}
	return &number{text: d.Text(format), value: *d}
}

func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case int64, *number:
		return "a number"
	case string:
		return "a text"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "an unknown value"
}

func mismatch(doing, want string, got any) error {
	fix := fixValue
	if got == nil {
		fix = "give a default with ??, as in (order.discount ?? 0)"
	}
	return fail(doing+" needs "+want+", got "+kind(got), fix)
}
