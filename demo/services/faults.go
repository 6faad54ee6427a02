package services

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"
)

// Fault is a way in which a call can go wrong. Its text is its name in reports.
type Fault string

// Faults of a call. A call has at most one of them.
const (
	Before  Fault = "errorsBeforeEffect" // response 500 or 503, without effect
	Reset   Fault = "resetsBeforeEffect" // connection reset, without effect
	After   Fault = "errorsAfterEffect"  // response 500, after the effect
	TooMany Fault = "tooManyRequests"    // response 429 with Retry-After: 1, without effect
	Hang    Fault = "hangs"              // connection cut after HangFor; half of these calls have their effect
	Cut     Fault = "answersLost"        // connection closed or reset after the effect
	Torn    Fault = "answersTorn"        // connection closed after half of the response
	Twice   Fault = "duplicates"         // a copy of the call arrives at the same time; not for plain services
	Again   Fault = "replays"            // a copy of the call arrives after HangFor; only for fenced services
	Late    Fault = "lateEffects"        // no response, and the effect after HangFor; only for fenced services
	Lie     Fault = "lies"               // success response without an effect; an audit must detect it
)

// Slow means that a response takes SlowFor instead of 1 to 10 ms. A slow call can have another fault too.
const Slow Fault = "slow"

// faults lists the faults in the sequence in which faultOf draws them.
var faults = []Fault{Before, After, TooMany, Hang, Cut, Late, Lie, Reset, Torn, Twice, Again}

// Rates sets how often a service misbehaves. Each rate is a share of the calls, from 0 to 1. The sum of the
// rates without Slow must not exceed 1.
type Rates map[Fault]float64

// DefaultRates returns the fault rates of the demo. About one call in twelve fails. The plain service has
// fewer faults, because the operator must handle every effect in doubt. Only 0.6 % of the plain service's
// calls are in doubt.
func DefaultRates() map[string]Rates {
	usual := func() Rates {
		return Rates{Slow: 0.02, Before: 0.03, After: 0.02, TooMany: 0.01, Hang: 0.003, Cut: 0.02}
	}
	all := map[string]Rates{
		Inventory:    usual(),
		Payment:      usual(),
		Notification: usual(),
		Shipping:     {Slow: 0.02, TooMany: 0.01, After: 0.002, Hang: 0.002, Cut: 0.002},
	}
	all[Inventory][Late] = 0.003
	return all
}

// drawn is the fault of one call.
type drawn struct {
	fault   Fault // "" if the call has no fault
	slow    bool
	latency time.Duration
	coin    bool // choice between two forms of the same fault
}

func (d drawn) count(c *Counts) {
	if d.slow {
		c.Faults[Slow]++
	}
	if d.fault != "" {
		c.Faults[d.fault]++
	}
}

// faultOf returns the fault of a call. The result depends only on a hash of the arguments, so that the
// sequence of the calls does not matter.
func (r Rates) faultOf(seed uint64, service, operation, key string, call int) drawn {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%s/%s/%d/%s", seed, service, operation, call, key))
	rng := rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:])))
	d := drawn{latency: time.Millisecond + time.Duration(rng.Int64N(int64(9*time.Millisecond)))}
	d.coin = rng.IntN(2) == 0
	d.slow = rng.Float64() < r[Slow]
	u := rng.Float64()
	for _, f := range faults {
		if u < r[f] {
			d.fault = f
			return d
		}
		u -= r[f]
	}
	return d
}
