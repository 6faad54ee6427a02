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

const pauseAfterBreak = 50 * time.Millisecond

// feeder submits the lines of the input, one order each, at an even pace. If the stream breaks, it sends the
// lines without a response again. Submitting a line again is harmless.
type feeder struct {
	engine *process.Process
	book   *stage.Book
	perSec int
}

func (f *feeder) run(ctx context.Context) {
	for {
		places := f.book.Open()
		if len(places) == 0 || ctx.Err() != nil {
			return
		}
		_ = f.stream(ctx, places) // After an error, the next pass sends the remaining lines.
		if port.Sleep(ctx, pauseAfterBreak) != nil {
			return
		}
	}
}

// stream sends the lines at the given places once. It stops if the process ends, because the next process has
// a new address.
func (f *feeder) stream(ctx context.Context, places []int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	api := f.engine.Client()
	exited := f.engine.Running()
	go func() {
		select {
		case <-exited:
			cancel()
		case <-ctx.Done():
		}
	}()
	out, in := io.Pipe()
	defer func() { _ = out.CloseWithError(errors.New("the stream has ended")) }()
	// This goroutine ends when the pipe is closed.
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

// forGood reports whether the server would refuse the line every time.
func forGood(e *client.Error) bool {
	return e.RetryAfter == 0 && !errors.Is(e, client.ErrInternal) && e.Code != "internal"
}

func (f *feeder) write(ctx context.Context, to io.Writer, places []int) error {
	r := load.Request{Orders: len(places), Concurrency: 1, PerSecond: float64(f.perSec)}
	_, err := load.Run(ctx, r, func(i int) error {
		text := f.book.Text(places[i])
		_, err := to.Write(append(text[:len(text):len(text)], '\n'))
		return err
	})
	return err
}
