package worker_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// pumping runs a pump inside a synctest bubble; stop ends it and answers its error.
func pumping(t *testing.T, b *bench, p worker.Pump) (stop func() error) {
	t.Helper()
	p.Queue, p.Worker = b.queue("requests-payment"), b.worker
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}
}

func (b *bench) ask(n int, stopBy time.Duration) {
	b.t.Helper()
	for range n {
		req := request(b.clock.Now())
		req.StopBy = req.ClaimedAt.Add(core.DurationOf(stopBy))
		req.Timeout = core.DurationOf(stopBy)
		if err := b.queue("requests-payment").Send(context.Background(), []port.Message{{Value: req}})[0]; err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *bench) depth() port.Depth {
	d, err := b.queue("requests-payment").Depth(context.Background())
	if err != nil {
		b.t.Fatal(err)
	}
	return d
}

// No more requests are handled at a time than said, and all of them in the end.
func TestPumpConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		b := newBench(t, port.ClockFunc(time.Now), worker.Config{Operations: charge(func(context.Context, worker.Call) (any, error) {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			time.Sleep(time.Second)
			return nil, nil
		})})
		stop := pumping(t, b, worker.Pump{Concurrency: 7, Batch: 3})
		start := time.Now()
		b.ask(70, time.Hour)
		for b.worker.Stats().Done < 70 {
			time.Sleep(100 * time.Millisecond)
		}
		if took := time.Since(start); took > 15*time.Second || most.Load() != 7 {
			t.Errorf("%d at a time, took %s", most.Load(), took)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if d := b.depth(); d.Visible+d.InFlight != 0 || len(b.replies()) != 70 {
			t.Errorf("left in the queue: %+v", d)
		}
	})
}

// A request that takes longer than the visibility timeout is not handled twice.
func TestPumpKeepsWhatItHandlesInvisible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		b := newBench(t, port.ClockFunc(time.Now), worker.Config{Operations: charge(func(context.Context, worker.Call) (any, error) {
			calls.Add(1)
			time.Sleep(10 * time.Minute)
			return nil, nil
		})})
		stop := pumping(t, b, worker.Pump{Visibility: 30 * time.Second})
		b.ask(1, time.Hour)
		time.Sleep(11 * time.Minute)
		if err := stop(); err != nil || calls.Load() != 1 || len(b.replies()) != 1 {
			t.Errorf("%d calls, %v", calls.Load(), err)
		}
	})
}

// Draining: what ends in time is answered, the rest is given back, what heeds no context is told.
func TestPumpDrains(t *testing.T) {
	for name, tt := range map[string]struct {
		takes   time.Duration
		heeds   bool
		replies int
		back    int
		err     error
		most    time.Duration
	}{
		"ends in time":    {2 * time.Second, true, 1, 0, nil, 2 * time.Second},
		"is cut short":    {time.Minute, true, 0, 1, nil, 3 * time.Second},
		"does not listen": {time.Minute, false, 0, 0, worker.ErrUndrained, 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, port.ClockFunc(time.Now), worker.Config{Operations: charge(func(ctx context.Context, _ worker.Call) (any, error) {
					if !tt.heeds {
						time.Sleep(tt.takes)
						return nil, nil
					}
					select {
					case <-time.After(tt.takes):
						return nil, nil
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				})})
				stop := pumping(t, b, worker.Pump{Drain: 3 * time.Second})
				b.ask(1, time.Hour)
				synctest.Wait()
				start := time.Now()
				if err := stop(); !errors.Is(err, tt.err) || time.Since(start) > tt.most {
					t.Errorf("%v after %s", err, time.Since(start))
				}
				if got, d := len(b.replies()), b.depth(); got != tt.replies || d.Visible != tt.back {
					t.Errorf("%d replies, queue %+v", got, d)
				}
				time.Sleep(2 * time.Minute) // lets the deaf one end inside the bubble
			})
		})
	}
}

// sickQueue fails to receive at first.
type sickQueue struct {
	port.Queue
	fails atomic.Int32
}

func (q *sickQueue) Receive(ctx context.Context, n int, wait, visibility time.Duration) ([]port.Delivery, error) {
	if q.fails.Add(-1) >= 0 {
		return nil, port.ErrUnavailable
	}
	return q.Queue.Receive(ctx, n, wait, visibility)
}

func TestPumpGoesOnAfterFailedReceives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, port.ClockFunc(time.Now), worker.Config{Operations: charge(always(nil, nil))})
		q := &sickQueue{Queue: b.queue("requests-payment")}
		q.fails.Store(5)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- (&worker.Pump{Queue: q, Worker: b.worker}).Run(ctx) }()
		b.ask(1, time.Hour)
		time.Sleep(10 * time.Second)
		cancel()
		if err := <-ended; err != nil || len(b.replies()) != 1 {
			t.Error(err)
		}
	})
}

func TestPumpsThatAreRefused(t *testing.T) {
	b := newBench(t, port.ClockFunc(time.Now), worker.Config{Operations: charge(always(nil, nil))})
	q := b.queue("requests-payment")
	for name, p := range map[string]worker.Pump{
		"no queue": {Worker: b.worker}, "batch": {Queue: q, Worker: b.worker, Batch: 11}, "concurrency": {Queue: q, Worker: b.worker, Concurrency: -1},
		"visibility": {Queue: q, Worker: b.worker, Visibility: time.Millisecond},
	} {
		if err := p.Run(context.Background()); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func BenchmarkHandle(b *testing.B) {
	t := &testing.T{}
	bn := newBench(t, port.ClockFunc(time.Now), worker.Config{Operations: charge(always(nil, nil)), Replies: discard{}, Retry: worker.Retry{Tries: 3}})
	b.ReportAllocs()
	for b.Loop() {
		bn.worker.Handle(context.Background(), delivery(request(time.Now())))
	}
}

type discard struct{ port.Queue }

func (discard) Send(_ context.Context, ms []port.Message) []error { return make([]error, len(ms)) }
