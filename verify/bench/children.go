package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

const nightly = `workflow: nightly
steps:
  customers:
    each: ${ order.customers }
    workflow: customer
    input: {number: "${ item }"}
    concurrency: 100
`

const customer = `workflow: customer
agents:
  books: {queueAllowance: 5m}
steps:
  bill:
    agent: books
    operation: bill
    input: {number: "${ order.number }"}
    timeout: 5s
    onFailure: undo
    undo: none
    grade: idempotent
`

type family struct {
	Name     string `json:"name"`
	Children int    `json:"children"`
	Effects  int    `json:"effects"` // number of effects of all child orders
	// number of calls in addition to the first call with each key
	Doubled    int     `json:"doubled"`
	Seconds    float64 `json:"seconds"`
	PerSecond  float64 `json:"children_per_s"`
	LargestKB  float64 `json:"largest_document_kb"` // largest document of the parent, sampled every 20 ms
	ParentDone bool    `json:"parent_processed"`
}

// measureChildren runs one order with many child orders (P40, a step can have child orders). It measures how
// many child orders end per second, and the size of the parent's document. It also counts the effects; the
// number must equal the number of child orders. A second measurement closes and opens the runtime three
// times.
func measureChildren(ctx context.Context, o options, dir string, f *figures, w io.Writer) error {
	for _, c := range []struct {
		name string
		open int
	}{{"children", 1}, {"children, opened again 3 times", 4}} {
		r, err := childrenOnce(ctx, filepath.Join(dir, c.name), c.name, o.children, c.open)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		f.Children = append(f.Children, r)
		fmt.Fprintf(w,
			"%-31s %d in %.1f s, %.0f/s, parent Processed: %t, %d effects, %d repeated calls, parent's "+
				"document at most %.1f kB\n",
			r.Name, r.Children, r.Seconds, r.PerSecond, r.ParentDone, r.Effects, r.Doubled, r.LargestKB)
	}
	return nil
}

func childrenOnce(ctx context.Context, dir, name string, n, opened int) (r family, err error) {
	r = family{Name: name, Children: n}
	var mu sync.Mutex
	calls := map[string]int{}
	opts, err := runtimeOptions(dir,
		map[string]worker.Operations{
			"books": {worker.AnyOperation: {Run: func(_ context.Context, c worker.Call) (any, error) {
				mu.Lock()
				defer mu.Unlock()
				calls[c.Key]++
				return nil, nil
			}}},
		}, map[string]string{"nightly": nightly, "customer": customer})
	if err != nil {
		return r, err
	}
	opts.Log = slog.New(slog.DiscardHandler)
	began := time.Now()
	for i := range opened {
		until := n // number of effects after which the runtime closes
		if i < opened-1 {
			until = n * (i + 1) / opened
		}
		if err := r.run(ctx, opts, i == 0, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return i < opened-1 && len(calls) >= until
		}); err != nil {
			return r, err
		}
	}
	r.Seconds = time.Since(began).Seconds()
	r.PerSecond = float64(n) / r.Seconds
	r.Effects = len(calls)
	for _, times := range calls {
		r.Doubled += times - 1
	}
	return r, nil
}

func (r *family) run(ctx context.Context, opts embedded.Options, first bool, enough func() bool) (err error) {
	s, err := embedded.Open(ctx, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if first {
		body := []byte(`{"schema":1,"orderId":"nightly","workflow":"nightly","order":{"customers":[0`)
		for i := 1; i < r.Children; i++ {
			body = fmt.Appendf(body, ",%d", i)
		}
		if err := submit(ctx, s, append(body, "]}}"...)); err != nil {
			return err
		}
	}
	for {
		t, _, err := s.Task(ctx, "nightly")
		if err != nil {
			return err
		}
		r.LargestKB = max(r.LargestKB, float64(state.Size(t))/1000)
		r.ParentDone = t.ProcessState == core.Processed
		if r.ParentDone || t.Terminal() || enough() {
			return nil
		}
		if err := port.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}
