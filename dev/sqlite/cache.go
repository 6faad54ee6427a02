package sqlite

import (
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// head holds the data of a stored task that the committer needs to replace it.
type head struct {
	row, version int64
	state        string
	bucket       port.Bucket
	indexAt      int64 // milliseconds; meaningless at rest
}

// cache holds the heads of running tasks, so that a commit need not read them.
type cache struct{ *simplelru.LRU[string, *head] }

// newCache returns a cache of that many heads. Below 1 it holds none.
func newCache(heads int) cache {
	lru, _ := simplelru.NewLRU[string, *head](max(heads, 1), nil) // it fails only for a size below 1
	if heads < 1 {
		lru.Resize(0)
	}
	return cache{lru}
}

// put stores the head of a running task, and removes the head of a task that is at rest or expired.
func (c cache) put(id string, h *head) {
	if h == nil || h.bucket == port.NoBucket {
		c.Remove(id)
	} else {
		c.Add(id, h)
	}
}

// get returns the head of a task, or nil if it is not cached.
func (c cache) get(id string) *head {
	h, _ := c.Get(id)
	return h
}
