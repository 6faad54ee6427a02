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
		require.Equal(t, terminal, strings.Contains(s.ErrStyle().Bad("text"), "\x1b["))
		s.NoColour()
		require.Equal(t, "text", s.ErrStyle().Bad("text"))
		require.Equal(t, "text", s.Style().Bad("text"))
	}
}

// A long step says every 15 seconds that it goes on and what is left, and nothing more once it has ended.
func TestMeanwhile(t *testing.T) {
	for name, test := range map[string]struct {
		about time.Duration
		want  string
	}{
		"of unknown length": {0, "deploying: 15s so far\ndeploying: 30s so far\n"},
		"of known length": {
			20 * time.Second,
			"deploying: 15s so far, about 5s left\ndeploying: 30s so far, longer than usual\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, b := streams.Test(false)
				p := s.Meanwhile("deploying", test.about)
				time.Sleep(31 * time.Second)
				p.Done()
				time.Sleep(time.Minute)
				p.Done()
				require.Equal(t, test.want, b.Err.String())
			})
		})
	}
}

// With JSON a long step is reported in JSON.
func TestMeanwhileInJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := streams.Test(false)
		s.SayJSON()
		s.Say("deploying …")
		p := s.Meanwhile("deploying", 0)
		time.Sleep(16 * time.Second)
		p.Done()
		require.Equal(t, `{"progress":"deploying …"}`+"\n"+`{"progress":"deploying: 15s so far"}`+"\n", b.Err.String())
	})
}

// A search says every 15 seconds how far it is, also where nobody sees a bar.
func TestSearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := streams.Test(false)
		p := s.Search("seeds", 20)
		p.Set(5, 0)
		time.Sleep(16 * time.Second)
		p.Set(20, 0)
		time.Sleep(15 * time.Second)
		p.Done()
		require.Equal(t, "seeds: 5 / 20, about 45s left\nseeds: 20 / 20, about 0s left\n", b.Err.String())
	})
}

// Lines that come meanwhile reach standard error, with a bar and without.
func TestLinesBesideAProgress(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s, b := streams.Test(terminal)
			p := s.Meanwhile("starting", time.Minute)
			_, err := p.Write([]byte("a line of a program\n"))
			require.NoError(t, err)
			time.Sleep(20 * time.Second)
			p.Done()
			_, err = p.Write([]byte("a later line\n"))
			require.NoError(t, err)
			require.Contains(t, b.Err.String(), "a line of a program\n")
			require.Contains(t, b.Err.String(), "starting")
			require.Contains(t, b.Err.String(), "15s so far, about 45s left")
			require.Contains(t, b.Err.String(), "a later line\n")
			require.Empty(t, b.Out.String())
		})
	}
}

// On a terminal a bar shows how many items are complete, of how many, and what is left.
func TestProgressSaysWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := streams.Test(true)
		p := s.Progress("trials", 0)
		time.Sleep(2 * time.Second)
		p.Set(3, 0)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Contains(t, b.Err.String(), "3, 2s so far")
		p.Set(4, 16)
		p.Set(2, 16)
		time.Sleep(time.Second)
		p.Done()
		require.Contains(t, b.Err.String(), "4 / 16, about 12s left")
		require.NotContains(t, b.Err.String(), "2 / 16", "it never goes back")
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
