package streams

import (
	"fmt"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Progress is a progress bar on standard error. It prints nothing if standard error is not a terminal.
type Progress struct {
	pool *mpb.Progress
	bar  *mpb.Bar
}

// Progress starts a progress bar for total items. A total of 0 means that the number is unknown.
func (s *Streams) Progress(label string, total int64) *Progress {
	if !s.errTerminal {
		return &Progress{}
	}
	pool := mpb.New(mpb.WithOutput(s.Err), mpb.WithWidth(min(40, s.Width()/2)))
	bar := pool.AddBar(total,
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(label+" ")),
		mpb.AppendDecorators(decor.CountersNoUnit("%d / %d"), decor.Name(" "),
			decor.AverageETA(decor.ET_STYLE_GO)),
	)
	return &Progress{pool: pool, bar: bar}
}

// Add adds n completed items.
func (p *Progress) Add(n int) {
	if p.bar != nil {
		p.bar.IncrBy(n)
	}
}

// Done removes the bar. Calling Done twice is harmless.
func (p *Progress) Done() {
	if p.bar == nil {
		return
	}
	p.bar.Abort(true)
	p.pool.Wait()
	p.bar = nil
}

const beat = 15 * time.Second

// Meanwhile says on standard error every 15 seconds that a long step goes on, and for how long, until the
// caller calls done. It returns done.
func (s *Streams) Meanwhile(step string) (done func()) {
	stop := make(chan struct{})
	began := time.Now()
	var ended sync.WaitGroup
	ended.Go(func() {
		_ = port.Guard(nil, "progress of a long step", func() error { // without its lines the step goes on
			s.report(step, began, stop)
			return nil
		})
	})
	return func() {
		close(stop)
		ended.Wait()
	}
}

func (s *Streams) report(step string, began time.Time, stop <-chan struct{}) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			fmt.Fprintf(s.Err, "%s: %s so far\n", step, time.Since(began).Round(time.Second))
		}
	}
}
