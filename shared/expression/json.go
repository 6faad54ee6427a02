package expression

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

var (
	errDepth = fail(fmt.Sprintf("the data that it reads is nested deeper than %d levels", MaxDepth),
		"flatten the data")
	errResult = fail(fmt.Sprintf("the result is nested deeper than %d levels", rawjson.MaxLevels),
		"pass fewer levels of the data, or a reference to it")
	errNumber = fail(fmt.Sprintf("a number has more than %d characters, or an exponent beyond ±%d",
		rawjson.MaxNumber, rawjson.MaxExponent), "send it as a text")
	errBadJSON = fail("the data that it reads is not valid JSON", fixValue)
)

const white = " \n\t\r" // white space in JSON

// checkRead refuses JSON that is nested too deeply, or contains a number out of range. It must come before
// recursive code reads the JSON.
func checkRead(data []byte) error { return bounds(data, MaxDepth, errDepth) }

// checkResult checks the result of a template against the limits for stored and sent values.
func checkResult(result []byte) error { return bounds(result, rawjson.MaxLevels, errResult) }

func bounds(data []byte, levels int, deep error) error {
	switch err := rawjson.Check(data, levels); {
	case err == nil:
		return nil
	case errors.Is(err, rawjson.ErrNumber):
		return errNumber
	case errors.Is(err, rawjson.ErrLevels):
		return deep
	}
	return errBadJSON
}

// checked is for JSON that checkRead has accepted. The decoder does not look for the same faults again.
var checked = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// decode decodes JSON into values. Numbers keep their digits. Empty data is null.
func decode(data []byte) (v any, err error) {
	if len(data) == 0 {
		return nil, nil
	}
	if err := checkRead(data); err != nil {
		return nil, err
	}
	if json.Unmarshal(data, &v, withDigits) != nil {
		return nil, errBadJSON
	}
	return v, nil
}

// withDigits decodes numbers by numberOf.
var withDigits = json.JoinOptions(json.JoinOptions(checked...), json.WithUnmarshalers(json.UnmarshalFromFunc(
	func(d *jsontext.Decoder, v *any) error {
		if d.PeekKind() != jsontext.KindNumber {
			return errors.ErrUnsupported
		}
		text, err := d.ReadValue()
		if err != nil {
			return err
		}
		*v, err = numberOf(string(text))
		return err
	})))

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
