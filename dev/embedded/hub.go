package embedded

import (
	"context"
	"sync"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// hub is called with every stored task: it wakes those who wait for one, and counts the tasks that are
// not at rest, which is what memory is spent on.
type hub struct {
	mu       sync.Mutex
	open     map[string]struct{} // tasks with a due time
	closed   map[string]int64    // versions of the tasks that came to rest last, see committed
	order    [4096]string        // of closed, a ring
	next     int
	watchers map[string]map[chan *core.Task]struct{}
	ended    map[core.State]int64 // since the start
	rested   func(*core.Task)     // called with each task that comes to rest
}

func newHub() *hub {
	return &hub{
		open:     map[string]struct{}{},
		closed:   map[string]int64{},
		watchers: map[string]map[chan *core.Task]struct{}{},
		ended:    map[core.State]int64{},
	}
}

// committed is state.Config.OnCommit. Two commits of one task may come here in the wrong order, by
// two goroutines: an older version neither opens a task that has come to rest since, nor replaces
// a newer one that a reader has not taken yet.
func (h *hub) committed(t *core.Task) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch _, open := h.open[t.OrderID]; {
	case t.Due != 0:
		if h.closed[t.OrderID] < t.Version {
			h.open[t.OrderID] = struct{}{}
		}
	case open || t.Version == 1:
		delete(h.open, t.OrderID)
		h.ended[t.ProcessState]++
		if h.rested != nil {
			h.rested(t)
		}
		fallthrough
	default:
		h.close(t)
	}
	for ch := range h.watchers[t.OrderID] {
		newest := t
		select {
		case waiting := <-ch:
			if waiting.Version > t.Version {
				newest = waiting
			}
		default:
		}
		ch <- newest // there is room: only the holder of the lock sends
	}
}

func (h *hub) close(t *core.Task) {
	if h.closed[t.OrderID] >= t.Version {
		return
	}
	if _, known := h.closed[t.OrderID]; !known {
		delete(h.closed, h.order[h.next])
		h.order[h.next] = t.OrderID
		h.next = (h.next + 1) % len(h.order)
	}
	h.closed[t.OrderID] = t.Version
}

// running is how many tasks are not at rest.
func (h *hub) running() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.open)
}

// counts is what health reports.
func (h *hub) counts() map[string]int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := map[string]int64{"running": int64(len(h.open))}
	for _, s := range []core.State{core.Processed, core.Compensated, core.Cancelled, core.Closed, core.Error} {
		c["ended-"+string(s)] = h.ended[s]
	}
	return c
}

// watch hands over the versions of a task from now on, the newest where the reader is slow.
func (h *hub) watch(id string) (<-chan *core.Task, func()) {
	ch := make(chan *core.Task, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers[id] == nil {
		h.watchers[id] = map[chan *core.Task]struct{}{}
	}
	h.watchers[id][ch] = struct{}{}
	return ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.watchers[id], ch)
		if len(h.watchers[id]) == 0 {
			delete(h.watchers, id)
		}
	}
}

// wait until done says so; load gives the present version once the watch stands.
func (h *hub) wait(ctx context.Context, id string, load func() (*core.Task, error), done func(*core.Task) bool) (*core.Task, error) {
	ch, stop := h.watch(id)
	defer stop()
	t, err := load()
	if err != nil {
		return nil, err
	}
	for !done(t) {
		select {
		case <-ctx.Done():
			return t, ctx.Err()
		case next := <-ch:
			if next.Version > t.Version {
				t = next
			}
		}
	}
	return t, nil
}
