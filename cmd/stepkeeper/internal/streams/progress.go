package streams

import (
	"fmt"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Progress shows on standard error how far a command is, and what is left. On a terminal it is a bar, which
// appears after a second. Other outputs get a line now and then. Its methods may be called concurrently.
type Progress struct {
	s     *Streams
	began time.Time
	make  func(total int64) (*mpb.Progress, *mpb.Bar) // nil without a terminal
	stop  chan struct{}                               // closed by Done; nil without lines
	ends  sync.WaitGroup

	mu          sync.Mutex
	done, total int64
	pool        *mpb.Progress // nil before the bar appears, and after Done
	bar         *mpb.Bar
}

// patience is how long a step takes before its bar appears.
const patience = time.Second

// Progress starts a progress bar for total items. A total of 0 means that the number is unknown. It prints
// nothing if standard error is not a terminal.
func (s *Streams) Progress(label string, total int64) *Progress {
	began := time.Now()
	return s.start(label, total, func(at decor.Statistics) string {
		return counted(at.Current, at.Total, time.Since(began))
	})
}

func counted(done, total int64, took time.Duration) string {
	switch {
	case total <= 0:
		return fmt.Sprintf("%d, %v so far", done, took.Round(time.Second))
	case done == 0:
		return fmt.Sprintf("0 / %d, %v so far", total, took.Round(time.Second))
	}
	rest := time.Duration(float64(took) * float64(total-done) / float64(done))
	return fmt.Sprintf("%d / %d, about %v left", done, total, rest.Round(time.Second))
}

// Search is like Progress, for what may take minutes. Without a terminal a line every 15 seconds says how far it is.
func (s *Streams) Search(label string, total int64) *Progress {
	p := s.Progress(label, total)
	p.lines(func() string {
		p.mu.Lock()
		defer p.mu.Unlock()
		return label + ": " + counted(p.done, p.total, time.Since(p.began))
	})
	return p
}

// Meanwhile starts the progress of a step whose parts cannot be counted. It usually takes the time about; 0
// means that this is unknown. Without a terminal a line every 15 seconds says that the step goes on.
func (s *Streams) Meanwhile(step string, about time.Duration) *Progress {
	began := time.Now()
	p := s.start(step, int64(about/time.Second),
		func(decor.Statistics) string { return left(time.Since(began), about) })
	p.lines(func() string {
		took := time.Since(began)
		if took < about { // a complete bar would disappear before the step ends
			p.Set(int(took/time.Second), 0)
		} else {
			p.Set(0, 0)
		}
		return step + ": " + left(took, about)
	})
	return p
}

func (s *Streams) start(label string, total int64, says func(decor.Statistics) string) *Progress {
	p := &Progress{s: s, began: time.Now(), total: total}
	if !s.errTerminal {
		return p
	}
	p.make = func(total int64) (*mpb.Progress, *mpb.Bar) {
		pool := mpb.New(mpb.WithOutput(s.Err), mpb.WithAutoRefresh(), mpb.WithWidth(s.Width()))
		return pool, pool.AddBar(total, mpb.BarWidth(min(40, s.Width()/3)), mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Name(label+" ")), mpb.AppendDecorators(decor.Any(says)))
	}
	return p
}

// to moves the bar, and makes it appear in time. The caller holds the lock.
func (p *Progress) to(done, total int64) {
	p.done = max(p.done, done)
	p.total = max(p.total, total)
	if p.make == nil {
		return
	}
	if p.pool == nil {
		if time.Since(p.began) < patience {
			return
		}
		p.pool, p.bar = p.make(p.total)
	}
	if p.total > 0 {
		p.bar.SetTotal(p.total, false)
	}
	p.bar.SetCurrent(p.done)
}

const beat = 15 * time.Second

// lines calls says each second for a bar, and else prints what it returns, until Done.
func (p *Progress) lines(says func() string) {
	bar := p.make != nil
	every := beat
	if bar {
		every = time.Second
	}
	stop := make(chan struct{})
	p.stop = stop
	p.ends.Go(func() {
		_ = port.Guard(nil, "progress of a long step", func() error { // without its lines the step goes on
			tick := time.NewTicker(every)
			defer tick.Stop()
			for {
				select {
				case <-stop:
					return nil
				case <-tick.C:
				}
				text := says()
				if !bar {
					p.s.Say(text)
				}
			}
		})
	})
}

func left(took, about time.Duration) string {
	text := took.Round(time.Second).String() + " so far"
	switch {
	case about == 0:
		return text
	case took < about:
		return text + ", about " + (about - took).Round(time.Second).String() + " left"
	}
	return text + ", longer than usual"
}

// Write prints lines that come meanwhile. On a terminal they appear above the bar.
func (p *Progress) Write(line []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pool != nil {
		return p.pool.Write(line)
	}
	return p.s.Err.Write(line)
}

// Add adds n completed items.
func (p *Progress) Add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to(p.done+int64(n), 0)
}

// Set says how many items are complete, and of how many; 0 means that this is unknown.
func (p *Progress) Set(done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to(int64(done), int64(total))
}

// Done removes the bar. Calling Done twice is harmless.
func (p *Progress) Done() {
	if p.stop != nil {
		close(p.stop)
		p.stop = nil
		p.ends.Wait()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.make = nil
	if p.pool == nil {
		return
	}
	p.bar.Abort(true)
	p.pool.Wait()
	p.pool = nil
}
