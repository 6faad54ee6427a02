package protocol_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// A text of the longest length is kept as it is; a longer one is cut at the border of a character.
func TestTextsAreCutAtACharacter(t *testing.T) {
	whole := strings.Repeat("é", core.MaxMessage/2)
	require.Equal(t, whole, core.TrimMessage(whole))
	got, want := core.TrimMessage(whole+"x"), strings.Repeat("é", (core.MaxMessage-len("…"))/2)+
		"…"
	require.Equal(t, want, got)
}
