package render_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// JSON on a terminal holds no character that controls it, and is read as the same value.
func TestCleanJSON(t *testing.T) {
	var all strings.Builder
	for r := rune(0); r < 0x2100; r++ {
		all.WriteRune(r)
	}
	want := map[string]string{all.String(): all.String() + "😀"}
	var out bytes.Buffer
	e := json.NewEncoder(render.CleanJSON(&out))
	e.SetEscapeHTML(false)
	e.SetIndent("", "\t")
	require.NoError(t, e.Encode(want))
	unsafe := func(r rune) bool { return core.Unprintable(r) && r != '\n' && r != '\t' }
	require.False(t, strings.ContainsFunc(out.String(), unsafe), out.String())
	var got map[string]string
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	require.Equal(t, want, got)
}
