package expression

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var errLarge = fail(fmt.Sprintf("the result is larger than %d bytes", MaxResult),
	"pass a reference instead of the data")

// appendValue appends a value as compact JSON with sorted keys, so that equal values give equal bytes (P12,
// effects are emitted again). It returns an error as soon as the result is larger than MaxResult. A value may
// contain one part many times, so the full JSON could need too much memory. MaxDepth and MaxNodes limit the
// recursion.
func appendValue(b []byte, v any) ([]byte, error) {
	err := json.MarshalWrite((*limited)(&b), v, sorted)
	switch {
	case errors.Is(err, errLarge):
		return nil, errLarge
	case err != nil:
		return nil, fail("the result is not a JSON value", fixValue)
	}
	return b, nil
}

var sorted = json.JoinOptions(json.Deterministic(true), jsontext.AllowInvalidUTF8(true),
	json.WithMarshalers(json.MarshalToFunc(func(e *jsontext.Encoder, n *number) error {
		return e.WriteValue(jsontext.Value(n.text))
	})))

// limited is a text of at most MaxResult bytes.
type limited []byte

// Write appends a part of the text.
func (b *limited) Write(part []byte) (int, error) {
	if len(*b)+len(part) > MaxResult {
		return 0, errLarge
	}
	*b = append(*b, part...)
	return len(part), nil
}

// appendString appends a JSON string. It escapes only the characters that JSON requires.
func appendString(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // bytes that are not UTF-8 become U+FFFD
	return b
}
