package explore

import (
	"flag"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/simulate"
)

// TestSmallScope goes through everything that can happen in the small worlds with one thing going
// wrong, as far as there is time; `make simulate-report` gives it more.
func TestSmallScope(t *testing.T) {
	most := 10 * time.Second
	if testing.Short() {
		most = time.Second
	}
	all := smallScopes()
	e := explore(append(all[:3], all[30:34]...), 1, runtime.GOMAXPROCS(0), most, nil)
	for i, f := range e.Found {
		if i < 5 {
			t.Errorf("%s: %v", f.Scope, f.Violation)
			for _, l := range f.Path {
				t.Log(l)
			}
		}
	}
	if e.States < 1000 {
		t.Errorf("only %d states", e.States)
	}
	for _, s := range e.Scopes {
		if s.Whole < 0 {
			t.Errorf("%s: not even what happens without faults was covered", s.Name)
		}
	}
	t.Logf("%d states, %d steps, %d runs with up to %d faults, whole %v, %d branches left", e.States, e.Steps,
		e.Runs, e.Faults, e.Whole, e.Left)
}

// TestExplorationFinds checks that the exploration finds services that differ from what their workflow
// declares, with as many faults on a path as it takes.
func TestExplorationFinds(t *testing.T) {
	for _, x := range []struct {
		scope, invariant string
		faults           int
		is               simulate.Service
	}{
		{"fenced: in a row, cancelled", "11", 1, simulate.Service{Grade: core.Idempotent}},
		{"fenced: in a row", "3", 1, simulate.Service{Grade: core.Plain}},
		{"fenced: in a row", "3", 1, simulate.Service{Forgets: 2 * core.Second}},
		{"idempotent: in a row", "3", 1, simulate.Service{Grade: core.Plain}},
	} {
		for _, s := range smallScopes() {
			if s.Name != x.scope {
				continue
			}
			s.Services = simulate.Services{"a-agent": x.is}
			e := explore([]Scope{s}, x.faults, runtime.GOMAXPROCS(0), 5*time.Minute, nil)
			if len(e.Found) == 0 || e.Found[0].Violation.Invariant != x.invariant ||
				len(e.Found[0].Path) == 0 {
				t.Errorf("%s with %+v: %+v", x.scope, x.is, e.Found)
			}
		}
	}
}

// TestTapeOfAnExploration checks that a path is kept and goes the same way again.
func TestTapeOfAnExploration(t *testing.T) {
	s := smallScopes()[:1]
	s[0].Services = simulate.Services{"a-agent": {Grade: core.Plain}}
	e := explore(s, 1, runtime.GOMAXPROCS(0), 5*time.Minute, nil)
	if len(e.Found) == 0 {
		t.Fatal("nothing was found")
	}
	file := filepath.Join(t.TempDir(), "tape.json")
	if err := e.Found[0].write(file); err != nil {
		t.Fatal(err)
	}
	// The world of that name has the right service: the same happens, and breaks nothing.
	story, v, err := replay(file)
	if err != nil || v != nil || len(story) < 10 {
		t.Errorf("%v, %v, %d lines", err, v, len(story))
	}
	if err := (&Found{Scope: "elsewhere"}).write(file); err != nil {
		t.Fatal(err)
	}
	if _, _, err := replay(file); err == nil || !strings.Contains(err.Error(), "no small world") {
		t.Errorf("in a world that is not there: %v", err)
	}
}

// TestReplay plays the tape that -replay names, which an exploration has written.
func TestReplay(t *testing.T) {
	if *replayed == "" {
		t.Skip("name a tape with -args -replay FILE")
	}
	story, v, err := replay(*replayed)
	for _, l := range story {
		t.Log(l)
	}
	if err != nil || v != nil {
		t.Errorf("%v, %v", v, err)
	}
}

var replayed = flag.String("replay", "", "`file` with the path of an exploration, for TestReplay")

// TestExplorationIsTheSame checks that the states depend on the world, and not on the way in which it was
// searched.
func TestExplorationIsTheSame(t *testing.T) {
	s := smallScopes()[:2]
	one := explore(s, 0, 1, time.Minute, nil)
	four := explore(s, 0, 4, time.Minute, nil)
	if one.States != four.States || one.Ends != four.Ends || !one.Whole || !four.Whole || one.States < 100 {
		t.Errorf("%d states and %d ends with one worker, %d and %d with four", one.States, one.Ends,
			four.States, four.Ends)
	}
}
