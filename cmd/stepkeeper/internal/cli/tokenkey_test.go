package cli

import (
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/token"
)

// P39: after the key of a stack is replaced, tokens of the key that AWS made are still valid.
func TestTokenKey(t *testing.T) {
	secret := `{"generated":"` + strings.Repeat("a1B2", 16) + `"}`
	first, err := token.Parse([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	r := call{in: secret}.run(t, "token-key")
	r.want(t, failure.OK)
	second, err := token.Parse([]byte(r.out))
	if err != nil || second.Current() == first.Current() {
		t.Fatalf("%v, the current key is %s", err, second.Current())
	}
	of := core.TokenOf{Step: "approve", Person: "ann"}
	sent, err := first.Token(first.Current(), "o-1", of)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := second.Read("o-1", sent, core.TimeOf(noon)); err != nil || got != of {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"", "{}", `{"generated":"short"}`, "swordfish"} {
		r := call{in: bad}.run(t, "token-key")
		r.want(t, failure.Usage)
		if r.out != "" || !strings.Contains(r.err, "TokenKeysSecret") ||
			strings.Contains(r.err, "swordfish") {
			t.Errorf("%q: %s%s", bad, r.out, r.err)
		}
	}
}
