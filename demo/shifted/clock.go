// Package shifted is a clock that a test moves from outside while programs run. A file holds its offset. It
// simulates steps of the machine's clock, which a test cannot change.
package shifted

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// readEvery is the interval at which the file is read. It must be short compared with any clockSkew: clocks
// that share a file move together.
const readEvery = 10 * time.Millisecond

// Clock is the machine's clock with the offset in its file. It implements port.Clock.
type Clock struct {
	path string
	off  atomic.Int64 // nanoseconds
}

// Open reads the file, a duration such as "1h" or "-700ms", and reads it again for as long as the program
// runs. An error means that it cannot be read now. A later failed read changes nothing.
func Open(path string) (*Clock, error) {
	c := &Clock{path: path}
	if err := c.read(); err != nil {
		return nil, err
	}
	go func() {
		for range time.Tick(readEvery) {
			// after an error, as while the file is being written, the offset stays
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

// Now returns the time of this clock.
func (c *Clock) Now() time.Time { return time.Now().Add(time.Duration(c.off.Load())) }

// Set sets the offset of all clocks of the file.
func Set(path string, d time.Duration) error {
	beside := path + ".new"
	if err := os.WriteFile(beside, []byte(d.String()+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(beside, path)
}
