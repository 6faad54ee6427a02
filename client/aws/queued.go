package aws

import (
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// remembered is how many queued orders a client remembers; older ones are then unknown until their
// tasks are there.
const remembered = 200_000

// queued is what this client has sent to the intake queue and when, by the orders' IDs, so that a task that
// is not there yet, or is another order's, can be distinguished from one that never was.
type queued = *lru.Cache[string, sent]

type sent struct {
	hash string // hash of the content
	at   time.Time
}

func newQueued() queued {
	q, err := lru.New[string, sent](remembered)
	if err != nil {
		panic(err) // lru.New fails only if the size is below 1
	}
	return q
}
