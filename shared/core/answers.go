package core

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// AnswerValue returns a value of an answer to step i, in a form that can be compared byte for byte. If the
// value is not allowed, AnswerValue returns the reason.
func (d *Definition) AnswerValue(i int, value json.RawMessage) (json.RawMessage, string) {
	a := d.Steps[i].Answer
	if a.Event != "" {
		return eventValue(value, a.Schema, func(v json.RawMessage) error { return d.Expr.CheckAnswer(i, v) })
	}
	var text string
	if json.Unmarshal(value, &text) != nil || !slices.Contains(a.Values, text) {
		if !json.Valid(value) {
			return nil, notJSON
		}
		return nil, "the value must be one of: " + strings.Join(a.Values, ", ")
	}
	value, _ = Marshal(text) // Marshal cannot fail for a string
	return value, ""
}

const notJSON = "the value is not JSON"

// PassedValue returns the value of an answer to an event that step i passes on (P56, answers pass through), in its
// shortest form. If the value is not allowed, PassedValue returns the reason.
func (d *Definition) PassedValue(i, event int, value json.RawMessage) (json.RawMessage, string) {
	return eventValue(value, d.Steps[i].Each.Events[event].Schema,
		func(v json.RawMessage) error { return d.Expr.CheckPassed(i, event, v) })
}

// eventValue returns the value of an event in its shortest form, or the reason why it is not allowed.
func eventValue(value, schema json.RawMessage, check func(json.RawMessage) error) (json.RawMessage, string) {
	var compact bytes.Buffer
	if json.Compact(&compact, value) != nil {
		return nil, notJSON
	}
	value = compact.Bytes()
	if len(value) > MaxAnswerValue {
		return value, fmt.Sprintf("the value has %d bytes, the limit is %d; store large data elsewhere and send a reference",
			len(value), MaxAnswerValue)
	}
	if schema == nil {
		return value, ""
	}
	if err := check(value); err != nil {
		return value, "the value is not of the event's shape: " + err.Error()
	}
	return value, ""
}
