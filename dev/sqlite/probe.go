package sqlite

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

const (
	probeEvery = time.Second     // time for which Probe returns the previous result
	probeTime  = 5 * time.Second // time after which a write counts as failed
)

// probing contains the last result of Probe. The lock is held during a probe.
type probing struct {
	mu      sync.Mutex
	verdict error
	at      time.Time
}

// Probe tests whether the store can write. It writes port.MaxOrder bytes, and removes them. It returns the
// error of the write, or the known damage of the file. Probe tests at most once a second. Other calls return
// the previous result.
func (s *Store) Probe() error {
	p := &s.probing
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.at.IsZero() || time.Since(p.at) >= probeEvery {
		p.verdict = s.probe()
		p.at = time.Now()
	}
	return p.verdict
}

func (s *Store) probe() error {
	if err := s.hidden(); err != nil {
		return err
	}
	// the context does not belong to one caller, because all callers share the result
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	written := make(chan error, 1)
	go func() { // it stays if the disk never answers
		written <- port.Guard(nil, "a probe", func() error {
			err := s.committer.do(ctx, func(tx *transaction) error {
				_, err := tx.exec("INSERT OR REPLACE INTO probe VALUES(1, zeroblob(?))", port.MaxOrder)
				return err
			})
			if err != nil {
				return err
			}
			return s.committer.do(ctx, func(tx *transaction) error {
				_, err := tx.exec("DELETE FROM probe")
				return err
			})
		})
	}()
	var err error
	select {
	case err = <-written:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return fmt.Errorf("a write has taken longer than %s: look at the disk", probeTime)
	}
	return err
}
