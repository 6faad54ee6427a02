package rawjson_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	gojson "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

type parts struct {
	Text   string                     `json:"text"`
	Part   json.RawMessage            `json:"part"`
	Absent json.RawMessage            `json:"absent,omitempty"`
	List   []json.RawMessage          `json:"list"`
	Inner  *parts                     `json:"inner,omitempty"`
	Named  map[string]json.RawMessage `json:"named,omitempty"`
	Number json.Number                `json:"number"`
}

// A Writer writes what Marshal writes, but it reads no part, and a long value leaves nothing behind.
func TestWriterCopiesParts(t *testing.T) {
	w := rawjson.NewWriter()
	value := parts{
		Text: "null \uFFFE\uFFFF", Part: json.RawMessage(`{"n":1.50}`), List: []json.RawMessage{json.RawMessage(`null`), nil},
		Inner: &parts{Part: json.RawMessage(`"<é>"`), Number: "7"},
		Named: map[string]json.RawMessage{"b": json.RawMessage(`[null]`), "a": json.RawMessage(`1`)},
	}
	for _, part := range []string{`{"n":1.50}`, `"` + strings.Repeat("x", 100_000) + `"`, `1`} {
		value.Part = json.RawMessage(part)
		want, err := rawjson.Marshal(value)
		require.NoError(t, err)
		got, err := w.Marshal(value)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	}
	value.Part = json.RawMessage(`{`)
	got, err := w.Marshal(value)
	require.NoError(t, err)
	require.Contains(t, string(got), `"part":{,"list":`)
}

// The marshalers of a Writer come before its own, and after a failure it writes the next value.
func TestWriterWithMarshalers(t *testing.T) {
	w := rawjson.NewWriter(gojson.MarshalToFunc(func(e *jsontext.Encoder, n *int) error {
		if *n < 0 {
			return errors.New("it is negative")
		}
		return e.WriteToken(jsontext.String("int"))
	}))
	_, err := w.Marshal(map[string]any{"a": json.RawMessage(`1`), "b": -1})
	require.Error(t, err)
	got, err := w.Marshal(map[string]any{"a": json.RawMessage(`1`), "b": 2})
	require.NoError(t, err)
	require.Equal(t, `{"a":1,"b":"int"}`, string(got))
}
