package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

const timer = `workflow: timer
steps:
  wait: {wait: {until: "${ order.until }"}}
`

// timersPerS is a rate of submissions that the machine surely has; the common time is that far away, and a little more.
const timersPerS = 1500

// measureTimers lets many orders wait for the same second: how late they end, how fast, and the memory that they take.
func measureTimers(ctx context.Context, o options, f *figures, w io.Writer) (err error) {
	dir, remove, err := temp()
	if err != nil {
		return err
	}
	defer remove()
	opts, err := runtimeOptions(dir, operations())
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(opts.Workflows, "timer.yaml"), []byte(timer), 0o600); err != nil {
		return err
	}
	s, err := embedded.Open(ctx, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	until := core.TimeOf(time.Now().Add(10*time.Second + time.Duration(o.timers)*time.Second/timersPerS).Truncate(time.Second))
	if err := submitTimers(ctx, s, o.timers, until); err != nil {
		return err
	}
	if time.Now().After(until.Std()) {
		return errors.New("the submissions took longer than the wait: measure fewer --timers")
	}
	if f.TimersRSSMB, err = peakMemory(); err != nil {
		return err
	}
	late, err := lateness(ctx, s, o.timers, until)
	if err != nil {
		return err
	}
	f.Timers, f.TimerLateP50MS, f.TimerLateMaxMS = o.timers, percentile(late, 0.5), percentile(late, 1)
	fmt.Fprintf(w, "timers                  %d due in one second: the median ends %.0f ms late, the last %.0f ms; %.0f MB while they wait\n",
		f.Timers, f.TimerLateP50MS, f.TimerLateMaxMS, f.TimersRSSMB)
	return nil
}

func submitTimers(ctx context.Context, s *embedded.Runtime, n int, until core.Time) error {
	const group = 100
	_, err := throughput((n+group-1)/group, 16, func(i int) error {
		var orders []message.SubmitOrder
		for k := i * group; k < min(n, (i+1)*group); k++ {
			o, err := message.DecodeSubmit(fmt.Appendf(nil, `{"schema":1,"orderId":"timer-%d","workflow":"timer","order":{"until":%q}}`, k, until.String()))
			if err != nil {
				return err
			}
			orders = append(orders, o)
		}
		for _, r := range s.Submit(ctx, orders) {
			if r.Err != nil {
				return r.Err
			}
		}
		return nil
	})
	return err
}

// lateness waits for all ends, and answers how many ms after the time each came.
func lateness(ctx context.Context, s *embedded.Runtime, n int, until core.Time) ([]float64, error) {
	for tick := time.NewTicker(100 * time.Millisecond); ; {
		open, _, err := s.List(ctx, port.Query{State: string(core.Processing), Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(open) == 0 {
			tick.Stop()
			break
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
	}
	var late []float64
	for cursor, first := "", true; cursor != "" || first; first = false {
		page, next, err := s.List(ctx, port.Query{State: string(core.Processed), Limit: 1000, Cursor: cursor})
		if err != nil {
			return nil, err
		}
		for i := range page {
			late = append(late, ms(page[i].EndedAt.Sub(until).Std()))
		}
		cursor = next
	}
	if len(late) != n {
		return nil, fmt.Errorf("%d of %d orders ended well", len(late), n)
	}
	return late, nil
}
