package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/token"
)

// P39: after the key of a stack is replaced, tokens of the key that AWS made are still valid.
func TestTokenKey(t *testing.T) {
	secret := `{"generated":"` + strings.Repeat("a1B2", 16) + `"}`
	first, err := token.Parse([]byte(secret))
	require.NoError(t, err)
	r := call{in: secret}.run(t, "aws", "token-key")
	r.want(t, failure.OK)
	second, err := token.Parse([]byte(r.out))
	require.NoError(t, err)
	require.NotEqual(t, first.Current(), second.Current())
	of := core.TokenOf{Step: "approve", Person: "ann"}
	sent, err := first.Token(first.Current(), "o-1", of)
	require.NoError(t, err)
	got, err := second.Read("o-1", sent, core.TimeOf(noon))
	require.NoError(t, err)
	require.Equal(t, of, got)
	for _, bad := range []string{"", "{}", `{"generated":"short"}`, "swordfish"} {
		r := call{in: bad}.run(t, "aws", "token-key")
		r.want(t, failure.Usage)
		require.Empty(t, r.out, bad)
		require.Contains(t, r.err, "TokenKeysSecret", bad)
		require.NotContains(t, r.err, "swordfish", bad)
	}
}
