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

// cache keeps the heads of running tasks, so that a commit need not read them. Only the committer uses it,
// and fills it once the disk has them.
type cache struct{ heads *simplelru.LRU[string, *head] }

// newCache makes a cache of that many heads; below 1 it keeps none.
func newCache(heads int) cache {
	lru, _ := simplelru.NewLRU[string, *head](heads, nil) // nil with an error
	return cache{lru}
}

// put keeps the head, or drops that of a task that is at rest or expired.
func (c cache) put(id string, h *head) {
	switch {
	case c.heads == nil:
	case h == nil || h.bucket == port.NoBucket:
		c.heads.Remove(id)
	default:
		c.heads.Add(id, h)
	}
}

// get returns nil for a task that is not kept.
func (c cache) get(id string) *head {
	if c.heads == nil {
		return nil
	}
	h, _ := c.heads.Get(id)
	return h
}

// clear forgets all tasks.
func (c cache) clear() {
	if c.heads != nil {
		c.heads.Purge()
	}
}
