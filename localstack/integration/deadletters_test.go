package integration

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws/operate"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// letter waits for a message of a queue of dead letters, and answers it. Another test may look at it
// meanwhile.
func (s *site) letter(t *testing.T, c *client.Client, queue string,
	is func(client.DeadLetter) bool,
) (found client.DeadLetter) {
	t.Helper()
	waitFor(t, "message in "+queue, func() bool {
		all, err := c.DeadLetters(t.Context(), queue, 100)
		require.NoError(t, err)
		for _, l := range all {
			if is(l) {
				found = l
				return true
			}
		}
		return false
	})
	return found
}

// What cannot be read is looked at in quarantine, is not sent back as it is, and is discarded; an order that
// would be taken now is sent back, and carried to its end; a dead letter goes back to its queue.
func TestOperatorHandlesDeadLetters(t *testing.T) {
	s := on(t, localstack)
	t.Parallel()
	c, err := operate.OpenWith(t.Context(), s.config, s.assembly.Stack)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "handled.jsonl")
	handle := func(code int, action, queue string, l client.DeadLetter, want string) {
		t.Helper()
		waitFor(t, action+" of "+queue, func() bool { // hidden while another test looks at it
			all, err := c.DeadLetters(t.Context(), queue, 100)
			return err == nil && strings.Contains(fmt.Sprint(all), l.ID)
		})
		s.cli(t, "", code, []string{
			"dead-letters", action, queue, l.ID, "--yes", "--reason", "tried by a test",
			"--journal", file,
		}, l.ID+": "+want)
	}

	poison := "{ this is no message: " + t.Name()
	s.send(t, "Replies", poison)
	l := s.letter(t, c, port.Quarantine, func(l client.DeadLetter) bool { return string(l.Body) == poison })
	require.Equal(t, port.Replies, l.Queue)
	require.NotEmpty(t, l.Reason)
	require.Contains(t, l.Refused, "its queue would not accept it")
	handle(refusedByIt, "redrive", port.Quarantine, l, "refused")
	handle(ok, "discard", port.Quarantine, l, "discarded")

	o := s.newOrder(t, "calm")
	envelope, err := message.Quarantine(port.Intake,
		port.Delivery{Message: port.Message{Body: []byte(o.body)}, ID: "first"}, "unknown-workflow",
		1_800_000_000_000).Encode()
	require.NoError(t, err)
	s.send(t, "Quarantine", string(envelope))
	l = s.letter(t, c, port.Quarantine, func(l client.DeadLetter) bool { return l.OrderID == o.id })
	handle(ok, "redrive", port.Quarantine, l, "redriven to intake (order "+o.id+")")
	o.notified("completed", rescued)

	// The reply of an order that has ended is ignored (P15).
	s.send(t, "RepliesDead", `{"schema":1,"task":"`+o.id+
		`","run":0,"step":"link-1","attempt":1,"operation":"do","outcome":"done","waited":0}`)
	l = s.letter(t, c, port.Replies, func(l client.DeadLetter) bool { return l.OrderID == o.id })
	handle(ok, "redrive", port.Replies, l, "redriven to replies")
	waitFor(t, "empty queue", func() bool { return s.depth(t, "Replies") == 0 })
	_, err = c.DeadLetters(t.Context(), "nowhere", 1)
	require.ErrorIs(t, err, client.ErrNotFound)
}
