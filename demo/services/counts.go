package services

import "maps"

// Counts holds the numbers of requests and faults of one service.
type Counts struct {
	Calls   int           `json:"calls"`   // POST requests, including requests with a fault
	Repeats int           `json:"repeats"` // calls with the operation and key of an earlier call
	Checks  int           `json:"checks"`  // GET requests
	Refused int           `json:"refused"` // calls that were refused with 409 or 422
	Outage  int           `json:"duringOutage"`
	Faults  map[Fault]int `json:"faults"`
}

// count changes the counts.
func (s *server) count(f func(c *Counts)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.counts)
}

// next counts a request of a kind for a key. It returns the number of these requests so far.
func (s *server) next(kind, key string) (n int) {
	s.count(func(*Counts) {
		s.requests[kind+" "+key]++
		n = s.requests[kind+" "+key]
	})
	return n
}

// Counts returns the present counts of a service.
func (f *Fleet) Counts(name string) (counts Counts) {
	f.servers[name].count(func(c *Counts) {
		counts = *c
		counts.Faults = maps.Clone(c.Faults)
	})
	return counts
}
