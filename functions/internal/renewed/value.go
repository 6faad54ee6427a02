// Package renewed caches values, such as secrets, and reads them again when they are old.
package renewed

import (
	"context"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

const (
	// retryAfter is the time between a failed read and the next read, if an old value is known.
	retryAfter = 10 * time.Second
	// renewTime is the longest time that Read waits for a new value if an old value is known. So a slow
	// service does not stop callers of Read.
	renewTime = 2 * time.Second
)

// Value is a cached value. It is safe for concurrent use. Get and Clock are required.
type Value[T any] struct {
	Get   func(ctx context.Context) (T, error)
	Clock port.Clock
	Stale func(err error) // called if Get fails and the old value stays in use; may be nil

	mu    sync.Mutex
	value T
	known bool
	at    time.Time // time of the last read; earlier after a failure, so that the next read comes soon
}

// Read returns the value. If the value is older than age, Read first gets a new value with Get. If Get fails,
// Read returns the old value, or the error if no value is known.
func (v *Value[T]) Read(ctx context.Context, age time.Duration) (T, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.Clock.Now()
	if v.known && port.Recent(v.at, now, age) {
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
		v.value = got
		v.known = true
		v.at = now
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
