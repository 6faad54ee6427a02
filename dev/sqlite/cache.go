package sqlite

import (
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// head is what the committer needs of a stored task to replace it.
type head struct {
	row, version int64
	state        string
	bucket       port.Bucket
	indexAt      int64 // milliseconds; meaningless at rest
}

// cache keeps the heads of running tasks, so that a commit need not read them.
type cache struct{ *simplelru.LRU[string, *head] }

// newCache makes a cache of that many heads; below 1 it keeps none.
func newCache(heads int) cache {
	lru, _ := simplelru.NewLRU[string, *head](max(heads, 1), nil) // it fails only below 1
	if heads < 1 {
		lru.Resize(0)
	}
	return cache{lru}
}

// put keeps the head, or drops that of a task that is at rest or expired.
func (c cache) put(id string, h *head) {
	if h == nil || h.bucket == port.NoBucket {
		c.Remove(id)
	} else {
		c.Add(id, h)
	}
}

// get returns nil for a task that is not kept.
func (c cache) get(id string) *head {
	h, _ := c.Get(id)
	return h
}
