package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Pump receives requests from a queue and lets the worker handle several at the same time.
type Pump struct {
	Queue       port.Queue
	Worker      *Worker
	Concurrency int // requests handled at the same time; default 10
	Batch       int // largest number of requests in one receive, 1 to port.MaxBatch; default 5
	// Visibility is how long a received request stays invisible; default 30 s. The pump extends this time
	// while it handles the request.
	Visibility time.Duration
	Drain      time.Duration // time for running requests after the context of Run ends; default 3 s
	Log        *slog.Logger  // nil means the worker's log
}

const (
	longPoll = 20 * time.Second // time that a receive waits for requests
	pause    = time.Second      // pause after a failed receive
)

// ErrUndrained means that requests were still running at the end of the drain time.
var ErrUndrained = errors.New("not drained")

func (p *Pump) complete() error {
	p.Concurrency = cmp.Or(p.Concurrency, 10)
	p.Batch = cmp.Or(p.Batch, 5)
	p.Visibility = cmp.Or(p.Visibility, 30*time.Second)
	p.Drain = cmp.Or(p.Drain, 3*time.Second)
	switch {
	case p.Queue == nil || p.Worker == nil:
		return fmt.Errorf("a pump needs a queue and a worker")
	case p.Concurrency < 1 || p.Batch < 1 || p.Batch > port.MaxBatch:
		return fmt.Errorf("pump of %s: concurrency %d must be at least 1, the batch %d from 1 to %d",
			p.Queue.Name(), p.Concurrency, p.Batch, port.MaxBatch)
	case p.Visibility < time.Second || p.Drain < 0:
		return fmt.Errorf("pump of %s: its times must be positive, the visibility timeout at least 1 s",
			p.Queue.Name())
	}
	p.Log = cmp.Or(p.Log, p.Worker.Log)
	return nil
}

// Run handles requests until ctx ends. Then Run waits for running requests for at most the time Drain. After
// this time, Run ends the context of requests that are still running, and these requests return to the queue.
// If operations ignore the end of their context, Run returns ErrUndrained. Their goroutines continue.
func (p *Pump) Run(ctx context.Context) error {
	if err := p.complete(); err != nil {
		return err
	}
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	held := &holds{queue: p.Queue, visibility: p.Visibility, log: p.Log, held: map[string]int{}}
	r := &running{
		Pump: p, held: held, received: make(chan port.Delivery, p.Concurrency),
		free: make(chan struct{}, p.Concurrency), receiver: make(chan struct{}, 1),
		deleted: make(chan string, p.Concurrency),
	}
	var attendants sync.WaitGroup
	attendants.Go(func() {
		port.Always(work, p.Log, "keeping requests invisible", func() { r.held.keep(work) })
	})
	attendants.Go(func() {
		// deleteAll runs until drain closes the channel deleted.
		port.Always(context.WithoutCancel(ctx), p.Log, "deleting requests", r.deleteAll)
	})
	for range p.Concurrency {
		r.free <- struct{}{}
		r.start(ctx, work)
	}
	r.receiver <- struct{}{}
	<-ctx.Done()
	err := r.drain(stop)
	stop()
	if err == nil {
		attendants.Wait()
	}
	return err
}

// running is a pump with its handler goroutines. One goroutine that handles nothing is the receiver. When requests
// come, it passes all but the first to other goroutines, another goroutine becomes the receiver, and it handles the
// first request itself. So a request that comes alone waits for no switch of goroutines.
type running struct {
	*Pump
	held     *holds
	free     chan struct{}      // one entry for each goroutine that handles nothing and waits for no reserved request
	receiver chan struct{}      // holds one entry, which the receiver takes
	received chan port.Delivery // requests for goroutines that are not free any more
	busy     sync.WaitGroup     // counts the handler goroutines; drain waits for them
	deleted  chan string        // receipts of handled requests
}

// start starts a handler goroutine. If a panic or a call of runtime.Goexit ends it, a new goroutine takes its place.
func (r *running) start(ctx, work context.Context) {
	r.busy.Go(func() {
		open := true
		defer func() {
			if open {
				r.start(ctx, work)
			}
		}()
		_ = port.Guard(r.Log, "handling a request", func() error {
			r.handleAll(ctx, work)
			open = false
			return nil
		})
	})
}

