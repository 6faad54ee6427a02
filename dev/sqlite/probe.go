package sqlite

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

const (
	probeEvery = time.Second     // time for which Probe returns the last result
	probeTime  = 5 * time.Second // duration of a write after which the store counts as stuck
)

// probing is the last result of Probe. Its lock is held during a probe.
type probing struct {
	mu      sync.Mutex
	verdict error
	at      time.Time
}

// Probe writes as many bytes as the largest order has, and removes them. It returns the error of a failed
// write, or the damage that was found in the file. It makes at most one write per second, however often it is
// called.
func (s *Store) Probe() error {
	p := &s.probing
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.at.IsZero() || time.Since(p.at) >= probeEvery {
		p.verdict, p.at = s.probe(), time.Now()
	}
	return p.verdict
}

func (s *Store) probe() error {
	if found := s.damage.Load(); found != nil {
		return *found
	}
	// not the caller's context, because all callers share the result
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	for _, o := range []operation{addProbe, dropProbe} {
		switch err := s.committer.do(ctx, o); {
		case ctx.Err() != nil:
			return fmt.Errorf("a write has taken longer than %s: look at the disk", probeTime)
		case err != nil:
			return err
		}
	}
	return nil
}

func addProbe(tx *transaction) error {
	_, err := tx.addProbe.exec(port.MaxOrder)
	return err
}

func dropProbe(tx *transaction) error {
	_, err := tx.dropProbe.exec()
	return err
}
