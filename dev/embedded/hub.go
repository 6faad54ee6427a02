package embedded

import (
	"context"
	"slices"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// hub receives every committed task. It wakes the goroutines that wait for a task. It also counts the active
// tasks, because active tasks use memory. A task with a due time is active, unless it only waits for a time,
// an answer or a child.
type hub struct {
	mu       sync.Mutex
	active   map[string]int64              // versions of active tasks, by order ID
	passive  *simplelru.LRU[string, int64] // versions of the last tasks that became inactive, by order ID
	watchers map[string][]*watcher
	ended    map[core.State]int64 // number of tasks that came to rest since the start, by state
	rested   func(*protocol.Task) // called with each task that comes to rest; nil means no call
}

func newHub() *hub {
	passive, _ := simplelru.NewLRU[string, int64](4096, nil) // cannot fail, because the size is at least 1
	return &hub{
		active:   map[string]int64{},
		passive:  passive,
		watchers: map[string][]*watcher{},
		ended:    map[core.State]int64{},
	}
}

// committed implements state.Config.OnCommit. Two goroutines may report two commits of one task in the wrong
// order. Therefore an older version changes neither the set of active tasks nor the newest version of a
// watcher.
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
				w.signal()
			}
		}
	}
	for _, w := range h.watchers[allOrders] {
		w.signal()
	}
}

// allOrders is the key of the watchers of all orders. No order has this ID.
const allOrders = ""

// restarted implements scheduler.Config.Restarted. It counts an order that was active before the start.
func (h *hub) restarted(t *protocol.Task) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count(t)
}

// count records whether the newest version of a task is active.
func (h *hub) count(t *protocol.Task) {
	passive, _ := h.passive.Peek(t.OrderID)
	if t.Version <= max(passive, h.active[t.OrderID]) {
		return
	}
	if t.Due != 0 && !protocol.OnlyWaits(t) {
		h.active[t.OrderID] = t.Version
		return
	}
	delete(h.active, t.OrderID)
	h.passive.Add(t.OrderID, t.Version)
}

func (h *hub) activeOrders() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.active)
}

func (h *hub) counts() map[string]int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := map[string]int64{"running": int64(len(h.active))}
	for _, s := range []core.State{
		core.Processed, core.Compensated, core.Cancelled, core.Closed,
		core.Error,
	} {
		c["ended-"+string(s)] = h.ended[s]
	}
	return c
}

// watcher waits for a version of a task for which done returns true. Other versions do not wake its
// goroutine, because each switch of goroutines takes time.
type watcher struct {
	done   func(*protocol.Task) bool
	newest *protocol.Task // newest version committed since the watch began; nil means none
	wake   chan struct{}
}

func (w *watcher) signal() {
	select {
	case w.wake <- struct{}{}:
	default: // the watcher has not received the previous signal yet
	}
}

// watch adds a watcher. The returned function removes the watcher.
func (h *hub) watch(id string, done func(*protocol.Task) bool) (*watcher, func()) {
	w := &watcher{done: done, wake: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watchers[id] = append(h.watchers[id], w)
	return w, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		others := slices.DeleteFunc(h.watchers[id], func(other *watcher) bool { return other == w })
		h.watchers[id] = others
		if len(others) == 0 {
			delete(h.watchers, id)
		}
	}
}

// wait blocks until done returns true for a version of the task. load returns the present version. If ctx
// ends, wait returns the newest version and the error of ctx.
func (h *hub) wait(ctx context.Context, id string, load func() (*protocol.Task, error),
	done func(*protocol.Task) bool,
) (*protocol.Task, error) {
	w, stop := h.watch(id, done) // The watch begins before load, so that it misses no later version.
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
