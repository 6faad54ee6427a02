package sqlite

import (
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// head contains the columns of a stored task that the committer needs to replace the task.
type head struct {
	row, version int64
	state        string
	bucket       port.Bucket
	indexAt      int64 // milliseconds since the epoch; not meaningful for a task at rest
}

// cache contains the heads of running tasks, so that a commit does not read them from the database.
type cache struct{ *simplelru.LRU[string, *head] }

// newCache returns a cache for the given number of heads. If the number is below 1, the cache stays empty.
func newCache(heads int) cache {
	// cannot fail, because the size is at least 1
	lru, _ := simplelru.NewLRU[string, *head](max(heads, 1), nil)
	if heads < 1 {
		lru.Resize(0)
	}
	return cache{lru}
}

// put stores the head of a running task. It removes the head of a task that is at rest or expired.
func (c cache) put(id string, h *head) {
	if h == nil || h.bucket == port.NoBucket {
		c.Remove(id)
	} else {
		c.Add(id, h)
	}
}

func (c cache) get(id string) *head {
	h, _ := c.Get(id)
	return h
}
