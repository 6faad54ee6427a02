package source_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/source"
)

func read(text string) (string, error) {
	var got []string
	err := source.Records(strings.NewReader(text), func(r source.Record) bool {
		if r.Err != nil {
			got = append(got, fmt.Sprintf("%d!", r.Line))
		} else {
			got = append(got, fmt.Sprintf("%d:%s", r.Line, strings.Join(strings.Fields(string(r.Data)), "")))
		}
		return true
	})
	return strings.Join(got, " "), err
}

func TestRecords(t *testing.T) {
	for _, c := range []struct{ name, text, want, wantErr string }{
		{"nothing", "", "", ""},
		{"blank lines only", "\n \n\t\n", "", ""},
		{"one object", `{"a":1}`, `1:{"a":1}`, ""},
		{"one object over lines", "\n{\n  \"a\": 1\n}\n", `2:{"a":1}`, ""},
		{"JSON Lines", "{\"a\":1}\n{\"a\":2}\n", `1:{"a":1} 2:{"a":2}`, ""},
		{"Windows line ends and no last one", "{\"a\":1}\r\n{\"a\":2}", `1:{"a":1} 2:{"a":2}`, ""},
		{"blank lines between", "{\"a\":1}\n\n\n{\"a\":2}\n", `1:{"a":1} 4:{"a":2}`, ""},
		{"byte order mark", "\xef\xbb\xbf{\"a\":1}\n", `1:{"a":1}`, ""},
		{
			"a bad line hides no other", "{\"a\":1}\nnonsense\n{\"a\":3}\n", `1:{"a":1} 2:nonsense 3:{"a":3}`,
			"",
		},
		{"a bad first line", "nonsense\n{\"a\":2}\n", `1:nonsense 2:{"a":2}`, ""},
		{"a first line cut off", "{\"a\":\n{\"a\":2}\n", `1:{"a": 2:{"a":2}`, ""},
		{"array", `[{"a":1},{"a":2}]`, `1:{"a":1} 1:{"a":2}`, ""},
		{"array over lines", "[\n{\"a\":1},\n\n{\n\"a\":2}\n]\n", `2:{"a":1} 4:{"a":2}`, ""},
		{"empty array", "[]", "", ""},
		{"array cut off", "[\n{\"a\":1},\n{\"a\"", `2:{"a":1}`, "line 3"},
		{"array cut off behind a comma", "[{\"a\":1},\n", `1:{"a":1}`, "ends in the middle"},
		{"object cut off", "{\n\"a\":1,\n", "", "ends in the middle"},
		{"broken document", "{\n\"a\": nonsense\n}\n", "", "line 2"},
		{"array with a tail", "[{\"a\":1}]\n{\"a\":2}\n", `1:{"a":1}`, "line 1: something follows"},
		{"array with a letter behind it", `[{"a":1}]x`, `1:{"a":1}`, "line 1: something follows"},
		{
			"long line", "{\"a\":1}\n\"" + strings.Repeat("x", source.MaxLine) + "\"\n{\"a\":3}\n",
			`1:{"a":1} 2! 3:{"a":3}`, "",
		},
		{
			"long first line", "\"" + strings.Repeat("x", source.MaxLine+9) + "\"\n{\"a\":2}\n", `1! 2:{"a":2}`,
			"",
		},
		{
			"long blank first line", strings.Repeat(" ", source.MaxLine+9) + "\n{\"a\":2}\n", `2:{"a":2}`,
			"",
		},
		{
			"long line with an array", "\n [{\"a\":1}," + strings.Repeat(" ", source.MaxLine) + "{\"a\":2}]\n",
			`2:{"a":1} 2:{"a":2}`, "",
		},
		{
			"longest lines", strings.Repeat(`{"a":1}`+strings.Repeat(" ", source.MaxLine-8)+"\n", 2),
			`1:{"a":1} 2:{"a":1}`, "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := read(c.text)
			require.Equal(t, c.want, got)
			if c.wantErr == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.wantErr)
		})
	}
}

func TestRecordsStops(t *testing.T) {
	for _, text := range []string{"{}\n{}\n{}\n", "[{},\n{},\n{}]", "{\n}\n{\n}\n{\n}"} {
		n := 0
		err := source.Records(strings.NewReader(text),
			func(source.Record) bool { n++; return n < 2 })
		require.NoError(t, err, text)
		require.Equal(t, 2, n, text)
	}
}

// The order of a slow input is there before the next one.
func TestRecordsOfASlowInput(t *testing.T) {
	in, out := io.Pipe()
	got := make(chan string)
	go func() {
		_ = source.Records(in, func(r source.Record) bool { got <- string(r.Data); return true })
	}()
	for _, order := range []string{"{}", `{"a":1}`} {
		_, err := io.WriteString(out, order+"\n")
		require.NoError(t, err)
		require.Equal(t, order, <-got)
	}
	require.NoError(t, out.Close())
}

func TestRecordsReadError(t *testing.T) {
	bad := errors.New("the disk is on fire")
	for _, before := range []string{"", "{\"a\":1}\n", "[", "{\n\"a\":"} {
		r := io.MultiReader(strings.NewReader(before), iotest.ErrReader(bad))
		require.ErrorIs(t, source.Records(r, func(source.Record) bool { return true }), bad, before)
	}
}

// FuzzRecords: for every input, the line numbers increase and no record is blank.
func FuzzRecords(f *testing.F) {
	for _, text := range []string{
		"", "{\"a\":1}\n{\"a\":2}\n", "[\n{},{}\n]", "{\n\"a\":\n1}\n",
		"\xef\xbb\xbf[", "nonsense\n\n{", "[1,\n", "\"\x00",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		last := 0
		_ = source.Records(strings.NewReader(text), func(r source.Record) bool {
			if r.Line < max(last, 1) || r.Line > strings.Count(text, "\n")+1 {
				t.Errorf("line %d after %d of %q", r.Line, last, text)
			}
			if r.Err == nil && strings.TrimSpace(string(r.Data)) == "" {
				t.Errorf("a blank record at line %d of %q", r.Line, text)
			}
			last = r.Line
			return true
		})
	})
}
