package port

import (
	"context"
	"hash/fnv"
	"strconv"
	"time"
)

// firstBackoff is how long a message is hidden after its first failed handling.
const firstBackoff = 2 * time.Second

// Backoff returns how long a delivery that could not be handled is hidden before it comes again: 2 s, doubled
// with each receive, up to the visibility timeout of its queue. A hash of the message's ID adds up to a half,
// so that messages that failed together do not come back together.
func (d *Delivery) Backoff(visibility time.Duration) time.Duration {
	wait := firstBackoff << min(max(d.Received-1, 0), 20)
	sum := fnv.New32a()
	_, _ = sum.Write(strconv.AppendInt([]byte(d.ID), int64(d.Received), 10)) // it never fails
	wait += wait / 2 * time.Duration(sum.Sum32()%1000) / 1000
	return min(wait, visibility)
}

// Extension hides one delivery for a time from now on; 0 returns it at once.
type Extension struct {
	Receipt string
	For     time.Duration
}

// Extend executes the extensions: with one call if the queue has such a call, otherwise one by one. The
// errors have the order of the extensions.
func Extend(ctx context.Context, q Queue, extensions []Extension) []error {
	if all, ok := q.(interface {
		ExtendBatch(ctx context.Context, extensions []Extension) []error
	}); ok {
		return all.ExtendBatch(ctx, extensions)
	}
	errs := make([]error, len(extensions))
	for i, e := range extensions {
		errs[i] = q.Extend(ctx, e.Receipt, e.For)
	}
	return errs
}
