// Package shifted provides a clock that a test can shift while programs run. A file holds the offset from the
// system clock. The package simulates changes of the system clock, which a test cannot make.
package shifted

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// readEvery is the interval at which a Clock reads the file. All clocks with the same file must shift at
// almost the same time. Therefore the interval must be short compared with the clock skew of every workflow.
const readEvery = 10 * time.Millisecond

// Clock returns the time of the system clock plus the offset in a file. It implements port.Clock.
type Clock struct {
	path string
	off  atomic.Int64 // offset in nanoseconds
}

// Open returns a Clock that follows the offset in a file. The file contains a duration, such as "1h" or
// "-700ms". Open returns an error if the file cannot be read. If a later read fails, the offset stays the
// same.
func Open(path string) (*Clock, error) {
	c := &Clock{path: path}
	if err := c.read(); err != nil {
		return nil, err
	}
	go func() {
		for range time.Tick(readEvery) {
			// The offset stays the same after a failed read, for example during a write to the file.
			_ = port.Guard(nil, "the clock", c.read)
		}
	}()
	return c, nil
}

func (c *Clock) read() error {
	text, err := os.ReadFile(c.path)
	if err != nil {
		return fmt.Errorf("read how far the clock is off: %w", err)
	}
	d, err := time.ParseDuration(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("%s must hold a duration, as 1h or -700ms: %w", c.path, err)
	}
	c.off.Store(int64(d))
	return nil
}

// Now returns the shifted time.
func (c *Clock) Now() time.Time { return time.Now().Add(time.Duration(c.off.Load())) }

// At calls run when the clock reaches the time at, by the offset of this moment.
func (c *Clock) At(at time.Time, run func()) (stop func()) { return port.ClockFunc(c.Now).At(at, run) }

// Set writes the offset for all clocks that read the file.
func Set(path string, d time.Duration) error {
	beside := path + ".new"
	if err := os.WriteFile(beside, []byte(d.String()+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(beside, path)
}
