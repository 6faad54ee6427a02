package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/demo/load"
	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

const routed = `workflow: routed
agents:
  near: {queueAllowance: 1s}
  far: {queueAllowance: 1s}
steps:
  pay:
    agents: [near, far]
    operation: charge
    timeout: 1s
    retry: {maxFailures: 5, backoff: {initial: 200ms, max: 1s}}
    onFailure: undo
    undo: none
    grade: idempotent
`

// routesWait is the longest time for which a case waits for its orders after the last submission. An order
// does not end if its only agent is gone.
const routesWait = 20 * time.Second

// doorway is a service with two agents, near and far. The agent near may have a fault.
type doorway struct {
	mu      sync.Mutex
	wrong   string          // fault of the agent near: "sick", "slow", "gone", or "" for no fault
	calls   map[string]int  // number of calls by agent
	effects map[string]bool // keys with an effect
}

func (d *doorway) operations() map[string]worker.Operations {
	all := map[string]worker.Operations{}
	for _, agent := range []string{"near", "far"} {
		all[agent] = worker.Operations{worker.AnyOperation: {
			Run: func(ctx context.Context, c worker.Call) (any, error) { return d.call(ctx, agent, c) },
		}}
	}
	return all
}

func (d *doorway) call(ctx context.Context, agent string, c worker.Call) (any, error) {
	d.mu.Lock()
	d.calls[agent]++
	nth := d.calls[agent]
	d.mu.Unlock()
	took := 5 * time.Millisecond
	if agent == "near" {
		switch {
		case d.wrong == "sick" && nth%2 == 0:
			return nil, errors.New("503")
		case d.wrong == "slow":
			took = 200 * time.Millisecond
		case d.wrong == "gone":
			took = time.Hour
		}
	}
	if err := port.Sleep(ctx, took); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.effects[c.Key] = true
	return nil, nil
}

// measureRoutes runs orders with each fault of the agent near, and without a fault. It measures the calls of
// each agent and the durations of the orders. It makes each measurement twice: with both agents for the step
// (P44, several agents can do one step), and with only the agent near.
func measureRoutes(ctx context.Context, o options, dir string, f *figures, w io.Writer) error {
	for _, wrong := range []string{"", "sick", "slow", "gone"} {
		for _, text := range []string{routed, strings.Replace(routed, "agents: [near, far]", "agent: near",
			1)} {
			r, err := routesOnce(ctx, o, filepath.Join(dir, strconv.Itoa(len(f.Routes))), wrong, text)
			if err != nil {
				return fmt.Errorf("routes, %q: %w", wrong, err)
			}
			f.Routes = append(f.Routes, r)
			fmt.Fprintf(w,
				"%-23s %d orders: %d processed in time, %d calls near, %d far, median %.0f ms, last %.0f "+
					"ms, %d effects\n", r.Name, o.routes, r.Processed, r.Near, r.Far, r.P50MS, r.MaxMS,
				r.Effects)
		}
	}
	return nil
}

type route struct {
	Name      string  `json:"name"`
	Processed int     `json:"processed"`
	Near      int     `json:"near"` // number of calls
	Far       int     `json:"far"`
	Effects   int     `json:"effects"`
	P50MS     float64 `json:"p50_ms"`
	MaxMS     float64 `json:"max_ms"`
}

func routesOnce(ctx context.Context, o options, dir, wrong, text string) (r route, err error) {
	r.Name = "near well"
	if wrong != "" {
		r.Name = "near " + wrong
	}
	if !strings.Contains(text, "agents: [") {
		r.Name += ", no choice"
		text = strings.Replace(text, "  far: {queueAllowance: 1s}\n", "", 1)
	}
	d := &doorway{wrong: wrong, calls: map[string]int{}, effects: map[string]bool{}}
	opts, err := runtimeOptions(dir, d.operations(), map[string]string{"routed": text})
	if err != nil {
		return r, err
	}
	opts.Inside.Concurrency = 8
	opts.Log = slog.New(slog.DiscardHandler)
	s, err := embedded.Open(ctx, opts)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	pace := load.Request{Orders: o.routes, Concurrency: 1, PerSecond: 50}
	if _, err := load.Run(ctx, pace, func(i int) error {
		return submit(ctx, s, fmt.Appendf(nil,
			`{"schema":1,"orderId":"routed-%d","workflow":"routed","order":{}}`, i))
	}); err != nil {
		return r, err
	}
	return r, r.end(ctx, s, d)
}

func (r *route) end(ctx context.Context, s *embedded.Runtime, d *doorway) error {
	limited, cancel := context.WithTimeout(ctx, routesWait)
	defer cancel()
	if err := noneIn(limited, s, core.Processing, core.Compensating); err != nil &&
		!errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	all, err := processed(ctx, s)
	if err != nil {
		return err
	}
	var took []float64
	for i := range all {
		took = append(took, ms(all[i].EndedAt.Sub(all[i].Created).Std()))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	r.Processed = len(took)
	r.Near = d.calls["near"]
	r.Far = d.calls["far"]
	r.Effects = len(d.effects)
	if len(took) > 0 {
		r.P50MS = load.Percentile(took, 0.5)
		r.MaxMS = load.Percentile(took, 1)
	}
	return nil
}
