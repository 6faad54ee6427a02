// Package load is the load driver of the demo, the soak test and the benchmarks. Run starts orders and
// measures them.
//
// A contestant is a measured program in its own process. The type Contestant sends requests to the process.
// In the process, Serve reads the requests from standard input and calls Run for each request. Each
// contestant therefore has its own heap, build profile and settings of Go's runtime.
package load

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Order is the content of the order that every contestant runs. It has about 300 bytes.
const Order = `{"customer":{"id":"c-48213","name":"Ada Example","email":"ada@example.org","country":"PT"},"currency":"EUR","items":[{"sku":"chair-oak","quantity":2,"unitPrice":7999,"physical":true},{"sku":"lamp-brass","quantity":1,"unitPrice":2450,"physical":true}],"payment":{"card":"tok_visa"},"note":"leave at the door"}`

// Request describes one measurement. The IDs of the orders begin with Prefix.
type Request struct {
	Prefix      string  `json:"prefix"`
	Orders      int     `json:"orders"` // number of orders; 0 means that orders start until the context ends
	Concurrency int     `json:"concurrency"`
	PerSecond   float64 `json:"-"` // number of orders to start per second; 0 means no limit
}

// ID returns the ID of the order with the number i.
func (r Request) ID(i int) string { return fmt.Sprintf("%s-%d", r.Prefix, i) }

// Result is the result of one measurement.
type Result struct {
	OrdersPerS float64 `json:"ordersPerS"`
	P50MS      float64 `json:"p50Ms"` // median time from the start of an order to its end
	P99MS      float64 `json:"p99Ms"`
}

// Run runs the orders 0, 1, 2 and so on. It blocks until all started orders have returned. After an order
// fails or ctx ends, Run starts no more orders and returns the error.
func Run(ctx context.Context, r Request, order func(i int) error) (Result, error) {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	orders := r.Orders
	if orders == 0 {
		orders = math.MaxInt
	}
	took := make([][]float64, r.Concurrency) // durations in milliseconds, by worker
	start := time.Now()
	for worker := range took {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= orders || failed.Load() != nil {
					return
				}
				err := ctx.Err()
				if err == nil && r.PerSecond > 0 {
					due := time.Duration(float64(i) / r.PerSecond * float64(time.Second))
					err = port.Sleep(ctx, due-time.Since(start))
				}
				began := time.Now()
				if err == nil {
					err = order(i)
				}
				if err != nil {
					failed.CompareAndSwap(nil, &err)
					return
				}
				took[worker] = append(took[worker], float64(time.Since(began).Microseconds())/1000)
			}
		})
	}
	wg.Wait()
	seconds := time.Since(start).Seconds()
	if err := failed.Load(); err != nil {
		return Result{}, *err
	}
	all := slices.Concat(took...)
	return Result{
		OrdersPerS: float64(len(all)) / seconds, P50MS: Percentile(all, 0.5),
		P99MS: Percentile(all, 0.99),
	}, nil
}

// Median returns the median of the values. It returns 0 if there are no values.
func Median(all []float64) float64 { return Percentile(all, 0.5) }

// Percentile returns the percentile p of the values. p is between 0 and 1; 0.5 means the median. Percentile
// returns 0 if there are no values.
func Percentile(all []float64, p float64) float64 {
	if len(all) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(all))
	return s[min(len(s)-1, int(float64(len(s))*p))]
}

// Status returns the numbers that Linux reports about a process, by name. Sizes are in bytes. On other
// systems, Status returns nil.
func Status(pid int) map[string]int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return nil
	}
	all := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		number, unit, _ := strings.Cut(strings.TrimSpace(value), " ")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil {
			if unit == "kB" {
				n <<= 10
			}
			all[name] = n
		}
	}
	return all
}
