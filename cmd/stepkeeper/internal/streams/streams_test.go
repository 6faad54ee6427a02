package streams_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/streams"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

func TestColoursOnlyOnATerminal(t *testing.T) {
	states := []core.State{
		core.Pending, core.Processing, core.Processed, core.Error, core.Compensating,
		core.Failed,
	}
	for _, terminal := range []bool{false, true} {
		s, _ := streams.Test(terminal)
		for _, state := range states {
			require.Equal(t, terminal, strings.Contains(s.Style().State(state, "text"), "\x1b["))
		}
		s.NoColour()
		require.Equal(t, "text", s.Style().Bad("text"))
	}
}

// A long step says every 15 seconds that it goes on, and nothing more once it has ended.
func TestMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := streams.Test(false)
		done := s.Meanwhile("deploying")
		time.Sleep(31 * time.Second)
		done()
		time.Sleep(time.Minute)
		require.Equal(t, "deploying: 15s so far\ndeploying: 30s so far\n", b.Err.String())
	})
}

func TestConfirm(t *testing.T) {
	for answer, want := range map[string]bool{
		"y\n": true, "YES\n": true, "yes": true, "n\n": false,
		"\n": false, "": false, "maybe\n": false,
	} {
		s, b := streams.Test(true)
		b.In.WriteString(answer)
		got, err := s.Confirm("Undo it?")
		require.NoError(t, err)
		require.Equal(t, want, got, answer)
		require.Contains(t, b.Err.String(), "Undo it? [y/N]", "the question belongs on standard error")
		require.LessOrEqual(t, b.Out.Len(), 0, answer)
	}
}

func TestProgressIsSilentWithoutTerminal(t *testing.T) {
	s, b := streams.Test(false)
	p := s.Progress("submitting", 10)
	p.Add(10)
	p.Done()
	p.Done()
	require.LessOrEqual(t, b.Err.Len()+b.Out.Len(), 0)
	s, b = streams.Test(true)
	p = s.Progress("submitting", 10)
	p.Add(4)
	p.Done()
	p.Done()
	require.LessOrEqual(t, b.Out.Len(), 0, "a bar belongs on standard error")
}
