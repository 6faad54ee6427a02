package embedded

import (
	"context"
	"slices"
	"sync"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// hub is called with every stored task. It wakes the goroutines that wait for a task, and counts the active
// tasks, because they use memory. A task is active if a step is with an agent or is to be repeated, or if a
// status is to be sent. A task that only waits uses no memory here.
type hub struct {
	mu       sync.Mutex
	active   map[string]int64 // versions of active tasks
	passive  map[string]int64 // versions of the last tasks that ceased to be active, see committed
	order    [4096]string     // ring of the keys of passive
	next     int
	watchers map[string][]*watcher
	ended    map[core.State]int64 // numbers of tasks that ended since the start, by state
	rested   func(*core.Task)     // function called with each task that comes to rest
}

func newHub() *hub {
	return &hub{
		active:   map[string]int64{},
		passive:  map[string]int64{},
		watchers: map[string][]*watcher{},
		ended:    map[core.State]int64{},
	}
}

// committed implements state.Config.OnCommit. Two goroutines may report two commits of one task in the wrong
// order. So an older version neither changes whether the task is active, nor replaces a newer version that a
// reader has not taken yet.
func (h *hub) committed(c state.Change) {
	t := c.Task
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.Rested() {
		h.ended[t.ProcessState]++
		if h.rested != nil {
			h.rested(t)
		}
	}
	h.count(t)
	for _, w := range h.watchers[t.OrderID] {
		if w.newest == nil || w.newest.Version < t.Version {
			w.newest = t
			if w.done(t) {
				select {
				case w.wake <- struct{}{}:
				default: // the watcher has not received the earlier signal yet
				}
			}
		}
	}
}

// restarted implements scheduler.Config.Restarted: orders that were active before the start count too.
func (h *hub) restarted(t *core.Task) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count(t)
}

// count counts a version of a task as active or not, unless a newer one was counted.
func (h *hub) count(t *core.Task) {
	switch active := t.Due != 0 && !core.OnlyWaits(t); {
	case active && h.passive[t.OrderID] < t.Version:
		h.active[t.OrderID] = max(h.active[t.OrderID], t.Version)
	case !active && h.active[t.OrderID] < t.Version:
		delete(h.active, t.OrderID)
		h.passivate(t)
	}
}

// passivate records the version of a task that is not active.
func (h *hub) passivate(t *core.Task) {
	if h.passive[t.OrderID] >= t.Version {
		return
	}
	if _, known := h.passive[t.OrderID]; !known {
		delete(h.passive, h.order[h.next])
		h.order[h.next] = t.OrderID
		h.next = (h.next + 1) % len(h.order)
	}
	h.passive[t.OrderID] = t.Version
}

// activeOrders returns the number of active tasks.
func (h *hub) activeOrders() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.active)
}

// counts returns the figures for health.
func (h *hub) counts() map[string]int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := map[string]int64{"running": int64(len(h.active))}
	for _, s := range []core.State{core.Processed, core.Compensated, core.Cancelled, core.Closed,
		core.Error} {
		c["ended-"+string(s)] = h.ended[s]
	}
	return c
}

// watcher waits for a version of a task that done accepts. Other versions do not wake it, because each would
// cost a switch of goroutines.
type watcher struct {
	done   func(*core.Task) bool
	newest *core.Task // newest version stored since the watch began; nil if there is none
	wake   chan struct{}
}

// watch adds a watcher. The second result removes it.
func (h *hub) watch(id string, done func(*core.Task) bool) (*watcher, func()) {
	w := &watcher{done: done, wake: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watchers[id] = append(h.watchers[id], w)
	return w, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		others := slices.DeleteFunc(h.watchers[id], func(other *watcher) bool { return other == w })
		if h.watchers[id] = others; len(others) == 0 {
			delete(h.watchers, id)
		}
	}
}

// wait blocks until done accepts a version of the task. load returns the present version. At the end of the
// context it returns the newest version.
func (h *hub) wait(ctx context.Context, id string, load func() (*core.Task, error),
	done func(*core.Task) bool) (*core.Task, error) {
	w, stop := h.watch(id, done) // before the load, so that no version in between is missed
	defer stop()
	t, err := load()
	if err != nil {
		return nil, err
	}
	for !done(t) {
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-w.wake:
		}
		h.mu.Lock()
		if w.newest != nil && w.newest.Version > t.Version {
			t = w.newest
		}
		h.mu.Unlock()
		if err != nil {
			return t, err
		}
	}
	return t, nil
}
