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
	var check func() error
	if a.Schema != nil {
		check = func() error { return d.Expr.CheckAnswer(i, value) }
	}
	return value, eventRefusal(value, check)
}

// PassedValue returns the value of an answer to an event that step i passes on (P56, answers pass through), in its
// shortest form. If the value is not allowed, PassedValue returns the reason.
func (d *Definition) PassedValue(i, event int, value json.RawMessage) (json.RawMessage, string) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		return nil, "the value is not JSON"
	}
	value = compact.Bytes()
	var check func() error
	if d.Steps[i].Each.Events[event].Schema != nil {
		check = func() error { return d.Expr.CheckPassed(i, event, value) }
	}
	return value, eventRefusal(value, check)
}

func eventRefusal(value json.RawMessage, check func() error) string {
	if len(value) > MaxAnswerValue {
		return fmt.Sprintf("the value has %d bytes, the limit is %d; store large data elsewhere and send a reference",
			len(value), MaxAnswerValue)
	}
	if check == nil {
		return ""
	}
	if err := check(); err != nil {
		return "the value is not of the event's shape: " + err.Error()
	}
	return ""
}
