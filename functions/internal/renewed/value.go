// Package renewed keeps values that are read from elsewhere, such as secrets, and reads them again when they
// are old.
package renewed

import (
	"context"
	"sync"
	"time"
)

const (
	// retryAfter is when a value is read again that could not be read.
	retryAfter = 10 * time.Second
	// renewTime is how long a reader waits for a new value while there is an old one: handlings do not stand
	// still because a service does.
	renewTime = 2 * time.Second
)

// Value is safe for concurrent use. Get and Now are required.
type Value[T any] struct {
	Get   func(ctx context.Context) (T, error)
	Now   func() time.Time
	Stale func(err error) // called where it cannot be read again, and what was read before stays; may be nil

	mu    sync.Mutex
	value T
	known bool
	at    time.Time // when it was read last, or, after a failure, less than an age before it is read again
}

// Read returns the value, of at most that age while it can be read. The error is that of Get: nothing is
// known yet.
func (v *Value[T]) Read(ctx context.Context, age time.Duration) (T, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.Now()
	if v.known && now.Sub(v.at) < age {
		return v.value, nil
	}
	if v.known {
		limited, cancel := context.WithTimeout(ctx, renewTime)
		defer cancel()
		ctx = limited
	}
	got, err := v.Get(ctx)
	switch {
	case err == nil:
		v.value, v.known, v.at = got, true, now
	case !v.known:
		return v.value, err
	default:
		v.at = now.Add(min(age, retryAfter) - age)
		if v.Stale != nil {
			v.Stale(err)
		}
	}
	return v.value, nil
}
