package runner

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/demo/load"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

const (
	senders           = 16
	pauseWithoutReply = 50 * time.Millisecond
)

// feed submits the lines of the input, one order each, at an even pace. It submits a line again until it has a
// response, because Stepkeeper is killed meanwhile. Submitting a line again is harmless.
func (d *coordinator) feed(ctx context.Context) {
	r := load.Request{Orders: len(d.lines), Concurrency: senders, PerSecond: float64(d.o.PerSec)}
	_, _ = load.Run(ctx, r, func(place int) error { // The only error is the end of ctx.
		for !d.submit(ctx, place) {
			if err := port.Sleep(ctx, pauseWithoutReply); err != nil {
				return err
			}
		}
		return nil
	})
}

// submit submits a line once. It reports whether the line has its final response.
func (d *coordinator) submit(ctx context.Context, place int) (answered bool) {
	_ = d.Engine.Client().SubmitMany(ctx, bytes.NewReader(d.lines[place]), func(r client.Result) {
		var refusal *client.Error
		switch {
		case r.Accepted:
			d.book.Accept(place, r.OrderID)
			answered = true
		case errors.As(r.Err, &refusal) && forGood(refusal):
			d.book.Refuse(place, refusal.Code)
			answered = true
		}
	})
	return answered
}

// forGood reports whether the server would refuse the line every time.
func forGood(e *client.Error) bool {
	return e.RetryAfter == 0 && !errors.Is(e, client.ErrInternal) && e.Code != "internal"
}
