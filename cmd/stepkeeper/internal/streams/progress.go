package streams

import (
	"context"
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
	label string
	began time.Time
	says  func(done, total int64, took time.Duration) string
	stop  func() // ends the ticks; nil without ticks

	mu          sync.Mutex
	done, total int64
	ended       bool
	pool        *mpb.Progress // nil before the bar appears, and after Done
	bar         *mpb.Bar
}

const (
	patience = time.Second      // how long a step takes before its bar appears
	beat     = 15 * time.Second // time between two lines
)

// Progress starts a progress bar for total items. A total of 0 means that the number is unknown. It prints
// nothing if standard error is not a terminal.
func (s *Streams) Progress(label string, total int64) *Progress {
	return &Progress{s: s, label: label, began: time.Now(), total: total, says: counted}
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
	if !s.errTerminal {
		p.tick(beat, p.say)
	}
	return p
}

// Meanwhile starts the progress of a step whose parts cannot be counted. It usually takes the time about; 0
// means that this is unknown. Without a terminal a line every 15 seconds says that the step goes on.
func (s *Streams) Meanwhile(step string, about time.Duration) *Progress {
	p := s.Progress(step, int64(about/time.Second))
	p.says = func(_, _ int64, took time.Duration) string { return left(took, about) }
	if !s.errTerminal {
		p.tick(beat, p.say)
		return p
	}
	p.tick(time.Second, func() {
		took := time.Since(p.began)
		if took >= about { // a complete bar would disappear before the step ends
			took = 0
		}
		p.Set(int(took/time.Second), 0)
	})
	return p
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

// tick calls f at each tick until Done.
func (p *Progress) tick(every time.Duration, f func()) {
	ctx, stop := context.WithCancel(context.Background())
	var ticking sync.WaitGroup
	p.stop = func() { stop(); ticking.Wait() }
	ticking.Go(func() {
		_ = port.Guard(nil, "progress of a long step", func() error { // without its lines the step goes on
			for port.Sleep(ctx, every) == nil {
				f()
			}
			return nil
		})
	})
}

func (p *Progress) say() {
	p.mu.Lock()
	text := p.label + ": " + p.says(p.done, p.total, time.Since(p.began))
	p.mu.Unlock()
	p.s.Say(text)
}

// to moves the bar, and makes it appear in time. The caller holds the lock.
func (p *Progress) to(done, total int64) {
	p.done = max(p.done, done)
	p.total = max(p.total, total)
	if p.ended || !p.s.errTerminal || p.pool == nil && time.Since(p.began) < patience {
		return
	}
	if p.pool == nil {
		p.pool = mpb.New(mpb.WithOutput(p.s.Err), mpb.WithAutoRefresh(), mpb.WithWidth(p.s.Width()))
		p.bar = p.pool.AddBar(p.total, mpb.BarWidth(min(40, p.s.Width()/3)), mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Name(p.label+" ")),
			mpb.AppendDecorators(decor.Any(func(at decor.Statistics) string {
				return p.says(at.Current, at.Total, time.Since(p.began))
			})))
	}
	if p.total > 0 {
		p.bar.SetTotal(p.total, false)
	}
	p.bar.SetCurrent(p.done)
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
		p.stop()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.pool == nil {
		return
	}
	p.bar.Abort(true)
	p.pool.Wait()
	p.pool = nil
}
