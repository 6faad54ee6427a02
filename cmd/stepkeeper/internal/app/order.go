package app

import (
	"cmp"
	"context"
	"time"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// CheckID returns an error if id is not a valid order ID.
func CheckID(id string) error {
	if !message.IsOrderID(id) {
		return failure.New(failure.Usage,
			"an ID has 1 to 128 of the characters A-Z a-z 0-9 . _ : -, and is not . or ..",
			"%.140q is no order's ID", id)
	}
	return nil
}

// Bounded returns a context with a time limit: the flag --timeout, or fallback if the flag is not set. A
// fallback of 0 means no limit.
func (a *App) Bounded(ctx context.Context, fallback time.Duration) (context.Context, context.CancelFunc) {
	limit := cmp.Or(a.Timeout, fallback)
	if limit == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}
