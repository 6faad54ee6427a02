package explore

import (
	"time"
)

// patience is by how much longer than on a machine of its own a search may take.
const patience = 2

// stopwatch measures how long a search has worked, so that a machine that does something else meanwhile
// lets it come as far: the processor time of this process over its workers or, where that is more,
// the time that has passed, over patience. Where the former is not known it is the time itself.
type stopwatch struct {
	workers int
	began   time.Time
	used    time.Duration
}

func newStopwatch(workers int) *stopwatch {
	return &stopwatch{workers: max(1, workers), began: time.Now(), used: cpuTime()}
}

func (s *stopwatch) passed() time.Duration {
	used := cpuTime()
	if used == 0 {
		return time.Since(s.began)
	}
	return max((used-s.used)/time.Duration(s.workers), time.Since(s.began)/patience)
}
