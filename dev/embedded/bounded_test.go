package embedded_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// However many messages have the same trouble, the log gets only a few lines of it in a minute.
func TestTheLogOfATroubleIsBounded(t *testing.T) {
	w := newFixture(t, "5s")
	log := w.logs()
	s := w.open()
	defer closeRuntime(t, s)
	replies := queueOf(t, s, port.Replies)
	const messages = 50
	for range messages {
		require.NoError(t, replies.Send(t.Context(), []port.Message{{Body: []byte("no reply")}})[0])
	}
	eventually(t, "all are in quarantine", func() bool { return depth(t, s, port.Quarantine).Visible == messages })
	lines := log.count("message put into quarantine")
	require.Contains(t, []int{3, 4, 5, 6}, lines, "lines, of one minute or of two")
	require.Equal(t, lines/3, log.count("no more lines of this kind before"), "lines that name the end of the minute")
}
