// Package pace lets the parts of the demo, of the soak and of the bench wait.
package pace

import (
	"context"
	"time"
)

// Sleep waits; it ends early, with an error, when the context does.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
