package console

import (
	"sync"
	"time"
)

// cached holds a value that all pages share. While one page reads it, the others wait.
type cached[T any] struct {
	mu    sync.Mutex
	value T
	at    time.Time // time of the read
	until time.Time // time at which the value must be read again
}

// get returns the value and the time of its read. If the value is too old, get reads it again. read also
// returns the time for which the new value is valid.
func (c *cached[T]) get(now time.Time, read func() (T, time.Duration, error)) (T, time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Before(c.until) {
		return c.value, c.at, nil
	}
	value, valid, err := read()
	if err == nil {
		c.value, c.at, c.until = value, now, now.Add(valid)
	}
	return value, c.at, err
}

// drop makes the next get read the value again.
func (c *cached[T]) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = time.Time{}
}
