package dynamo

import (
	"context"
	"fmt"
	"time"
)

// Acquire takes a lease that is free, expired at now, or the owner's own. Its item is in Orders. The times
// come from the Supervisors' clocks, because only cost depends on them.
func (s *Store) Acquire(ctx context.Context, name, owner string, now time.Time,
	ttl time.Duration) (bool, error) {
	there, _, err := s.put(ctx, s.tables.Orders,
		attrs{OrderKey: str(LeasePrefix + name), "Owner": str(owner), "Until": num(now.Add(ttl).UnixMilli())},
		"attribute_not_exists(#id) OR #owner = :owner OR #until <= :now",
		map[string]string{"#id": OrderKey, "#owner": "Owner", "#until": "Until"},
		attrs{":owner": str(owner), ":now": num(now.UnixMilli())})
	if err != nil {
		return false, fmt.Errorf("lease %q: %w", name, err)
	}
	return there == nil, nil
}

// LeaseUntil returns the end of a lease, or the zero time if nothing has ever taken it.
func (s *Store) LeaseUntil(ctx context.Context, name string) (time.Time, error) {
	item, err := get(ctx, s.client, s.tables.Orders, OrderKey, LeasePrefix+name, false)
	if err != nil || item["Until"] == nil {
		return time.Time{}, err
	}
	return time.UnixMilli(numberOf(item["Until"])), nil
}
