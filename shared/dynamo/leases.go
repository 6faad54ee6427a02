package dynamo

import (
	"context"
	"fmt"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Acquire takes the lease if it is free, has expired, or already belongs to the owner. It reports whether the
// owner has the lease. Each Supervisor passes the time of its own clock as now. An inaccurate clock does no
// harm, because the lease only saves the cost of a second sweep.
func (s *Store) Acquire(ctx context.Context, name, owner string, now time.Time,
	ttl time.Duration,
) (bool, error) {
	there, _, err := s.put(ctx, s.tables.Orders,
		attrs{OrderKey: str(LeasePrefix + name), "Owner": str(owner), "Until": num(now.Add(ttl).UnixMilli())},
		"attribute_not_exists(#id) OR #owner = :owner OR #until <= :now OR #until > :latest",
		map[string]string{"#id": OrderKey, "#owner": "Owner", "#until": "Until"},
		attrs{
			":owner": str(owner), ":now": num(now.UnixMilli()),
			":latest": num(now.Add(ttl + port.MaxLeaseSkew).UnixMilli()),
		})
	if err != nil {
		return false, fmt.Errorf("lease %q: %w", name, err)
	}
	return there == nil, nil
}

// LeaseUntil returns the time at which the lease ends, or the zero time if the lease was never taken.
func (s *Store) LeaseUntil(ctx context.Context, name string) (time.Time, error) {
	item, err := get(ctx, s.client, s.tables.Orders, OrderKey, LeasePrefix+name, false)
	if err != nil || item["Until"] == nil {
		return time.Time{}, err
	}
	return time.UnixMilli(numberOf(item["Until"])), nil
}
