package shifted_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/demo/shifted"
)

func TestClockFollowsItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "offset")
	for _, off := range []time.Duration{0, time.Hour, -2 * time.Hour} {
		require.NoError(t, shifted.Set(path, off))
		c, err := shifted.Open(path)
		require.NoError(t, err)
		for _, next := range []time.Duration{off, off + time.Hour, off - time.Hour} {
			require.NoError(t, shifted.Set(path, next))
			end := time.Now().Add(20 * time.Second)
			for (time.Until(c.Now()) - next).Abs() > time.Minute {
				require.False(t, time.Now().After(end), "the clock shows %s, it is to be off by %s", c.Now(), next)
				time.Sleep(time.Millisecond)
			}
		}
	}
}

func TestFileThatSaysNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "offset")
	_, err := shifted.Open(path)
	require.Error(t, err)
	require.NoError(t, os.WriteFile(path, []byte("soon"), 0o600))
	_, err = shifted.Open(path)
	require.ErrorContains(t, err, "1h")
}