// handleAll handles requests until ctx has ended and no request is left.
func (r *running) handleAll(ctx, work context.Context) {
	for ctx.Err() == nil {
		select {
		case d := <-r.received:
			r.one(work, d)
		case <-r.receiver:
			r.receive(ctx, work)
		case <-ctx.Done():
		}
	}
	for {
		select {
		case d := <-r.received:
			r.one(work, d)
		default:
			return
		}
	}
}

// receive receives at most as many requests as the pump can handle now.
func (r *running) receive(ctx, work context.Context) {
	select {
	case <-r.free:
	default: // a request is reserved for this goroutine, so another one must be the receiver
		r.receiver <- struct{}{}
		r.one(work, <-r.received)
		return
	}
	free := 1
	for free < r.Batch && len(r.free) > 0 {
		<-r.free
		free++
	}
	var deliveries []port.Delivery
	err := port.Guard(r.Log, "receiving", func() (err error) {
		deliveries, err = r.Queue.Receive(ctx, free, longPoll, r.Visibility)
		return err
	})
	for i := range deliveries {
		r.held.add(deliveries[i].Receipt)
		if i > 0 {
			r.received <- deliveries[i]
		}
	}
	for range free - len(deliveries) {
		r.free <- struct{}{}
	}
	if err != nil && ctx.Err() == nil {
		r.Log.Warn("receiving failed; trying again", "queue", r.Queue.Name(), "error", err)
		_ = port.Sleep(ctx, pause) // the loop checks whether ctx has ended
	}
	r.receiver <- struct{}{}
	if len(deliveries) > 0 {
		r.one(work, deliveries[0])
	}
}

func (r *running) one(work context.Context, d port.Delivery) {
	defer func() { r.free <- struct{}{} }()
	defer r.held.remove(d.Receipt)
	r.handle(work, d)
}

func (r *running) handle(work context.Context, d port.Delivery) {
	v := r.Worker.Handle(work, d)
	r.held.remove(d.Receipt)
	if v.Delete {
		r.deleted <- d.Receipt
		return
	}
	ctx, cancel := outlasting(work, r.Worker.SendTimeout)
	defer cancel()
	// During a shutdown there is no backoff, so that another instance can take the request at once.
	if v.After <= 0 && work.Err() == nil {
		v.After = d.Backoff(r.Visibility)
	}
	err := r.Queue.Extend(ctx, []port.Extension{{Receipt: d.Receipt, For: v.After}})[0]
	if err != nil && !errors.Is(err, port.ErrReceipt) {
		r.Log.Warn(
			"a request could not be returned to the queue; it comes again when its visibility timeout has "+
				"passed", "queue", r.Queue.Name(), "messageId", d.ID, "error", err)
	}
}

// deleteAll deletes handled requests in batches. It does not wait for a batch to become full.
func (r *running) deleteAll() {
	for receipt := range r.deleted {
		receipts := []string{receipt}
	gather:
		for len(receipts) < port.MaxBatch {
			select {
			case next, open := <-r.deleted:
				if !open {
					break gather
				}
				receipts = append(receipts, next)
			default:
				break gather
			}
		}
		ctx, cancel := outlasting(context.Background(), r.Worker.SendTimeout)
		for _, err := range r.Queue.Delete(ctx, receipts) {
			if err != nil && !errors.Is(err, port.ErrReceipt) {
				r.Log.Warn("a handled request could not be deleted; it comes again and is answered again",
					"queue", r.Queue.Name(), "error", err)
			}
		}
		cancel()
	}
}

func (r *running) drain(stop func()) error {
	ended := make(chan struct{})
	go func() { // this goroutine cannot panic
		r.busy.Wait()
		close(r.deleted) // all senders have ended
		close(ended)
	}()
	if within(ended, r.Drain) {
		return nil
	}
	stop()
	if within(ended, time.Second) {
		return nil
	}
	return fmt.Errorf(
		"agent %q: operations have not ended %s after they were asked to; their requests come again: %w",
		r.Worker.Agent, time.Second, ErrUndrained)
}

func within(ended <-chan struct{}, d time.Duration) bool {
	select {
	case <-ended:
		return true
	case <-time.After(d): //nolint:forbidigo // a drain uses the machine's clock
		return false
	}
}
