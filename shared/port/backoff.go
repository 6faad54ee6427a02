package port

import (
	"context"
	"errors"
	"hash/fnv"
	"slices"
	"strconv"
	"time"
)

const firstBackoff = 2 * time.Second

// Backoff returns how long the message of a failed delivery stays hidden. The time is 2 s after the first
// receive, and doubles with each further receive. Backoff makes the time longer by up to 50 %, depending on a
// hash of the message's ID and count. Messages that failed together therefore return at different times. The
// result is at most visibility.
func (d *Delivery) Backoff(visibility time.Duration) time.Duration {
	wait := firstBackoff << min(max(d.Received-1, 0), 20)
	sum := fnv.New32a()
	_, _ = sum.Write(strconv.AppendInt([]byte(d.ID), int64(d.Received), 10))
	wait += wait / 2 * time.Duration(sum.Sum32()%1000) / 1000
	return min(wait, visibility)
}

// Finish ends the handling of a batch from a queue. It returns the messages whose receipts are in failed to the queue,
// each with its Backoff, and deletes the others. After an error, messages come again, which is harmless.
func Finish(ctx context.Context, q Queue, batch []Delivery, failed []string, visibility time.Duration) error {
	var back []Extension
	var done []string
	for i := range batch {
		d := &batch[i]
		if slices.Contains(failed, d.Receipt) {
			back = append(back, Extension{Receipt: d.Receipt, For: d.Backoff(visibility)})
		} else {
			done = append(done, d.Receipt)
		}
	}
	var errs []error
	if len(back) > 0 {
		errs = q.Extend(ctx, back)
	}
	if len(done) > 0 {
		errs = append(errs, q.Delete(ctx, done)...)
	}
	return errors.Join(errs...)
}
