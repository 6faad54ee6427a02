package sqlite

import (
	"context"
	"time"
)

// Acquire takes a lease that is free, expired at now, or the owner's own.
func (s *Store) Acquire(ctx context.Context, name, owner string, now time.Time, ttl time.Duration) (bool, error) {
	o := &acquire{name: name, owner: owner, now: now.UnixMilli(), until: now.Add(ttl).UnixMilli()}
	if err := s.committer.do(ctx, o); err != nil {
		return false, err
	}
	return o.got, nil
}

type acquire struct {
	name, owner string
	now, until  int64
	got         bool
}

func (o *acquire) apply(tx *transaction) error {
	n, err := tx.takeLease.exec(o.name, o.owner, o.until, o.now)
	o.got = n == 1
	return err
}
