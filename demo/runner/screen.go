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

// screen shows the progress of the demo. Its methods may be called concurrently.
type screen interface {
	update(p stage.Progress)
	event(format string, args ...any)
	close()
}

func newScreen(out io.Writer, terminal bool, lines int) screen {
	if terminal {
		return newBarScreen(out, lines)
	}
	return &plainScreen{out: out, began: time.Now()}
}

type plainScreen struct {
	mu    sync.Mutex
	out   io.Writer
	began time.Time
	last  time.Time
}

func (s *plainScreen) update(p stage.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.last) < plainEvery {
		return
	}
	s.last = time.Now()
	fmt.Fprintf(s.out, "%s  %s\n", since(s.began), line(p, time.Since(s.began)))
}

func (s *plainScreen) event(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, "%s  * %s\n", since(s.began), fmt.Sprintf(format, args...))
}

func (s *plainScreen) close() {}

type barScreen struct {
	all   *mpb.Progress
	bar   *mpb.Bar
	began time.Time
	mu    sync.Mutex
	now   stage.Progress
}

func newBarScreen(out io.Writer, lines int) *barScreen {
	s := &barScreen{began: time.Now()}
	s.all = mpb.New(mpb.WithOutput(out), mpb.WithAutoRefresh(), mpb.WithWidth(28))
	s.bar = s.all.AddBar(int64(max(1, lines)),
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return since(s.began) + " " })),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
			s.mu.Lock()
			defer s.mu.Unlock()
			return " " + line(s.now, time.Since(s.began))
		})),
	)
	return s
}

func (s *barScreen) update(p stage.Progress) {
	s.mu.Lock()
	s.now = p
	s.mu.Unlock()
	s.bar.SetCurrent(int64(p.Ends()))
}

func (s *barScreen) event(format string, args ...any) {
	// The write fails after the bar is complete. The event is then not shown.
	_, _ = fmt.Fprintf(s.all, "%s  * %s\n", since(s.began), fmt.Sprintf(format, args...))
}

func (s *barScreen) close() {
	s.bar.Abort(false)
	s.all.Wait()
}

func line(p stage.Progress, d time.Duration) string {
	left := ""
	if n := p.Ends(); n > 0 && n < p.Lines {
		rest := time.Duration(float64(d) * float64(p.Lines-n) / float64(n))
		left = fmt.Sprintf("  about %v left", rest.Round(time.Second))
	}
	return fmt.Sprintf(
		"submitted %d/%d  processed %d  undone %d  refused %d  error %d  in flight %d  %.0f orders/s%s",
		p.Answered, p.Lines, p.Processed, p.Undone, p.Refused, p.Error, p.Open,
		float64(p.Processed+p.Undone)/max(d.Seconds(), 0.001), left)
}

func since(t time.Time) string { return fmt.Sprintf("%5.1f s", time.Since(t).Seconds()) }
