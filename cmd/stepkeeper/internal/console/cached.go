package console

import (
	"sync"
	"time"
)

// cached holds a value that all pages share. While one page reads the value, other pages wait.
type cached[T any] struct {
	mu    sync.Mutex
	value T
	at    time.Time
	until time.Time // time at which the value expires
}

// get returns the value and the time of the last read. If the value has expired, get calls read. The function
// read returns a new value and the time for which the new value is valid.
func (c *cached[T]) get(now time.Time, read func() (T, time.Duration, error)) (T, time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Before(c.until) {
		return c.value, c.at, nil
	}
	value, valid, err := read()
	if err == nil {
		c.value = value
		c.at = now
		c.until = now.Add(valid)
	}
	return value, c.at, err
}

func (c *cached[T]) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = time.Time{}
}
