package sqlite

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

const (
	probeEvery = time.Second     // a verdict counts for so long
	probeTime  = 5 * time.Second // how long a write may take before the store counts as stuck
)

// probing is the last verdict of Probe; its lock is held while one is under way.
type probing struct {
	mu      sync.Mutex
	verdict error
	at      time.Time
}

// Probe writes as much as the largest order takes, removes it, and answers why that failed, or that
// the file has been found to be damaged. At most one write a second is made, however often it is asked.
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
	ctx, cancel := context.WithTimeout(context.Background(), probeTime) // one verdict for all callers
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
