package expression

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

var errLarge = fail(fmt.Sprintf("the result is larger than %d bytes", MaxResult),
	"pass a reference instead of the data")

// appendValue appends a value as compact JSON with sorted keys, so that equal values give equal bytes (P12,
// effects are emitted again). It returns an error as soon as the result is larger than MaxResult. A value may
// contain one part many times, so the full JSON could need too much memory. MaxDepth and MaxNodes limit the
// recursion.
func appendValue(b []byte, v any) ([]byte, error) {
	var err error
	switch v := v.(type) {
	case nil:
		b = append(b, "null"...)
	case bool:
		b = strconv.AppendBool(b, v)
	case int64:
		b = strconv.AppendInt(b, v, 10)
	case *number:
		b = append(b, v.text...)
	case string:
		b = appendString(b, v)
	case []any:
		b, err = appendList(b, v)
	case map[string]any:
		b, err = appendObject(b, v)
	default:
		err = fail("the result is not a JSON value", fixValue)
	}
	if err == nil && len(b) > MaxResult {
		err = errLarge
	}
	return b, err
}

func appendList(b []byte, list []any) ([]byte, error) {
	var err error
	b = append(b, '[')
	for i, e := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b, err = appendValue(b, e)
		if err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func appendObject(b []byte, object map[string]any) ([]byte, error) {
	var err error
	b = append(b, '{')
	for i, k := range sortedKeys(object) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, k), ':')
		b, err = appendValue(b, object[k])
		if err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

func sortedKeys(object map[string]any) []string {
	keys := make([]string, 0, len(object))
	for k := range object {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// appendString appends a JSON string. It escapes only the characters that JSON requires.
func appendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // bytes that are not UTF-8 become U+FFFD
	return b
}
