package world

// Event is something that happens at a time. Those of one time happen in the order of their making.
type Event struct {
	At  int64 // milliseconds of the simulation
	seq int64
	Iv  *Invocation // goes on
	Do  func()      // or this happens
}

// Heap is a binary heap of events, earliest first.
type Heap struct {
	Events []Event
	seq    int64
}

func (h *Heap) less(i, j int) bool {
	a, b := &h.Events[i], &h.Events[j]
	return a.At < b.At || a.At == b.At && a.seq < b.seq
}

// Push adds an event.
func (h *Heap) Push(e Event) {
	h.seq++
	e.seq = h.seq
	h.Events = append(h.Events, e)
	for i := len(h.Events) - 1; i > 0; {
		p := (i - 1) / 2
		if !h.less(i, p) {
			break
		}
		h.Events[i], h.Events[p] = h.Events[p], h.Events[i]
		i = p
	}
}

// Pop removes and returns the earliest event.
func (h *Heap) Pop() Event {
	e := h.Events[0]
	n := len(h.Events) - 1
	h.Events[0] = h.Events[n]
	h.Events[n] = Event{}
	h.Events = h.Events[:n]
	for i := 0; ; {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && h.less(c+1, c) {
			c++
		}
		if !h.less(c, i) {
			break
		}
		h.Events[i], h.Events[c] = h.Events[c], h.Events[i]
		i = c
	}
	return e
}

// None reports that nothing happens at or before the time.
func (h *Heap) None(until int64) bool { return len(h.Events) == 0 || h.Events[0].At > until }
