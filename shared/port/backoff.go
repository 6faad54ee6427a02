package port

import (
	"hash/fnv"
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
