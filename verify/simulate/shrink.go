package simulate

import (
	"slices"
	"strings"
)

// Shrink looks for a shorter run that breaks the same invariant: fewer faults, orders and delays.
// It tries at most `tries` runs, fewer when stop says so (nil: never), and answers the choices and
// the last result.
func Shrink(sc Scenario, choices []Choice, tries int, stop func() bool) ([]Choice, Result) {
	s := &shrinking{sc: sc, left: tries, stop: stop}
	best := s.run(choices)
	if best.Violation == nil {
		return choices, best
	}
	s.want = best.Violation.Invariant
	s.best, s.result = choices, best
	s.first()
	for again := true; again && s.left > 0; {
		again = s.drop() || s.lower()
	}
	return s.best, s.result
}

type shrinking struct {
	sc     Scenario
	want   string
	left   int
	stop   func() bool
	best   []Choice
	result Result
}

func (s *shrinking) run(choices []Choice) Result {
	s.left--
	return Run(s.sc, NewPlayer(choices), Options{})
}

// try keeps the choices if the same invariant still breaks. Of what the run has chosen only that
// stays which it came to.
func (s *shrinking) try(choices []Choice) bool {
	if s.stop != nil && s.stop() {
		s.left = 0
	}
	if s.left <= 0 {
		return false
	}
	r := s.run(choices)
	if r.Violation == nil || r.Violation.Invariant != s.want {
		return false
	}
	s.best, s.result = r.Choices, r
	return true
}

// first renames another order to the first, so that no other is needed.
func (s *shrinking) first() {
	for _, other := range []string{"o2", "o3", "o4"} {
		var next []Choice
		for _, c := range s.best {
			if !strings.HasPrefix(c.Of, "o1") {
				if strings.HasPrefix(c.Of, other) {
					c.Of = "o1" + c.Of[len(other):]
				}
				next = append(next, c)
			}
		}
		if s.try(next) {
			return
		}
	}
}

// drop leaves out runs of choices, long ones first.
func (s *shrinking) drop() (shorter bool) {
	for size := max(1, len(s.best)/2); size > 0; size /= 2 {
		for from := 0; from < len(s.best) && s.left > 0; {
			to := min(from+size, len(s.best))
			before := len(s.best)
			if s.try(slices.Concat(s.best[:from], s.best[to:])) && len(s.best) < before {
				shorter = true
				continue
			}
			from += size
		}
	}
	return shorter
}

// lower makes the numbers of choices smaller; a fault keeps its name.
func (s *shrinking) lower() (lower bool) {
	for i := 0; i < len(s.best) && s.left > 0; i++ {
		if s.best[i].What != "" {
			continue
		}
		for v := 1; i < len(s.best) && v < s.best[i].Value && s.left > 0; v++ {
			next := slices.Clone(s.best)
			next[i].Value = v
			if s.try(next) {
				lower = true
				break
			}
		}
	}
	return lower
}
