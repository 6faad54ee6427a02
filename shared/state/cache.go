package state

import (
	"cmp"
	"hash/maphash"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

const (
	defaultCacheBytes = 64 << 20
	stripes           = 1 << 16 // many more than tasks that are committed at once
)

// cache keeps decoded tasks with the orders that are kept apart. An entry is the newest version or
// none: a load that overlapped with a commit, and a commit that overlapped with another one, leave
// nothing behind. Generations show that: each commit raises the one of its task when it begins and when
// it ends, and a value is cached only if its generation is unchanged.
type cache struct {
	seed maphash.Seed

	mu       sync.Mutex
	entries  *simplelru.LRU[string, *entry]
	gens     [stripes]uint32 // shared by tasks of one hash: at worst an entry is lost
	bytes    int
	maxBytes int
}

type entry struct {
	task  *core.Task
	order []byte // order that is kept apart
	size  int
}

func newCache(tasks, maxBytes int) *cache {
	maxBytes = cmp.Or(maxBytes, defaultCacheBytes)
	c := &cache{seed: maphash.MakeSeed(), maxBytes: maxBytes}
	// The error is for a size below 1 only, which New excludes.
	c.entries, _ = simplelru.NewLRU(tasks, func(_ string, e *entry) { c.bytes -= e.size })
	return c
}

func (c *cache) stripe(id string) *uint32 { return &c.gens[maphash.String(c.seed, id)%stripes] }

func (c *cache) task(id string) *core.Task {
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

// setOrder adds the order to the task's entry; an order never changes.
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

// loaded keeps what the store answered, if no commit began or ended since the load began.
func (c *cache) loaded(t *core.Task, gen uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if *c.stripe(t.OrderID) == gen && !t.Terminal() {
		c.set(t, nil)
	}
}

// begin announces a commit.
func (c *cache) begin(id string) uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.stripe(id)
	*g++
	return *g
}

// committed ends a commit. A doubtful answer drops the entry, and so does a task that has ended:
// it is seldom loaded again.
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

// set puts a task, never in place of a newer version, and keeps the order that was there.
func (c *cache) set(t *core.Task, order []byte) {
	if e, ok := c.entries.Peek(t.OrderID); ok {
		if e.task.Version > t.Version {
			return
		}
		if order == nil {
			order = e.order
		}
		c.entries.Remove(t.OrderID) // its bytes are counted out
	}
	e := &entry{task: t, order: order, size: len(order) + weight(t)}
	c.bytes += e.size
	c.entries.Add(t.OrderID, e)
	for c.bytes > c.maxBytes && c.entries.Len() > 0 {
		c.entries.RemoveOldest()
	}
}

// weight estimates the memory of a task, in bytes.
func weight(t *core.Task) int {
	n := 1024 + len(t.Output) + len(t.Order)
	for i := range t.Steps {
		n += 512 + len(t.Steps[i].Output)
	}
	return n
}
