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
func (s *Store) Probe(ctx context.Context) error {
	p := &s.probing
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.at.IsZero() && time.Since(p.at) < probeEvery {
		return p.verdict
	}
	p.verdict, p.at = s.probe(ctx), time.Now()
	return p.verdict
}

func (s *Store) probe(ctx context.Context) error {
	if found := s.damage.Load(); found != nil {
		return *found
	}
	// A caller that goes away leaves a verdict for the others.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTime)
	defer cancel()
	err := s.committer.do(ctx, probe{port.MaxOrder})
	if err == nil {
		err = s.committer.do(ctx, probe{0})
	}
	if ctx.Err() != nil {
		return fmt.Errorf("a write has taken longer than %s: look at the disk", probeTime)
	}
	return err
}

// probe is a write of so many bytes; 0 removes it.
type probe struct{ bytes int }

func (o probe) apply(tx *transaction) (err error) {
	if o.bytes == 0 {
		_, err = tx.dropProbe.exec()
	} else {
		_, err = tx.addProbe.exec(o.bytes)
	}
	return err
}
