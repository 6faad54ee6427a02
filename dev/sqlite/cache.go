package sqlite

import (
	"bytes"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// cache keeps the newest records of running tasks. Only the committer fills it, after the disk
// has them and before a caller is answered, so what it holds is never older than what was answered.
type cache struct {
	mu      sync.Mutex
	budget  int
	used    int
	entries *simplelru.LRU[string, *head]
}

// head is a task as the committer knows it: its row, and the record without its document, or
// with it in the cache.
type head struct {
	row    int64
	record port.Record
}

// overhead is about what an entry costs besides its document, in bytes.
const overhead = 512

func newCache(budget int) *cache {
	if budget <= 0 {
		return &cache{}
	}
	c := &cache{budget: budget}
	c.entries, _ = simplelru.NewLRU(budget/overhead+1, func(_ string, h *head) { c.used -= overhead + len(h.record.Document) })
	return c
}

// put keeps the task, or drops it where it is at rest.
func (c *cache) put(h *head) {
	if c.entries == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries.Remove(h.record.ID)
	if h.record.Bucket == port.NoBucket {
		return
	}
	c.used += overhead + len(h.record.Document)
	c.entries.Add(h.record.ID, h)
	for c.used > c.budget {
		c.entries.RemoveOldest()
	}
}

// clear forgets all tasks.
func (c *cache) clear() {
	if c.entries == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries.Purge()
}

func (c *cache) get(id string) *head {
	if c.entries == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	h, _ := c.entries.Get(id)
	return h
}

func (c *cache) drop(id string) {
	if c.entries != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.entries.Remove(id)
	}
}

// copy is the record with a document of the caller's own.
func (h *head) copy() *port.Record {
	r := h.record
	r.Document = bytes.Clone(r.Document)
	return &r
}
