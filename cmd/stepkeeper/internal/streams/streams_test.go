package streams_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/streams"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

func TestColoursOnlyOnATerminal(t *testing.T) {
	states := []core.State{core.Pending, core.Processing, core.Processed, core.Error, core.Compensating,
		core.Failed}
	for _, terminal := range []bool{false, true} {
		s, _ := streams.Test(terminal)
		for _, state := range states {
			if got := s.Style().State(state, "text"); strings.Contains(got, "\x1b[") != terminal {
				t.Errorf("terminal %v, state %s: %q", terminal, state, got)
			}
		}
		s.NoColour()
		if got := s.Style().Bad("text"); got != "text" {
			t.Errorf("without colours: %q", got)
		}
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
		if want := "deploying: 15s so far\ndeploying: 30s so far\n"; b.Err.String() != want {
			t.Errorf("%q, want %q", b.Err.String(), want)
		}
	})
}

func TestConfirm(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "YES\n": true, "yes": true, "n\n": false,
		"\n": false, "": false, "maybe\n": false} {
		s, b := streams.Test(true)
		b.In.WriteString(answer)
		if got, err := s.Confirm("Undo it?"); err != nil || got != want {
			t.Errorf("answer %q: %v, %v; want %v", answer, got, err, want)
		}
		if !strings.Contains(b.Err.String(), "Undo it? [y/N]") || b.Out.Len() > 0 {
			t.Errorf("the question belongs on standard error: %q, out %q", b.Err.String(), b.Out.String())
		}
	}
}

func TestProgressIsSilentWithoutTerminal(t *testing.T) {
	s, b := streams.Test(false)
	p := s.Progress("submitting", 10)
	p.Add(10)
	p.Done()
	p.Done()
	if b.Err.Len()+b.Out.Len() > 0 {
		t.Errorf("wrote %q %q", b.Out.String(), b.Err.String())
	}
	s, b = streams.Test(true)
	p = s.Progress("submitting", 10)
	p.Add(4)
	p.Done()
	p.Done()
	if b.Out.Len() > 0 {
		t.Errorf("a bar belongs on standard error: %q", b.Out.String())
	}
}
