package core

import (
	"bytes"
	"encoding/json"
)

// Marshal returns a value as JSON. In contrast to json.Marshal, it does not escape characters for HTML, because
// the escapes could make a value exceed its limit.
func Marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
