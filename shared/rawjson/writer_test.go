package rawjson_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

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

type inner struct {
	Zero  int            `json:"zero,omitzero"`
	Empty []string       `json:"empty,omitempty"`
	None  []string       `json:"none,omitzero"`
	Of    *inner         `json:"of,omitzero"`
	By    map[string]int `json:"by,omitempty"`
}

type outer struct {
	First   bool `json:"first,omitempty"`
	inner   `json:",embed"`
	Pointer *parts          `json:",embed"`
	More    map[string]bool `json:",embed"`
	At      time.Time       `json:"at,omitzero"`
	Body    []byte          `json:"body"`
	Any     any             `json:"any"`
	Hidden  string          `json:"-"`
	Plain   float64
}

// Members of embedded structs and maps, and what an option leaves out, stand as Marshal writes them.
func TestWriterWritesWhatMarshalWrites(t *testing.T) {
	w := rawjson.NewWriter()
	full := inner{Zero: 1, Empty: []string{"a"}, None: []string{}, By: map[string]int{"b": 2, "a\n": 1}}
	for name, value := range map[string]any{
		"zero": &outer{}, "text": "a\u2028<", "nothing": nil, "list": []inner{{}, full}, "nil list": []inner(nil),
		"embedded": &outer{
			First: true, inner: inner{Of: &full}, Pointer: &parts{}, More: map[string]bool{"y": true, "x": false},
			At: time.Unix(1, 0), Body: []byte("a"), Any: map[string]any{"z": 1.5}, Hidden: "h", Plain: 1e30,
		},
	} {
		want, err := rawjson.Marshal(value)
		require.NoError(t, err, name)
		for range 2 {
			got, err := w.Marshal(value)
			require.NoError(t, err, name)
			require.Equal(t, string(want), string(got), name)
		}
	}
	_, err := w.Marshal([]string{"\xff"})
	require.Error(t, err)
}

// The texts of a Writer come first, and after a failure it writes the next value.
func TestWriterWithTexts(t *testing.T) {
	w := rawjson.NewWriter(rawjson.Of(func(b []byte, n *int) ([]byte, error) {
		if *n < 0 {
			return nil, errors.New("it is negative")
		}
		return append(b, `"int"`...), nil
	}))
	_, err := w.Marshal(map[string]any{"a": json.RawMessage(`1`), "b": -1})
	require.Error(t, err)
	got, err := w.Marshal(map[string]any{"a": json.RawMessage(`1`), "b": 2})
	require.NoError(t, err)
	require.Equal(t, `{"a":1,"b":"int"}`, string(got))
}
