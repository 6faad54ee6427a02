package rawjson

import (
	"bytes"
	"cmp"
	std "encoding/json"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	v1 "github.com/go-json-experiment/json/v1"
)

// asTagged makes Marshal read struct tags and call methods in the same way as encoding/json. In contrast to
// encoding/json, it escapes only what JSON requires, and refuses what Check calls ambiguous.
var asTagged = json.JoinOptions(v1.DefaultOptionsV1(), v1.ReportErrorsWithLegacySemantics(false),
	jsontext.EscapeForHTML(false), jsontext.EscapeForJS(false), jsontext.PreserveRawStrings(false),
	jsontext.AllowInvalidUTF8(false), jsontext.AllowDuplicateNames(false),
	json.WithMarshalers(json.MarshalToFunc(number)))

var fromTagged = json.JoinOptions(v1.DefaultOptionsV1(), v1.ReportErrorsWithLegacySemantics(false))

// number writes a number of encoding/json, which the library takes for a text.
func number(e *jsontext.Encoder, n std.Number) error {
	return e.WriteValue(jsontext.Value(cmp.Or(n, "0")))
}

// Marshal returns a value as JSON in its shortest form: without white space, in UTF-8, and with escapes only
// where JSON or SQS needs them. Every limit in bytes applies to this form. The error is a *Fault if a text in
// the value is not UTF-8, or a part of it is not what Check accepts.
func Marshal(v any) ([]byte, error) {
	b, err := json.Marshal(v, asTagged)
	if _, wrong := errors.AsType[*jsontext.SyntacticError](err); wrong {
		return nil, complaint(err)
	}
	if wrong, isType := errors.AsType[*json.SemanticError](err); isType && wrong.Err == nil {
		// The library words its own text differently in each program.
		return nil, &Fault{
			text:  fmt.Sprintf("a value of the type %s cannot be written as JSON", wrong.GoType),
			Place: placeOf(wrong.JSONPointer),
		}
	} else if isType {
		return nil, wrong.Err
	}
	if err != nil {
		return nil, err
	}
	return ForQueues(b), nil
}

// Unmarshal decodes a value in the same way as encoding/json, and reads it once.
func Unmarshal(data []byte, v any) error {
	if json.Unmarshal(data, v, fromTagged) == nil {
		return nil
	}
	return std.Unmarshal(data, v) // the library words its errors differently in each program
}

// Compact returns the shortest form of a value, with the same members in the same sequence and with the same
// digits of numbers. It returns an error of Check for a value that is not JSON or is ambiguous.
func Compact(value []byte) ([]byte, error) {
	b, err := jsontext.AppendFormat(nil, value)
	if err != nil {
		return nil, complaint(err)
	}
	return ForQueues(b), nil
}

// special is the beginning of the characters U+FFFE and U+FFFF.
var special = []byte("\xef\xbf")

// ForQueues escapes the characters U+FFFE and U+FFFF. JSON allows them, but SQS replaces or refuses them,
// because XML 1.0 does not allow them. Few values contain bytes that these characters begin with.
func ForQueues(text []byte) []byte {
	if !bytes.Contains(text, special) {
		return text
	}
	text = bytes.ReplaceAll(text, []byte("\uFFFE"), []byte(`\ufffe`))
	return bytes.ReplaceAll(text, []byte("\uFFFF"), []byte(`\uffff`))
}
