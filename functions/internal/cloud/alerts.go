package cloud

import (
	"context"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/incident"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// alertTime is the time that an invocation waits after its work for the alerts that it has raised.
const alertTime = 5 * time.Second

// Alerts publishes the incidents of a function concurrently with its work, so that no order waits for SNS.
type Alerts struct {
	*incident.Incidents

	mu      sync.Mutex
	running []chan struct{}
}

// start implements incident.Config.Go.
func (a *Alerts) start(publication func(ctx context.Context)) {
	done := make(chan struct{})
	a.mu.Lock()
	a.running = append(a.running, done)
	a.mu.Unlock()
	go func() {
		defer close(done)
		_ = port.Guard(nil, "an alert", func() error {
			publication(context.Background()) // package sns bounds its time
			return nil
		})
	}()
}

// Wait blocks until the started publications have ended, for alertTime at most, or until shortly before
// Lambda ends the invocation. An unfinished publication counts as failed, and the next sweep repeats it.
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
