package bulk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

const (
	mostInFlight = 50                    // maximum number of sent commands without a result
	firstLook    = 50 * time.Millisecond // pause before the second look at an order; each pause is twice as long
	slowestLook  = time.Second
	fewest       = 5 // smallest number of results to which StopAt applies
	mostSilent   = 5 // number of consecutive commands without a response after which the list stops
)

// each calls f with the numbers from 0 to n-1. It makes several calls at once.
func each(ctx context.Context, n int, f func(i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error { return port.Guard(nil, "an order of a list", func() error { return f(i) }) })
	}
	return g.Wait()
}

type work struct {
	*List
	c        *client.Client
	mu       sync.Mutex
	stopped  string // reason why the list stopped; "" while it runs
	silent   int
	report   func(Report)
	failures error
}

// ErrElsewhere is the error of Belongs for a list of another server or stack.
var ErrElsewhere = errors.New("it is not of this server or stack")

// Belongs returns an error if the server does not have the orders of the list. The first order that is left, and that
// the server has, decides.
func (l *List) Belongs(ctx context.Context, c *client.Client) error {
	left := 0
	for i := range l.orders {
		o := l.order(i)
		if o.Result.final() {
			continue
		}
		left++
		t, err := c.Get(ctx, o.OrderID)
		switch {
		case errors.Is(err, client.ErrNotFound):
			continue
		case err != nil || o.Created == 0 || t.Created == 0 || o.Created == t.Created:
			return err
		}
		return fmt.Errorf("%w: its order %s was received at another time", ErrElsewhere, o.OrderID)
	}
	if left > 0 {
		return fmt.Errorf("%w, or its orders have expired: none of the %d that are left is there", ErrElsewhere, left)
	}
	return nil
}

// Run sends the remaining commands and waits for the result of each order. It calls report, if not nil, after
// each result. If Run stops early, a later call of Run can continue. Run stops early in these cases:
//   - The result of an order of the canary is neither Fixed nor Refused.
//   - Too many orders failed again.
//   - Several commands in a row got no response.
//   - The file of the list cannot be written.
//   - The context ended.
func (l *List) Run(ctx context.Context, c *client.Client, report func(Report)) (Report, error) {
	w := &work{List: l, c: c, report: report}
	left := []int{}
	fixed := 0
	for i := range l.orders {
		switch o := l.order(i); {
		case !o.Result.final():
			left = append(left, i)
		case o.Result == Fixed:
			fixed++
		}
	}
	for fixed < l.Canary && len(left) > 0 && w.why(ctx) == "" {
		few := left[:min(l.Canary-fixed, len(left))]
		left = left[len(few):]
		w.send(ctx, few)
		for _, i := range few {
			switch o := l.order(i); o.Result {
			case Fixed:
				fixed++
			case Refused:
			default:
				if ctx.Err() != nil {
					break
				}
				w.stop(fmt.Sprintf("%s of the canary was not fixed: %s", o.OrderID, o.state()))
			}
		}
	}
	w.send(ctx, left)
	r := l.Report()
	if len(r.NotSent) > 0 || ctx.Err() != nil {
		r.Stopped = w.why(ctx)
	}
	return r, errors.Join(w.failures, l.file.Sync())
}

func (o *Order) state() string {
	text := string(o.Result)
	text = cmp.Or(text, "not sent")
	if o.Text != "" {
		text += ", " + o.Text
	}
	return text
}

func (w *work) stop(why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped == "" {
		w.stopped = why
	}
}

func (w *work) why(ctx context.Context) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped == "" && ctx.Err() != nil {
		return "it was interrupted"
	}
	return w.stopped
}

