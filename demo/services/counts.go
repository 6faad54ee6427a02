package services

import "sync"

// Counts holds the numbers of requests and faults of one service.
type Counts struct {
	Calls   int `json:"calls"`   // POST requests, including requests with a fault
	Repeats int `json:"repeats"` // calls with the operation and key of an earlier call
	Checks  int `json:"checks"`  // GET requests
	Refused int `json:"refused"` // calls that were refused with 409 or 422
	Slow    int `json:"slow"`
	Before  int `json:"errorsBeforeEffect"`
	After   int `json:"errorsAfterEffect"`
	TooMany int `json:"tooManyRequests"`
	Hang    int `json:"hangs"`
	Cut     int `json:"answersLost"`
	Late    int `json:"lateEffects"`
	Outage  int `json:"duringOutage"`
}

// tally counts calls, in total and for each operation and key.
type tally struct {
	mu     sync.Mutex
	counts Counts
	calls  map[string]int
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
