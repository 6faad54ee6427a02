package memory

import (
	"context"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Leases implements port.Leases in memory. A Leases is safe for concurrent use.
type Leases struct {
	mu   sync.Mutex
	held map[string]lease
}

type lease struct {
	owner string
	until time.Time
}

// NewLeases returns a Leases in which every lease is free.
func NewLeases() *Leases { return &Leases{held: map[string]lease{}} }

// Acquire gives the lease to owner if the lease is free, has expired, or already belongs to owner.
func (l *Leases) Acquire(ctx context.Context, name, owner string, now time.Time,
	ttl time.Duration,
) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if held, there := l.held[name]; there && held.owner != owner && now.Before(held.until) &&
		!held.until.After(now.Add(ttl+port.MaxLeaseSkew)) {
		return false, nil
	}
	l.held[name] = lease{owner, now.Add(ttl)}
	return true, nil
}
