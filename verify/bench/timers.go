package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stepkeeper/stepkeeper/demo/load"
	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

const timer = `workflow: timer
steps:
  wait: {wait: {until: "${ order.until }"}}
`

// timersPerS is a rate of submissions that every machine should reach. measureTimers uses the rate to choose
// the end of the waits, which must come after the last submission.
const timersPerS = 1500

// measureTimers runs many orders whose waits end in the same second. It measures how late each order ends,
// and the memory in use during the waits.
func measureTimers(ctx context.Context, o options, dir string, f *figures, w io.Writer) (err error) {
	opts, err := runtimeOptions(dir, operations(), map[string]string{"timer": timer})
	if err != nil {
		return err
	}
	s, err := embedded.Open(ctx, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	until := core.TimeOf(time.Now().Add(10*time.Second +
		time.Duration(o.timers)*time.Second/timersPerS).Truncate(time.Second))
	if err := submitAll(ctx, s, o.timers, 16, func(k int) []byte {
		return fmt.Appendf(nil, `{"schema":1,"orderId":"timer-%d","workflow":"timer","order":{"until":%q}}`,
			k, until.String())
	}); err != nil {
		return err
	}
	if time.Now().After(until.Std()) {
		return errors.New("the submissions took longer than the wait: measure fewer --timers")
	}
	f.TimersRSSMB, err = peakMemory()
	if err != nil {
		return err
	}
	if err := noneIn(ctx, s, core.Processing); err != nil {
		return err
	}
	all, err := processed(ctx, s)
	if err != nil {
		return err
	}
	if len(all) != o.timers {
		return fmt.Errorf("%d of %d orders ended well", len(all), o.timers)
	}
	var late []float64
	for i := range all {
		late = append(late, ms(all[i].EndedAt.Sub(until).Std()))
	}
	f.Timers = o.timers
	f.TimerLateP50MS = load.Percentile(late, 0.5)
	f.TimerLateMaxMS = load.Percentile(late, 1)
	fmt.Fprintf(w,
		"timers                  %d due in one second: the median ends %.0f ms late, the last %.0f ms; "+
			"%.0f MB while they wait\n",
		f.Timers, f.TimerLateP50MS, f.TimerLateMaxMS, f.TimersRSSMB)
	return nil
}
