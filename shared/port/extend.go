package port

import (
	"context"
	"hash/fnv"
	"strconv"
	"time"
)

// firstBackoff is the time for which a message stays hidden after it has failed once.
const firstBackoff = 2 * time.Second

// Backoff returns how long a delivery stays hidden if its receiver fails to process it. The time is 2 s after
// the first receive, doubles with each further receive, and is never longer than visibility. A hash of the
// message's ID adds up to half of the time, so that messages that failed together return at different times.
func (d *Delivery) Backoff(visibility time.Duration) time.Duration {
	wait := firstBackoff << min(max(d.Received-1, 0), 20)
	sum := fnv.New32a()
	// the Write of a hash never fails
	_, _ = sum.Write(strconv.AppendInt([]byte(d.ID), int64(d.Received), 10))
	wait += wait / 2 * time.Duration(sum.Sum32()%1000) / 1000
	return min(wait, visibility)
}

// Extension hides one delivery from now on, for the duration in For. If For is 0, the message becomes visible
// at once.
type Extension struct {
	Receipt string
	For     time.Duration
}

// Extend executes the extensions. It makes one call if the queue has a method ExtendBatch, and otherwise one
// call for each extension. Each error has the index of its extension.
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
