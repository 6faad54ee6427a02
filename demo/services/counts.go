package services

import "sync"

// Counts holds the counts of one service, for the report.
type Counts struct {
	Calls   int `json:"calls"`   // POST requests, including those with a fault
	Repeats int `json:"repeats"` // calls after the first with the same operation and key
	Checks  int `json:"checks"`  // GET requests
	Refused int `json:"refused"` // calls with the response 409 or 422
	Slow    int `json:"slow"`
	Before  int `json:"errors_before_effect"`
	After   int `json:"errors_after_effect"`
	TooMany int `json:"too_many_requests"`
	Hang    int `json:"hangs"`
	Cut     int `json:"answers_lost"`
	Late    int `json:"late_effects"`
	Outage  int `json:"during_outage"`
}

// tally counts calls, and calls per key.
type tally struct {
	mu     sync.Mutex
	counts Counts
	calls  map[string]int
}

// next counts one more event of the given name and returns the new count.
func (t *tally) next(name string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls[name]++
	return t.calls[name]
}

// call numbers a call for its operation and key, and counts it.
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
	return t.counts
}

func (t *tally) fault(f fault) {
	t.add(func(c *Counts) {
		if f.slow {
			c.Slow++
		}
		switch f.kind {
		case before:
			c.Before++
		case after:
			c.After++
		case tooMany:
			c.TooMany++
		case hang:
			c.Hang++
		case cut:
			c.Cut++
		case late:
			c.Late++
		}
	})
}
