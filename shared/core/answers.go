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
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		return nil, "the value is not JSON"
	}
	value = compact.Bytes()
	if a.Event == "" {
		var text string
		if err := json.Unmarshal(value, &text); err != nil || !slices.Contains(a.Values, text) {
			return nil, "the value must be one of: " + strings.Join(a.Values, ", ")
		}
		value, _ = Marshal(text) // Marshal cannot fail for a string
		return value, ""
	}
	if len(value) > MaxAnswerValue {
		return nil, fmt.Sprintf("the value has %d bytes, the limit is %d; store large data elsewhere and "+
			"send a reference", len(value), MaxAnswerValue)
	}
	if a.Schema != nil {
		if err := d.Expr.CheckAnswer(i, value); err != nil {
			return nil, "the value is not of the event's shape: " + err.Error()
		}
	}
	return value, ""
}
