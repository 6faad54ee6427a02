package embedded_test

import (
	"os"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// A runtime whose data folder was removed accepts no order. Its health says why, the log once, and the end too.
func TestNoOrderIsAcceptedAfterTheFolderWasRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, "5s")
		log := w.logs()
		s := w.open()
		submit(t, s, "before", "")
		wait(t, s, "before")
		require.True(t, s.Health(t.Context()).Ready)
		require.NoError(t, os.RemoveAll(w.options.Data))
		eventually(t, "it is not ready", func() bool { return !s.Health(t.Context()).Ready })
		require.Contains(t, s.Health(t.Context()).Checks["store"], "removed, moved or replaced")
		require.Equal(t, 1, log.count("the store cannot write"))
		r := s.Submit(t.Context(), []message.SubmitOrder{order(t, "after", "")})[0]
		require.ErrorIs(t, r.Err, port.ErrUnavailable)
		require.ErrorContains(t, r.Err, "removed, moved or replaced")
		require.ErrorContains(t, s.Close(), "removed, moved or replaced")
		require.Equal(t, 1, log.count("the store cannot write"))
	})
}
