package runner

import (
	"context"
	"errors"
	"io"
	"time"
)

// pauseAfterBreak is how long the feeder waits before it sends again.
const pauseAfterBreak = 50 * time.Millisecond

// feeder submits the lines at an even pace until each is answered. When the stream breaks it
// sends again what was not answered: that is harmless, and the only way to know.
type feeder struct {
	engine *engine
	book   *book
	perSec int
	began  time.Time
}

// run ends when every line is answered or the context ends.
func (f *feeder) run(ctx context.Context) {
	f.began = time.Now()
	for {
		places := f.book.open()
		if len(places) == 0 || ctx.Err() != nil {
			return
		}
		_ = f.stream(ctx, places) // an error shows in the lines that stay open
		if sleep(ctx, pauseAfterBreak) != nil {
			return
		}
	}
}

// stream sends the lines at these places once.
func (f *feeder) stream(ctx context.Context, places []int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out, in := io.Pipe()
	defer func() { _ = out.CloseWithError(errors.New("the stream has ended")) }()
	go func() { _ = in.CloseWithError(f.write(ctx, in, places)) }() // ends with the pipe
	return f.engine.stream(ctx, out, func(a lineAnswer) {
		if a.Line < 1 || a.Line > len(places) {
			return
		}
		switch place := places[a.Line-1]; {
		case a.Accepted:
			f.book.accept(place, a.OrderID)
		case a.Error != nil && a.Error.RetryAfter == 0 && a.Error.Code != "internal":
			f.book.refuse(place, a.Error.Code)
		}
	})
}

func (f *feeder) write(ctx context.Context, to io.Writer, places []int) error {
	for _, place := range places {
		due := f.began.Add(time.Duration(place) * time.Second / time.Duration(f.perSec))
		if err := sleep(ctx, time.Until(due)); err != nil {
			return err
		}
		text := f.book.lines[place].text
		if _, err := to.Write(append(text[:len(text):len(text)], '\n')); err != nil {
			return err
		}
	}
	return nil
}

// sleep waits; it ends early, with an error, when the context does.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
