package state

import (
	"cmp"
	"hash/maphash"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

const (
	defaultCacheBytes = 64 << 20
	stripes           = 1 << 16 // far more than the tasks in concurrent commits
)

// cache holds decoded tasks, and orders that are stored in an item or row of their own. It never holds an
// older version than this process has committed:
//   - If a load of a task overlaps with a commit, the loaded task is not cached.
//   - If two commits of a task overlap, each commit removes the entry at its end.
//
// Each commit raises the generation of its task at the beginning and at the end. An overlap is visible as a
// changed generation.
type cache struct {
	seed maphash.Seed

	mu       sync.Mutex
	entries  *simplelru.LRU[string, *entry]
	gens     [stripes]uint32 // generation of each stripe; several tasks can share a stripe
	bytes    int
	maxBytes int
}

type entry struct {
	task  *protocol.Task
	order []byte // order, if it has an item or row of its own
	size  int
}

func newCache(tasks, maxBytes int) *cache {
	maxBytes = cmp.Or(maxBytes, defaultCacheBytes)
	c := &cache{seed: maphash.MakeSeed(), maxBytes: maxBytes}
	// NewLRU fails only for a size below 1, which New excludes.
	c.entries, _ = simplelru.NewLRU(tasks, func(_ string, e *entry) { c.bytes -= e.size })
	return c
}

func (c *cache) stripe(id string) *uint32 { return &c.gens[maphash.String(c.seed, id)%stripes] }

func (c *cache) task(id string) *protocol.Task {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries.Get(id); ok {
		return e.task
	}
	return nil
}

func (c *cache) order(id string) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries.Get(id); ok {
		return e.order
	}
	return nil
}

// setOrder adds the order to the task's entry. An order never changes.
func (c *cache) setOrder(id string, order []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries.Get(id); ok {
		c.set(e.task, order)
	}
}

func (c *cache) generation(id string) uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return *c.stripe(id)
}

// loaded caches a task that has not ended, if no commit of the task began or ended during the load.
func (c *cache) loaded(t *protocol.Task, gen uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if *c.stripe(t.OrderID) == gen && !t.Terminal() {
		c.set(t, nil)
	}
}

// begin raises the generation of a task at the beginning of a commit. It returns the new generation.
func (c *cache) begin(id string) uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.stripe(id)
	*g++
	return *g
}

// committed ends a commit and caches its task. It removes the task instead in these cases:
//   - the commit failed, or another commit overlapped with it
//   - the task has ended and is at rest, because such a task is seldom loaded again
func (c *cache) committed(change Change, gen uint32, stored bool) {
	t := change.Task
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.stripe(t.OrderID)
	alone := *g == gen
	*g++
	if !stored || !alone || t.Terminal() && t.End.ResendAt == 0 {
		c.entries.Remove(t.OrderID)
		return
	}
	var order []byte
	if t.Apart() {
		order = change.Order
	}
	c.set(t, order)
}

func (c *cache) drop(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries.Remove(id)
}

// set caches a task and its order. A nil order means the order in the cache. set never replaces a newer
// version of the task.
func (c *cache) set(t *protocol.Task, order []byte) {
	e, known := c.entries.Get(t.OrderID)
	if !known {
		e = &entry{}
		c.entries.Add(t.OrderID, e)
	} else if e.task.Version > t.Version {
		return
	}
	if order != nil {
		e.order = order
	}
	e.task = t
	c.bytes -= e.size
	e.size = len(e.order) + weight(t)
	c.bytes += e.size
	for c.bytes > c.maxBytes && c.entries.Len() > 0 {
		c.entries.RemoveOldest()
	}
}

func weight(t *protocol.Task) int {
	n := 1024 + len(t.Output) + len(t.Order)
	for i := range t.Steps {
		n += 512 + len(t.Steps[i].Output)
	}
	return n
}
