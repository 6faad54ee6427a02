package memory

import (
	"context"
	"sync"
	"time"
)

// Leases implements port.Leases in memory. It is safe for concurrent use.
type Leases struct {
	mu   sync.Mutex
	held map[string]lease
}

type lease struct {
	owner string
	until time.Time
}

// NewLeases returns leases without holders.
func NewLeases() *Leases { return &Leases{held: map[string]lease{}} }

// Acquire takes a lease that is free, expired at now, or the owner's own.
func (l *Leases) Acquire(ctx context.Context, name, owner string, now time.Time,
	ttl time.Duration) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if h, there := l.held[name]; there && h.owner != owner && now.Before(h.until) {
		return false, nil
	}
	l.held[name] = lease{owner, now.Add(ttl)}
	return true, nil
}
