package memory

import (
	"context"
	"sync"
	"time"
)

// Leases implements port.Leases in memory. It is safe for concurrent use.
type Leases struct {
	mu   sync.Mutex
	held map[string]Lease
}

// Lease is the holder of a lease and its end. The zero value means that it is free.
type Lease struct {
	Owner string
	Until time.Time
}

// Acquire takes the lease if it is free, expired at now, or the owner's own.
func (l *Lease) Acquire(owner string, now time.Time, ttl time.Duration) bool {
	if l.Owner != "" && l.Owner != owner && now.Before(l.Until) {
		return false
	}
	*l = Lease{owner, now.Add(ttl)}
	return true
}

// NewLeases returns leases without holders.
func NewLeases() *Leases { return &Leases{held: map[string]Lease{}} }

// Acquire implements port.Leases.
func (l *Leases) Acquire(ctx context.Context, name, owner string, now time.Time,
	ttl time.Duration) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	lease := l.held[name]
	ours := lease.Acquire(owner, now, ttl)
	l.held[name] = lease
	return ours, nil
}