func (w *work) send(ctx context.Context, some []int) {
	pace := time.NewTicker(time.Duration(float64(time.Second) / w.Rate))
	defer pace.Stop()
	var all errgroup.Group // The end of ctx ends each goroutine.
	all.SetLimit(mostInFlight)
	for _, i := range some {
		if w.skip(ctx, i) {
			continue
		}
		select {
		case <-ctx.Done():
		case <-pace.C:
		}
		all.Go(func() error {
			err := port.Guard(nil, "an order of a list", func() error { w.one(ctx, i); return nil })
			if err != nil {
				w.set(i, Unknown, err.Error())
			}
			return nil
		})
	}
	_ = all.Wait() // No goroutine returns an error.
}

// skip reports whether to leave out an order. After the list has stopped, only orders with an accepted
// command continue.
func (w *work) skip(ctx context.Context, i int) bool {
	return w.why(ctx) != "" && w.order(i).Result != Accepted
}

func (w *work) one(ctx context.Context, i int) {
	if ctx.Err() != nil || w.skip(ctx, i) {
		return
	}
	o := w.order(i)
	v, err := w.command(ctx, &o)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		w.set(i, Unknown, err.Error())
		w.answered(false)
		return
	case !v.Accepted:
		w.set(i, Refused, v.Reason)
		w.answered(true)
		return
	}
	w.answered(true)
	if o.Result != Accepted {
		w.set(i, Accepted, v.Reason)
	}
	w.watch(ctx, i, &o)
}

// command sends the command to an order. A cancel has no command number. Therefore command itself refuses a
// cancel if the order has accepted a different command since the list was made.
func (w *work) command(ctx context.Context, o *Order) (client.Verdict, error) {
	if w.Command == "cancel" {
		t, err := w.c.Get(ctx, o.OrderID)
		if err != nil {
			return client.Verdict{}, err
		}
		known := false
		for _, v := range t.Verdicts {
			known = known || v.ID == commandID(w.Bulk, o.OrderID)
		}
		if !known && t.Command != o.Number {
			return client.Verdict{Reason: "the order got another command after the list was made"}, nil
		}
	}
	return w.Send(ctx, w.c, o.OrderID, o.Number, commandID(w.Bulk, o.OrderID))
}

// answered counts consecutive commands without a response. If there are too many, answered stops the list.
func (w *work) answered(answer bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silent++
	if answer {
		w.silent = 0
	}
	if w.silent >= mostSilent && w.stopped == "" {
		w.stopped = fmt.Sprintf("%d commands in a row got no response", w.silent)
	}
}

// watch waits until the result of an accepted command is known, or until the time in the field Patience has
// passed.
func (w *work) watch(ctx context.Context, i int, o *Order) {
	until := time.After(time.Duration(w.Patience * float64(time.Second)))
	for pause := firstLook; ; pause = min(2*pause, slowestLook) {
		t, err := w.c.Get(ctx, o.OrderID)
		switch {
		case errors.Is(err, client.ErrNotFound):
			w.set(i, Unknown, "it is no longer stored")
			return
		case err == nil:
			if r, text := becameOf(&w.Header, o, t); r != "" {
				w.set(i, r, text)
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-until:
			text := "it is still running"
			if err != nil {
				text = err.Error()
			}
			w.set(i, Unknown, text)
			return
		case <-time.After(pause):
		}
	}
}

// set records and reports a result. It stops the list if the file cannot be written, or if too many orders
// have failed again.
func (w *work) set(i int, r Result, text string) {
	if err := w.record(i, r, text, time.Now().UTC()); err != nil {
		w.mu.Lock()
		w.failures = errors.Join(w.failures, err)
		w.mu.Unlock()
		w.stop("the file of the list cannot be written: " + err.Error())
	}
	if r != Again && w.report == nil { // The report counts the whole list. It is made only if needed.
		return
	}
	now := w.Report()
	if n := len(now.Again) + len(now.Fixed); r == Again && n >= fewest &&
		float64(len(now.Again)) > w.StopAt*float64(n) {
		w.stop(fmt.Sprintf("%d of %d failed again", len(now.Again), n))
	}
	if w.report != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.report(now)
	}
}
