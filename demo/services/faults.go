package services

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"
)

// Rates sets how often a service misbehaves. Each rate is a share of the calls, from 0 to 1. A call has at
// most one fault, so the sum of the rates must not exceed 1. The rate Slow is independent of the other rates.
type Rates struct {
	Slow    float64 // response after SlowFor instead of 1 to 10 ms
	Before  float64 // response 500 or 503, without effect
	After   float64 // response 500, after the effect
	TooMany float64 // response 429 with Retry-After: 1, without effect
	Hang    float64 // connection cut after HangFor; half of these calls have their effect
	Cut     float64 // connection cut after the effect
	Late    float64 // no response, and the effect after HangFor; only for fenced services
	Lie     float64 // success response without an effect; an audit must detect it

	SlowFor time.Duration
	HangFor time.Duration // must be longer than the timeout of a step
}

// DefaultRates returns the fault rates of the demo. About one call in twelve fails. The plain service has
// fewer faults, because the operator must handle every effect in doubt. Only 0.6 % of the plain service's
// calls are in doubt.
func DefaultRates() map[string]Rates {
	usual := Rates{
		Slow: 0.02, Before: 0.03, After: 0.02, TooMany: 0.01, Hang: 0.003, Cut: 0.02,
		SlowFor: 200 * time.Millisecond, HangFor: 2500 * time.Millisecond,
	}
	withLate := usual
	withLate.Late = 0.003
	return map[string]Rates{
		Inventory:    withLate,
		Payment:      usual,
		Notification: usual,
		Shipping: {
			Slow: 0.02, TooMany: 0.01, After: 0.002, Hang: 0.002, Cut: 0.002,
			SlowFor: 200 * time.Millisecond, HangFor: 2500 * time.Millisecond,
		},
	}
}

type kind int

const (
	none kind = iota
	before
	after
	tooMany
	hang
	cut
	late
	lie
)

type fault struct {
	kind    kind
	slow    bool
	latency time.Duration
	coin    bool // choice between two forms of the same fault
}

// faultOf returns the fault of a call. The result depends only on a hash of the arguments, so that the
// sequence of the calls does not matter.
func (r Rates) faultOf(seed uint64, service, operation, key string, call int) fault {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%s/%s/%d/%s", seed, service, operation, call, key))
	rng := rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:])))
	f := fault{latency: time.Millisecond + time.Duration(rng.Int64N(int64(9*time.Millisecond)))}
	f.coin = rng.IntN(2) == 0
	f.slow = rng.Float64() < r.Slow
	if f.slow {
		f.latency = r.SlowFor
	}
	u := rng.Float64()
	for _, c := range []struct {
		share float64
		kind  kind
	}{
		{r.Before, before},
		{r.After, after},
		{r.TooMany, tooMany},
		{r.Hang, hang},
		{r.Cut, cut},
		{r.Late, late},
		{r.Lie, lie},
	} {
		if u < c.share {
			f.kind = c.kind
			return f
		}
		u -= c.share
	}
	return f
}
