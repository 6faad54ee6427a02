package simulate

// event is something that happens at a time. Those of one time happen in the order of their making.
type event struct {
	at  int64 // milliseconds of the simulation
	seq int64
	iv  *invocation // goes on
	do  func()      // or this happens
}

// heap is a binary heap of events, earliest first.
type heap struct {
	events []event
	seq    int64
}

func (h *heap) less(i, j int) bool {
	a, b := &h.events[i], &h.events[j]
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}

func (h *heap) push(e event) {
	h.seq++
	e.seq = h.seq
	h.events = append(h.events, e)
	for i := len(h.events) - 1; i > 0; {
		p := (i - 1) / 2
		if !h.less(i, p) {
			break
		}
		h.events[i], h.events[p] = h.events[p], h.events[i]
		i = p
	}
}

func (h *heap) pop() event {
	e := h.events[0]
	n := len(h.events) - 1
	h.events[0] = h.events[n]
	h.events[n] = event{}
	h.events = h.events[:n]
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
		h.events[i], h.events[c] = h.events[c], h.events[i]
		i = c
	}
	return e
}

// none reports that nothing happens at or before the time.
func (h *heap) none(until int64) bool { return len(h.events) == 0 || h.events[0].at > until }
