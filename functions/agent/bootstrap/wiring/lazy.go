package wiring

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/agent/secrets"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
)

// Lazy makes the worker with the first batch, and again when its secrets are old. Safe for
// concurrent use.
type Lazy struct {
	Make  func(ctx context.Context) (*worker.Worker, error)
	Renew bool // there are secrets
	Now   func() time.Time
	Log   *slog.Logger

	mu   sync.Mutex
	made *worker.Worker
	at   time.Time
}

// Worker answers the worker. Where it cannot be made again, the one there is goes on: the service
// will say whether its secrets are still good.
func (l *Lazy) Worker(ctx context.Context) (*worker.Worker, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made != nil && (!l.Renew || l.Now().Sub(l.at) < secrets.RenewAfter) {
		return l.made, nil
	}
	made, err := l.Make(ctx)
	switch {
	case err == nil:
		l.made, l.at = made, l.Now()
	case l.made == nil:
		return nil, err
	default:
		l.Log.WarnContext(ctx, "the secrets could not be read again; those that were read before stay", "error", err)
	}
	return l.made, nil
}
