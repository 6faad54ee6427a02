package runner

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/demo/load"
	"github.com/stepkeeper/stepkeeper/demo/process"
	"github.com/stepkeeper/stepkeeper/demo/stage"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// pauseAfterBreak is the time that the feeder waits before it sends again.
const pauseAfterBreak = 50 * time.Millisecond

// feeder submits the lines at an even pace until each has an answer. When the stream breaks, it sends the
// lines without an answer again. A repeated submission is harmless, and the server answers it.
type feeder struct {
	engine *process.Process
	book   *stage.Book
	perSec int
}

// run ends when every line is answered or the context ends.
func (f *feeder) run(ctx context.Context) {
	for {
		places := f.book.Open()
		if len(places) == 0 || ctx.Err() != nil {
			return
		}
		_ = f.stream(ctx, places) // after an error the lines stay open, and are sent again
		if port.Sleep(ctx, pauseAfterBreak) != nil {
			return
		}
	}
}

// stream sends the lines at these places once, to the present process. A later process has another address.
func (f *feeder) stream(ctx context.Context, places []int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	api, exited := f.engine.Client(), f.engine.Running()
	go func() {
		select {
		case <-exited:
			cancel()
		case <-ctx.Done():
		}
	}()
	out, in := io.Pipe()
	defer func() { _ = out.CloseWithError(errors.New("the stream has ended")) }()
	// the goroutine ends when the pipe is closed
	go func() { _ = in.CloseWithError(f.write(ctx, in, places)) }()
	return api.SubmitMany(ctx, out, func(r client.Result) {
		if r.Line < 1 || r.Line > len(places) {
			return
		}
		var refusal *client.Error
		switch place := places[r.Line-1]; {
		case r.Accepted:
			f.book.Accept(place, r.OrderID)
		case errors.As(r.Err, &refusal) && forGood(refusal):
			f.book.Refuse(place, refusal.Code)
		}
	})
}

// forGood reports whether the server would refuse the line each time.
func forGood(e *client.Error) bool {
	return e.RetryAfter == 0 && !errors.Is(e, client.ErrInternal) && e.Code != "internal"
}

// write writes the lines at these places at the demo's rate.
func (f *feeder) write(ctx context.Context, to io.Writer, places []int) error {
	r := load.Request{Orders: len(places), Concurrency: 1, PerSecond: float64(f.perSec)}
	_, err := load.Run(ctx, r, func(i int) error {
		text := f.book.Text(places[i])
		_, err := to.Write(append(text[:len(text):len(text)], '\n'))
		return err
	})
	return err
}
