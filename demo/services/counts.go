package services

import (
	"maps"
	"sync"
)

// Counts holds the numbers of requests and faults of one service.
type Counts struct {
	Calls   int           `json:"calls"`   // POST requests, including requests with a fault
	Repeats int           `json:"repeats"` // calls with the operation and key of an earlier call
	Checks  int           `json:"checks"`  // GET requests
	Refused int           `json:"refused"` // calls that were refused with 409 or 422
	Outage  int           `json:"duringOutage"`
	Faults  map[Fault]int `json:"faults"`
}

// tally counts calls, in total and for each operation and key.
type tally struct {
	mu     sync.Mutex
	counts Counts
	calls  map[string]int
}

func newTally() *tally {
	return &tally{counts: Counts{Faults: map[Fault]int{}}, calls: map[string]int{}}
}

func (t *tally) next(name string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls[name]++
	return t.calls[name]
}

// call counts a call. It returns the number of calls with this operation and key, including this call.
func (t *tally) call(operation, key string) int {
	n := t.next(operation + " " + key)
	t.add(func(c *Counts) {
		c.Calls++
		if n > 1 {
			c.Repeats++
		}
	})
	return n
}

func (t *tally) add(f func(c *Counts)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(&t.counts)
}

func (t *tally) snapshot() Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	counts := t.counts
	counts.Faults = maps.Clone(counts.Faults)
	return counts
}

func (t *tally) fault(d drawn) {
	t.add(func(c *Counts) {
		if d.slow {
			c.Faults[Slow]++
		}
		if d.fault != "" {
			c.Faults[d.fault]++
		}
	})
}
