package aws

import (
	"sync"
	"time"
)

// remembered is how many queued orders a client remembers; older ones are then unknown until their
// tasks are there.
const remembered = 200_000

// queued remembers what this client has sent to the intake queue and when, so that a task that is
// not there yet, or is another order's, can be told from one that never was.
type queued struct {
	mu     sync.Mutex
	orders map[string]sent
	oldest []string
}

type sent struct {
	hash string // of the content
	at   time.Time
}

func newQueued() *queued { return &queued{orders: map[string]sent{}} }

func (q *queued) add(id string, s sent) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, there := q.orders[id]; !there {
		q.oldest = append(q.oldest, id)
	}
	q.orders[id] = s
	if len(q.oldest) > remembered {
		delete(q.orders, q.oldest[0])
		q.oldest = q.oldest[1:]
	}
}

func (q *queued) find(id string) (sent, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s, ok := q.orders[id]
	return s, ok
}
