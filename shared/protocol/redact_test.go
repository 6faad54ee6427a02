package protocol_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/token"
)

// spellings are the ways in which a service can repeat a text.
func spellings(text string) map[string]string {
	var percent, escaped strings.Builder
	for _, c := range []byte(text) {
		percent.WriteString("%" +
			strings.ToUpper(string("0123456789abcdef"[c>>4])+string("0123456789abcdef"[c&15])))
		escaped.WriteString(`\u00` + string("0123456789abcdef"[c>>4]) + string("0123456789ABCDEF"[c&15]))
	}
	dots := strings.ReplaceAll(text, ".", "%2e")
	return map[string]string{
		"as it is": text, "in a link": "https://example.org/answer/o-1/" + url.PathEscape(text) + "?a=1",
		"with its dots encoded": dots,
		"percent-encoded":       percent.String(), "percent-encoded twice": url.QueryEscape(dots),
		"escaped":                    escaped.String(),
		"behind half of an encoding": "%3" + text, "behind an escape": `\u00e9` + text,
		"behind a line end": `\n` + text, "behind hexadecimal digits": "0badcafe" + text,
		"behind another key's ID": "00000000." + text,
		"before letters":          text + "abc", "twice": text + text,
	}
}

// P39: a token is found in any spelling, in texts and in JSON, which stays JSON; a cut one too.
func TestTokensAreRedacted(t *testing.T) {
	for _, of := range []core.TokenOf{
		{Step: "approve", Person: "ann"}, {Run: 12, Step: "b", Person: "Ånn~~~???"}, {Step: "a-1"},
	} {
		text, err := token.Fixed(false).Token("00000000", "o-1", of)
		require.NoError(t, err)
		mac := text[strings.LastIndexByte(text, '.')+1:]
		for name, spelled := range spellings(text) {
			got := core.RedactText("see " + spelled + ".")
			require.Contains(t, got, "(token)", name)
			require.NotContains(t, got, mac[:8], name)
			require.True(t, strings.HasPrefix(got, "see "), name)
			require.Equal(t, got, core.RedactText(got), name)
			asString := marshal(t, map[string]string{"seen": spelled, "at": "\b\u20ac"})
			for _, value := range []string{`{"seen":["` + spelled + `"]}`, string(asString)} {
				doc := core.RedactJSON(json.RawMessage(value))
				text := string(doc)
				require.True(t, json.Valid(doc), name)
				require.Contains(t, text, "(token)", name)
				require.NotContains(t, text, mac[:8], name)
			}
		}
		for end := len(text) - len(mac) + 1; end < len(text); end++ {
			require.Equal(t, "(token)…", core.RedactText(text[:end]+"…"), "%+v", end)
		}
	}
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return data
}

// Text that is not a token stays, byte for byte.
func TestOtherTextsAreNotRedacted(t *testing.T) {
	for _, text := range []string{
		"", "1.5", `{"n":12345678.12345678901234567890123456}`, "deadbeef.example.org",
		"00000000.MS9hcHByb3ZlL2Fubg", "00000000.MS9hcHByb3ZlL2Fubg.",
		"00000000.bm8gY2xhaW1zIGF0IGFsbA.dXllGwql4haxUySnKXUr6A", `\\\\server\share`, "100 %", "%", "%2", `\`,
		`\u00`, `\u0`,
		strings.Repeat(`\`, 9), strings.Repeat("%25", 9),
		"00000000." + strings.Repeat("MS9h", 200) + ".dXllGwql4haxUySnKXUr6A",
	} {
		require.Equal(t, text, core.RedactText(text))
		require.Equal(t, text, string(core.RedactJSON(json.RawMessage(text))))
	}
}

// With any text around a token, JSON stays JSON, and the token is removed.
func FuzzTokensAreRedacted(f *testing.F) {
	const text, mac = "00000000.MS9hcHByb3ZlL2Fubi9sZWU.dXllGwql4haxUySnKXUr6A", "dXllGwql4haxUySnKXUr6A"
	for _, around := range []string{
		"", `\`, `"`, "\u20ac", "\b", "0", "00000000.", "%", "%25", "\\u00",
		"\x00\f",
	} {
		f.Add(around, around)
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		plain, err := json.Marshal(before + text + after)
		require.NoError(t, err)
		twice, err := json.Marshal(string(plain))
		require.NoError(t, err)
		for _, value := range [][]byte{plain, twice} {
			got := core.RedactJSON(value)
			if !json.Valid(got) || strings.Contains(string(got), mac) {
				t.Errorf("%s becomes %s", value, got)
			}
		}
		if got := core.RedactText(before + text + after); strings.Contains(got, mac) {
			t.Errorf("%q becomes %q", before+text+after, got)
		}
	})
}
