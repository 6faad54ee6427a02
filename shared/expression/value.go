package expression

import (
	"strconv"
	"strings"

	"github.com/cockroachdb/apd/v3"
)

// The value of an expression has one of these types: nil, bool, int64, *number, string, []any,
// map[string]any.

// number is a JSON number that numberOf does not return as an int64. It keeps its text, so that all digits
// stay.
type number struct {
	text  string
	value apd.Decimal
}

// numberOf returns the value for the text of a JSON number: an int64 if possible, and otherwise a *number.
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

// decimal returns a number as a decimal. The second result is false if v is not a number.
func decimal(v any) (*apd.Decimal, bool) {
	switch v := v.(type) {
	case int64:
		return apd.New(v, 0), true
	case *number:
		return &v.value, true
	}
	return nil, false
}

// whole reports whether a number is written without a decimal point and without an exponent.
func whole(v any) bool {
	n, ok := v.(*number)
	return !ok || !strings.ContainsAny(n.text, ".eE")
}

// valueOf returns the result of a computation as an int64 if it fits, and otherwise as a number with its
// shortest text.
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

// kind names the type of a value for an error text.
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

// mismatch returns an error for a value of the wrong type. If the value is null, the error advises to write a
// default.
func mismatch(doing, want string, got any) error {
	fix := fixValue
	if got == nil {
		fix = "give a default with ??, as in (order.discount ?? 0)"
	}
	return fail(doing+" needs "+want+", got "+kind(got), fix)
}
