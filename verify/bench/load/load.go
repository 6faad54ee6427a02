// Package load is the load driver of the benchmarks. A contestant runs in a process of its own and measures
// itself with Run; Serve makes it take its measurements from standard input, and Contestant asks for them. So
// every contestant has its own settings of Go's runtime, its own build profile and its own heap.
package load

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Order is the order that every contestant runs, of about 300 bytes.
const Order = `{"customer":{"id":"c-48213","name":"Ada Example","email":"ada@example.org","country":"PT"},"currency":"EUR","items":[{"sku":"chair-oak","quantity":2,"unitPrice":7999,"physical":true},{"sku":"lamp-brass","quantity":1,"unitPrice":2450,"physical":true}],"payment":{"card":"tok_visa"},"note":"leave at the door"}`

// Result is what one measurement found.
type Result struct {
	OrdersPerS float64 `json:"orders_per_s"`
	P50MS      float64 `json:"p50_ms"` // time from the start of an order to its end
	P99MS      float64 `json:"p99_ms"`
}

// Run runs n orders, so many of them at a time. The first order that fails ends the measurement with its
// error.
func Run(n, concurrency int, order func(i int) error) (Result, error) {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	took := make([]float64, n) // milliseconds
	start := time.Now()
	for range concurrency {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n || failed.Load() != nil {
					return
				}
				began := time.Now()
				if err := order(i); err != nil {
					failed.CompareAndSwap(nil, &err)
					return
				}
				took[i] = float64(time.Since(began).Microseconds()) / 1000
			}
		})
	}
	wg.Wait()
	all := time.Since(start)
	if err := failed.Load(); err != nil {
		return Result{}, *err
	}
	return Result{OrdersPerS: float64(n) / all.Seconds(), P50MS: Percentile(took, 0.5),
		P99MS: Percentile(took, 0.99)}, nil
}

// Median returns the middle of the values, 0 if there are none.
func Median(all []float64) float64 { return Percentile(all, 0.5) }

// Percentile returns the value below which the share p of all values lies, 0 if there are none.
func Percentile(all []float64, p float64) float64 {
	if len(all) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(all))
	return s[min(len(s)-1, int(float64(len(s))*p))]
}
