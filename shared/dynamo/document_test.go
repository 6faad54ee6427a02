package dynamo

import (
	"bytes"
	"compress/flate"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

func writeOf(document string) *port.Write {
	return &port.Write{Record: port.Record{
		ID: "o-1", Version: 3, State: "Processing", Workflow: "shop",
		Created: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC), Bucket: port.DueBucket,
		IndexAt: time.Date(2026, 11, 21, 10, 0, 40, 123e6, time.UTC), Document: []byte(document),
	}}
}

// The columns are what the conditions, the index and the listings need. All else is in the document.
func TestColumnsOfAnItem(t *testing.T) {
	s := New(nil, Tables{}, Options{})
	w := writeOf(`{"a":1}`)
	a, err := s.item(w, []byte("12345678"))
	require.NoError(t, err)
	document := a[documentAttribute]
	delete(a, documentAttribute)
	require.Equal(t, attrs{
		"OrderID": str("o-1"), "Version": num(3), "ProcessState": str("Processing"), "Workflow": str("shop"),
		"Created": str("2026-11-21T10:00:00.000Z"), "Writer": blob([]byte("12345678")),
		"bucket": str("due#0"), "dueAt": num(1795255240123),
	}, a)
	a[documentAttribute] = document
	require.Equal(t, &w.Record, record(a))
}

// The largest document fits into an item, whatever is in it, and a larger one is refused before it is sent.
func TestTheLargestDocumentFits(t *testing.T) {
	s := New(nil, Tables{}, Options{})
	random := make([]byte, port.MaxDocument)
	seed := uint64(1)
	for i := range random {
		seed = seed*6364136223846793005 + 1442695040888963407
		random[i] = byte(seed >> 56)
	}
	w := writeOf(string(random))
	w.Record.ID = strings.Repeat("o", 128)
	a, err := s.item(w, token())
	require.NoError(t, err)
	require.Equal(t, random, record(a).Document)
	w.Record.Document = append(w.Record.Document, 'x')
	_, err = s.item(w, token())
	require.ErrorIs(t, err, port.ErrTooLarge)
}

// What someone has put into an item is bounded before it is used. The reader says what is wrong.
func TestDamagedItems(t *testing.T) {
	for name, x := range map[string]struct {
		stored types.AttributeValue
		want   string
	}{
		"absent":     {nil, "no binary attribute Document"},
		"text":       {str("{}"), "no binary attribute Document"},
		"no DEFLATE": {blob([]byte("{}")), "not in the format DEFLATE"},
		"cut off":    {blob(compress([]byte(`{"a":1}`))[:5]), "not in the format DEFLATE"},
		"a bomb":     {blob(bomb(t)), "more than 405504 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := New(nil, Tables{}, Options{}).item(writeOf("{}"), token())
			require.NoError(t, err)
			a[documentAttribute] = x.stored
			r := record(a)
			require.Nil(t, r.Document)
			require.Contains(t, r.Damage, x.want)
			task, err := state.TaskOf(r)
			require.NoError(t, err)
			require.Equal(t, r.Damage, task.Damaged)
		})
	}
}

// bomb returns 400 KB that contain 400 MB.
func bomb(t *testing.T) []byte {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	require.NoError(t, err)
	_, err = io.CopyN(w, zeros{}, 80<<20)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.Less(t, b.Len(), maxItem)
	return b.Bytes()
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// An item of an older version has the members of its document as attributes. It is named as such.
func TestItemOfAnOlderVersion(t *testing.T) {
	_, err := state.TaskOf(record(attrs{
		"OrderID": str("o-1"), "Schema": num(1), "Version": num(1), "ProcessState": str("Processing"),
		"Steps": &types.AttributeValueMemberM{},
	}))
	require.ErrorIs(t, err, state.ErrSchema)
	require.ErrorContains(t, err, "was written by an older version of Stepkeeper")
}

func TestSize(t *testing.T) {
	for name, x := range map[string]struct {
		item attrs
		want int
	}{
		"text":          {attrs{"a": str("xyz")}, 1 + 3},
		"bytes":         {attrs{"ab": blob([]byte("xyz"))}, 2 + 3},
		"number":        {attrs{"a": num(1234)}, 1 + 3},
		"zeros at last": {attrs{"a": num(40_000)}, 1 + 2},
		"zero":          {attrs{"a": num(0)}, 1 + 1},
		"negative":      {attrs{"a": num(-7)}, 1 + 3},
		"other":         {attrs{"a": &types.AttributeValueMemberBOOL{}}, 1 + 1},
	} {
		require.Equal(t, x.want, Size(x.item), name)
	}
}

// texts draws JSON as programs write it, half of it with a fault: half of a surrogate pair, a key twice, or bytes
// that are not UTF-8.
func texts() *rapid.Generator[string] {
	part := rapid.SampledFrom([]string{
		"a", "<td>", `\u003c`, "\u2028", "😀", `\ud83d\ude00`, "я", `\u0001`, "\uffff",
		`\ufffe`, "\x7f", `\"`, `\\`, `\ud83d`, `\ude00`, "\xff", "\xed\xa0\xbd",
	})
	text := rapid.Custom(func(t *rapid.T) string {
		return `"` + strings.Join(rapid.SliceOfN(part, 0, 3).Draw(t, "parts"), "") + `"`
	})
	return rapid.Custom(func(t *rapid.T) string {
		a := text.Draw(t, "a")
		b := text.Draw(t, "b")
		c := text.Draw(t, "c")
		return rapid.SampledFrom([]string{
			a, `{` + a + `:` + b + `}`, `{` + a + `:1, ` + b + `:[` + c + `]}`,
			`{"a":{` + a + `:` + b + `,"n":1.500}}`, `[1e400,` + a + `]`,
		}).Draw(t, "form")
	})
}

// What a door accepts can be stored and read in each form: an order that was stored and could not be read would
// stand for ever.
func TestEachStoreReadsWhatADoorAccepts(t *testing.T) {
	accepted := 0
	refused := 0
	rapid.Check(t, func(t *rapid.T) {
		given := []byte(texts().Draw(t, "value"))
		if err := rawjson.Check(given, rawjson.MaxLevels); err != nil {
			refused++
			require.ErrorIs(t, err, rawjson.ErrAmbiguous)
			return
		}
		accepted++
		value, _ := rawjson.Compact(given) // cannot fail after the check
		task := &protocol.Task{
			OrderID: "o", Workflow: "w", Created: 1, Order: value, Output: value,
			Steps: []protocol.Step{{Name: "a", Output: value, Children: &protocol.Children{
				Count:   1,
				Results: []protocol.Collected{{Output: value}},
			}, Answers: &protocol.Answers{
				Votes: []protocol.Vote{{By: "ann", Value: value}},
			}}},
		}
		document, err := state.EncodeTask(task)
		require.NoError(t, err)
		stored, damage := documentOf(attrs{documentAttribute: blob(compress(document))})
		require.Empty(t, damage)
		require.Equal(t, document, stored)
		got, err := state.DecodeTask(stored)
		require.NoError(t, err)
		step := got.Steps[0]
		for _, v := range [][]byte{got.Order, got.Output, step.Output, step.Children.Results[0].Output, step.Answers.Votes[0].Value} {
			require.Equal(t, string(value), string(v), "%+v", v)
		}
	})
	require.NotZero(t, accepted)
	require.NotZero(t, refused)
}
