package runner

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/stepkeeper/stepkeeper/demo/stage"
)

const plainEvery = 2 * time.Second

// screen shows the progress of the demo: a bar on a terminal, and else a line now and then. One goroutine calls
// update; any may call event.
type screen struct {
	began time.Time
	pool  *mpb.Progress // nil without a terminal
	bar   *mpb.Bar
	last  time.Time // when update wrote a line

	writing sync.Mutex
	out     io.Writer

	mu  sync.Mutex // not held while the bar is written, which reads now
	now stage.Progress
}

func newScreen(out io.Writer, terminal bool, lines int) *screen {
	s := &screen{out: out, began: time.Now()}
	if terminal {
		s.pool = mpb.New(mpb.WithOutput(out), mpb.WithAutoRefresh(), mpb.WithWidth(28))
		s.bar = s.pool.AddBar(int64(max(1, lines)),
			mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return s.since() + " " })),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return " " + s.line() })),
		)
		s.out = s.pool
	}
	return s
}

func (s *screen) update(p stage.Progress) {
	s.mu.Lock()
	s.now = p
	s.mu.Unlock()
	switch {
	case s.bar != nil:
		s.bar.SetCurrent(int64(p.Ends()))
	case time.Since(s.last) >= plainEvery:
		s.last = time.Now()
		s.write("", s.line())
	}
}

func (s *screen) event(format string, args ...any) { s.write("* ", fmt.Sprintf(format, args...)) }

func (s *screen) write(mark, text string) {
	s.writing.Lock()
	defer s.writing.Unlock()
	// A bar that is complete takes no more lines, and the write fails. The line is not shown then.
	fmt.Fprintf(s.out, "%s  %s%s\n", s.since(), mark, text)
}

func (s *screen) close() {
	if s.bar != nil {
		s.bar.Abort(false)
		s.pool.Wait()
	}
}

func (s *screen) line() string {
	s.mu.Lock()
	p := s.now
	s.mu.Unlock()
	took := time.Since(s.began)
	left := ""
	if n := p.Ends(); n > 0 && n < p.Lines {
		rest := time.Duration(float64(took) * float64(p.Lines-n) / float64(n))
		left = fmt.Sprintf("  about %v left", rest.Round(time.Second))
	}
	return fmt.Sprintf(
		"submitted %d/%d  processed %d  undone %d  refused %d  error %d  in flight %d  %.0f orders/s%s",
		p.Answered, p.Lines, p.Processed, p.Undone, p.Refused, p.Error, p.Open,
		float64(p.Processed+p.Undone)/max(took.Seconds(), 0.001), left)
}

func (s *screen) since() string { return fmt.Sprintf("%5.1f s", time.Since(s.began).Seconds()) }
