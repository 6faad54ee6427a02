package cloud

import (
	"context"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/incident"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// alertTime limits how long Wait blocks at the end of an invocation.
const alertTime = 5 * time.Second

// Alerts publishes alerts about incidents while the function continues its work, so that no order
// waits for SNS.
type Alerts struct {
	*incident.Incidents

	mu      sync.Mutex
	running []chan struct{}
}

func (a *Alerts) start(publication func(ctx context.Context)) {
	done := make(chan struct{})
	a.mu.Lock()
	a.running = append(a.running, done)
	a.mu.Unlock()
	go func() {
		defer close(done)
		_ = port.Guard(nil, "an alert", func() error {
			publication(context.Background()) // package sns limits the time of a publication
			return nil
		})
	}()
}

// Wait blocks until the started publications have ended. It blocks for at most alertTime, and at most
// until one second before the deadline of ctx. The next sweep repeats an unfinished publication.
func (a *Alerts) Wait(ctx context.Context) {
	limit := alertTime
	if deadline, bounded := ctx.Deadline(); bounded {
		limit = min(limit, time.Until(deadline)-time.Second)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	a.mu.Lock()
	running := a.running
	a.running = nil
	a.mu.Unlock()
	for _, done := range running {
		select {
		case <-done:
		case <-ctx.Done():
			return
		}
	}
}
