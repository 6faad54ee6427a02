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
	held map[string]Lease
}

// Lease is one lease: its owner, and the time when it expires. The zero value is a free lease.
type Lease struct {
	Owner string
	Until time.Time
}

// Acquire gives the lease to owner if the lease is free, has expired, or already belongs to owner.
func (l *Lease) Acquire(owner string, now time.Time, ttl time.Duration) bool {
	if l.Owner != "" && l.Owner != owner && now.Before(l.Until) &&
		!l.Until.After(now.Add(ttl+port.MaxLeaseSkew)) {
		return false
	}
	*l = Lease{owner, now.Add(ttl)}
	return true
}

// NewLeases returns a Leases in which every lease is free.
func NewLeases() *Leases { return &Leases{held: map[string]Lease{}} }

// Acquire implements port.Leases.
func (l *Leases) Acquire(ctx context.Context, name, owner string, now time.Time,
	ttl time.Duration,
) (bool, error) {
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
