package token_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/token"
)

var ann = core.TokenOf{Run: 1, Step: "approve", Person: "ann/lee"}

func made(t *testing.T, k *token.Keys, order string, of core.TokenOf) string {
	t.Helper()
	text, err := k.Token(k.Current(), order, of)
	require.NoError(t, err)
	return text
}

func codeOf(err error) string {
	var r *core.Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return ""
}

// P39: a token contains order, run, step and person. It is the same each time, and different for any other of
// these values.
func TestTokensSayWhatTheyAreFor(t *testing.T) {
	k := token.New()
	seen := map[string]bool{}
	for _, order := range []string{"o-1", "o-11"} {
		for _, of := range []core.TokenOf{
			ann,
			{Run: 0, Step: "approve", Person: "ann/lee"},
			{Run: 1, Step: "b", Person: "ann/lee"},
			{Run: 1, Step: "approve"},
			{Run: 11, Step: "approve"},
		} {
			text := made(t, k, order, of)
			require.False(t, seen[text], order)
			require.Equal(t, made(t, k, order, of), text, order)
			seen[text] = true
			got, err := k.Read(order, text, 0)
			require.NoError(t, err, order)
			require.Equal(t, of, got, order)
			require.Equal(t, of.Step, token.StepOf(text))
		}
	}
	// A recorded token: tokens that were sent work after an update.
	const want = "00000000.MS9hcHByb3ZlL2Fubi9sZWU."
	got := made(t, token.Fixed(false), "o-1", ann)
	require.True(t, strings.HasPrefix(got, want), "it is %s", got)
	require.Len(t, got, len(want)+22)
	require.Equal(t, fixedToken, got)
}

const fixedToken = "00000000.MS9hcHByb3ZlL2Fubi9sZWU.dXllGwql4haxUySnKXUr6A"

// P39: every bad token gets the same refusal, which reveals nothing about the order, the keys or the token.
func TestBadTokensAreRefused(t *testing.T) {
	k := token.New()
	good := made(t, k, "o-1", ann)
	parts := strings.Split(good, ".")
	forged := parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte("1/approve/bob")) + "." + parts[2]
	last := good[:len(good)-1]
	for name, c := range map[string]struct{ order, token, code string }{
		"cut":              {"o-1", last, token.CodeMalformed},
		"empty":            {"o-1", "", token.CodeMalformed},
		"a long one":       {"o-1", good + strings.Repeat("A", 600), token.CodeMalformed},
		"without a person": {"o-1", parts[0] + ".MQ." + parts[2], token.CodeMalformed},
		"another spelling": {"o-1", last + string(good[len(good)-1]+1), ""},
		"another order":    {"o-2", good, token.CodeForeign},
		"another person":   {"o-1", forged, token.CodeForeign},
		"another key":      {"o-1", made(t, token.New(), "o-1", ann), token.CodeUnknown},
	} {
		_, err := k.Read(c.order, c.token, 0)
		code := codeOf(err)
		if c.code != "" && code != c.code || code == "" {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, secret := range []string{"o-1", "ann", parts[0], parts[2]} {
			require.NotContains(t, err.Error(), secret, name)
		}
	}
}

// P39: a replaced key still makes the same tokens for the orders that use it, and its tokens are read for 400
// days.
func TestAReplacedKeyIsReadFor400Days(t *testing.T) {
	const replaced = 1000 * core.Day
	was := token.New()
	sent := made(t, was, "o-1", ann)
	now := was.Replace(core.Time(replaced))
	require.NotEqual(t, was.Current(), now.Current())
	again, err := now.Token(was.Current(), "o-1", ann)
	require.NoError(t, err)
	require.Equal(t, sent, again)
	end := core.Time(replaced).Add(400 * core.Day)
	_, err = now.Read("o-1", sent, end-1)
	require.NoError(t, err, "before the 400 days are over")
	_, err = now.Read("o-1", sent, end)
	require.Equal(t, token.CodeExpired, codeOf(err), "after 400 days")
	third := now.Replace(end)
	again, err = third.Token(was.Current(), "o-1", ann)
	require.NoError(t, err)
	require.Equal(t, sent, again)
	_, err = third.Read("o-1", made(t, now, "o-1", ann), end)
	require.NoError(t, err, "the key before")
	_, err = token.New().Token(was.Current(), "o-1", ann)
	require.Error(t, err)
}

// P39: `dev` keeps its keys in a file that no other user reads; a group may.
func TestKeysAreKeptInAFile(t *testing.T) {
	dir := t.TempDir()
	first, err := token.Open(dir, false, 0)
	require.NoError(t, err)
	name := filepath.Join(dir, token.FileName)
	info, err := os.Stat(name)
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
	sent := made(t, first, "o-1", ann)
	for _, replace := range []bool{false, true} {
		k, err := token.Open(dir, replace, 5)
		require.NoError(t, err)
		_, err = k.Read("o-1", sent, 6)
		require.NoError(t, err, "%+v", replace)
		require.NotEqual(t, replace, k.Current() == first.Current())
	}
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	for what, text := range map[string][]byte{
		"half": data[:len(data)/2], "no key": []byte(`{"keys":[]}`),
		"a short secret": []byte(`{"keys":[{"id":"00000000","secret":"AAAA"}]}`),
		"two current":    bytes.ReplaceAll(data, []byte(`"replaced"`), []byte(`"x"`)),
		"an ID":          bytes.Replace(data, []byte(`"id": "`), []byte(`"id": "x`), 1),
	} {
		require.NoError(t, os.WriteFile(name, text, 0o600))
		if _, err := token.Open(dir, false, 0); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for mode, exposed := range map[os.FileMode]bool{
		0o600: false, 0o660: false, 0o640: false, 0o644: true,
		0o604: true, 0o602: true,
	} {
		require.NoError(t, os.Chmod(name, mode))
		if err := token.Exposed(dir); (err != nil) != exposed || exposed &&
			!strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("mode %#o: %v", mode, err)
		}
	}
	require.NoError(t, token.Exposed(t.TempDir()), "without keys")
	require.ErrorContains(t, token.Exposed(name), "the keys of tokens", "in a file that is no folder")
	left, _ := filepath.Glob(name + ".*")
	require.Empty(t, left, "left")
}

// P39: a random text from AWS gives one key, the same each time.
func TestAGeneratedKey(t *testing.T) {
	text := strings.Repeat("a1B2", 12)
	k, err := token.Parse([]byte(`{"generated":"` + text + `"}`))
	require.NoError(t, err)
	const want = "4caf394d.MS9hcHByb3ZlL2Fubi9sZWU.66UEs5peWrLxFVN7_Eu64w"
	if got := made(t, k, "o-1", ann); got != want { // what was sent works after an update
		t.Errorf("it is %s", got)
	}
	_, err = token.Parse([]byte(`{"generated":"` + text[1:] + `"}`))
	require.Error(t, err)
	kept, err := token.Parse(k.Replace(5).Encode())
	require.NoError(t, err)
	require.True(t, kept.Holds(k.Current()), "it is lost when it is replaced: %v", err)
}
