package protocol

import (
	"fmt"
	"hash/fnv"
	"math"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// jitter returns a number in [0, 1) that spreads the retries of different orders. Every instance computes
// the same number for an attempt.
func jitter(orderID string, run int, step string, attempt int) float64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s/%d/%s/%d", orderID, run, step, attempt)
	x := h.Sum64()
	// FNV's high bits differ little for short inputs. The first half of MurmurHash3's finaliser mixes them.
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return float64(x>>11) / (1 << 53)
}

// backoffWait returns the wait after the n-th counted failure, for n from 1. u is the jitter.
func backoffWait(b core.Backoff, n int, u float64) core.Duration {
	d := float64(b.Initial) * math.Pow(b.Multiplier, float64(n-1))
	if limit := float64(b.Max); d > limit {
		d = limit
	}
	return core.Duration(math.Round(d * (1 - b.Jitter*u)))
}
