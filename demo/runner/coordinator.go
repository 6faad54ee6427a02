package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/demo/load"
	"github.com/stepkeeper/stepkeeper/demo/services"
	"github.com/stepkeeper/stepkeeper/demo/stage"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// minPoll is the shortest wait between two listings of the orders. maxPoll is the longest wait. The usual
// wait is five times the duration of the last listing. Until the last kill, the wait is minPoll.
const (
	minPoll = 200 * time.Millisecond
	maxPoll = 2 * time.Second
)

const pageSize = 1000

// coordinator runs the demo. It starts the outage and the kills when enough lines of the input have a final
// outcome.
type coordinator struct {
	*stage.Stage
	o        Options
	book     *stage.Book
	operator *stage.Operator
	screen   *screen
	rng      *rand.Rand
	began    time.Time

	lines    [][]byte
	idle     *time.Timer // ends the run after Options.Patience without progress
	done     int         // number of responses and final outcomes so far
	outageAt int         // the outage starts when this number of lines have a final outcome
	outage   bool
	killsAt  []int         // a kill happens when one of these numbers of lines have a final outcome
	firstUp  time.Duration // time that the first start took
}

// errIdle ends a run that makes no progress.
var errIdle = errors.New("no progress")

// coordinate runs the demo until its work is done, or until it makes no progress. The work is done when three
// conditions hold:
//
//   - Every line has a response.
//   - Every accepted order has ended.
//   - The operator has given up every order that is still in Error.
func (d *coordinator) coordinate(ctx context.Context) error {
	d.drawFaults()
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d.idle = time.AfterFunc(d.o.Patience, func() { cancel(errIdle) })
	defer d.idle.Stop()
	up, err := d.Start(limited)
	if err != nil {
		return err
	}
	d.firstUp = up
	d.screen.event("stepkeeper is ready after %d ms", up.Milliseconds())

	var feeding sync.WaitGroup
	feeding.Go(func() { d.feed(limited) })
	err = d.watch(limited)
	idle := errors.Is(context.Cause(limited), errIdle)
	cancel(nil)
	feeding.Wait()
	if err != nil && idle && ctx.Err() == nil {
		d.screen.event("no order has ended for %s", d.o.Patience)
		return d.look(ctx) // The report counts orders without an end as unfinished.
	}
	return err
}

// progress gives the run another span of Options.Patience if a line has got a response or an order has ended.
func (d *coordinator) progress(p stage.Progress) {
	if done := p.Answered + p.Ends(); done > d.done {
		d.done = done
		d.idle.Reset(d.o.Patience)
	}
}

func (d *coordinator) drawFaults() {
	lines := float64(len(d.lines))
	d.outageAt = int(lines * (0.10 + 0.10*d.rng.Float64()))
	for n := range d.o.Kills {
		at := 0.30 + 0.30*(float64(n)+d.rng.Float64())/float64(d.o.Kills)
		d.killsAt = append(d.killsAt, max(1, int(lines*at)))
	}
}

func (d *coordinator) watch(ctx context.Context) error {
	var outages sync.WaitGroup
	defer outages.Wait()
	for {
		asked := time.Now()
		if err := d.look(ctx); err != nil {
			return err
		}
		took := time.Since(asked)
		p := d.book.Progress()
		d.screen.update(p)
		d.progress(p)
		over := p.Answered == p.Lines && p.Open == 0 && p.Error == d.operator.GivenUp(d.book.Stopped())
		if !d.outage && d.o.Outage > 0 && p.Ends() >= d.outageAt && !over {
			d.outage = true
			outages.Go(func() { d.runOutage(ctx) })
		}
		// Kill Stepkeeper after it has called a service, not while it starts. If no work is left, kill it at
		// once.
		if len(d.killsAt) > 0 && (d.due(p) && d.AtWork() || over) {
			d.killsAt = d.killsAt[1:]
			if err := d.powerCut(ctx); err != nil {
				return err
			}
			continue
		}
		if err := d.handleStopped(ctx); err != nil {
			return err
		}
		if over {
			return nil
		}
		wait := min(max(minPoll, 5*took), maxPoll)
		if len(d.killsAt) > 0 {
			wait = minPoll // With a longer wait, a slow machine would miss the moment of the kill.
		}
		if err := port.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// due reports whether the next kill is due: enough lines have a final outcome, or enough lines have a
// response. A slow listing may hide final outcomes, but responses need no listing.
func (d *coordinator) due(p stage.Progress) bool {
	return p.Ends() >= d.killsAt[0] || p.Answered >= d.killsAt[0]+p.Lines/5
}

// look lists all orders. A failed listing is not an error, because the next call tries again. look returns an
// error only after ctx or Stepkeeper has ended.
func (d *coordinator) look(ctx context.Context) error {
	d.AtWork()
	var list []client.Summary
	var err error
	for s, failed := range d.Engine.Client().List(ctx, client.Query{PageSize: pageSize}) {
		err = failed
		if err == nil {
			list = append(list, s)
		}
	}
	if d.book.Observe(list, err); err == nil {
		return nil
	}
	// Check the context first, because an interrupt from the keyboard ends Stepkeeper too.
	if ctx.Err() != nil {
		return ctx.Err()
	}
	select {
	case <-d.Engine.Running():
		return fmt.Errorf("%w: it ended by itself; it said:\n%s", ErrStack, d.Engine.LogTail())
	default:
	}
	d.screen.event("no list of orders: %v", err)
	return nil
}

func (d *coordinator) runOutage(ctx context.Context) {
	d.screen.event("the payment service goes down for %s", d.o.Outage)
	d.Fleet.BeginOutage(services.Payment)
	_ = port.Sleep(ctx, d.o.Outage) // If the demo ends early, the outage ends too.
	d.Fleet.EndOutage(services.Payment)
	d.screen.event("the payment service is back")
}

func (d *coordinator) powerCut(ctx context.Context) error {
	p := d.book.Progress()
	if err := d.Kill(); err != nil {
		return err
	}
	d.screen.event("kill -9 with %d orders in flight", p.Open)
	up, err := d.Start(ctx)
	if err != nil {
		return err
	}
	d.screen.event("stepkeeper is back, ready after %d ms", up.Milliseconds())
	return nil
}

// handleStopped lets the operator handle the orders in Error. It prints the operator's errors and continues.
// The next call handles the orders that stay in Error.
func (d *coordinator) handleStopped(ctx context.Context) error {
	for _, id := range d.book.Stopped() {
		before := d.operator.Resubmits[id]
		if err := d.operator.Attend(ctx, id); err != nil && ctx.Err() == nil {
			d.screen.event("operator, order %s: %v", id, err)
		}
		if d.operator.Resubmits[id] > before {
			d.screen.event("operator: order %s was in doubt, looked up and resubmitted", id)
		}
	}
	return ctx.Err()
}

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
