package cloud_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/functions/internal/cloud"
	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/token"
)

// P39: the keys are read once in five minutes, again where a token names another one, and go on while they
// cannot be read.
func TestTokenKeysOfASecret(t *testing.T) {
	ring := token.New()
	asked := 0
	down := false
	c := awsstub.Config(t, func(call awsstub.Call) (int, string) {
		asked++
		if down || call.Action != "secretsmanager:GetSecretValue" || !strings.Contains(call.Body, `"arn:keys"`) {
			return http.StatusBadRequest, `{"__type":"ResourceNotFoundException","message":"none"}`
		}
		return http.StatusOK, fmt.Sprintf(`{"SecretString":%q}`, ring.Encode())
	})
	clock := memory.NewClock(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	keys := cloud.NewTokenKeys(c, "arn:keys", clock)
	read := func(fresh bool, times int, current string) {
		t.Helper()
		got, err := keys.Read(context.Background(), fresh)
		require.NoError(t, err)
		require.Equal(t, current, got.Current())
		require.Equal(t, times, asked)
	}
	down = true
	_, err := keys.Read(context.Background(), false)
	require.ErrorContains(t, err, "arn:keys")
	require.ErrorContains(t, err, "ResourceNotFoundException")
	down = false
	first := ring.Current()
	read(false, 2, first)
	ring = ring.Replace(core.TimeOf(clock.Now()))
	clock.Advance(9 * time.Second)
	read(true, 2, first)
	read(false, 2, first)
	clock.Advance(time.Second)
	read(true, 3, ring.Current())
	clock.Advance(5*time.Minute - time.Second)
	read(false, 3, ring.Current())
	down = true
	clock.Advance(time.Second)
	read(false, 4, ring.Current())
	read(false, 4, ring.Current()) // not asked each time meanwhile
}
