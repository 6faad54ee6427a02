package expression

import (
	"math"
	"strconv"
)

// The values of an evaluation are nil, bool, int64, float64, number, string, []any and
// map[string]any.

// number is a JSON number that is no 64-bit integer in its shortest form: it keeps its digits until
// something is computed with it.
type number string

// numberOf chooses the value for the text of a JSON number.
func numberOf(text string) any {
	if n := len(text); n > 0 && n <= 20 {
		if i, err := strconv.ParseInt(text, 10, 64); err == nil && text != "-0" {
			return i
		}
	}
	return number(text)
}

// float gives the nearest float64 of a numeric value.
func float(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	case number:
		f, _ := strconv.ParseFloat(string(v), 64) // out of range: ±Inf, found by finite
		return f, true
	}
	return 0, false
}

// finite refuses what JSON cannot hold.
func finite(f float64) (any, error) {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, fail("the result is not a finite number", "")
	}
	return f, nil
}

// kind names the type of a value for people.
func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case int64, float64, number:
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

// mismatch says that an operand has the wrong type; null gets the hint that helps most.
func mismatch(doing, want string, got any) error {
	fix := ""
	if got == nil {
		fix = "give a default with ??, as in (order.discount ?? 0)"
	}
	return fail(doing+" needs "+want+", got "+kind(got), fix)
}
