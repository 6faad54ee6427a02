package worker_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// pumping runs a pump of the queue, or of the bench's own; stop ends it and answers its error.
func pumping(b *bench, q port.Queue, p worker.Pump) (stop func() error) {
	p.Queue = cmp.Or(q, b.queue("requests-payment"))
	p.Worker = b.worker
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
		require.NoError(b.t, b.queue("requests-payment").Send(context.Background(), []port.Message{{Value: req}})[0])
	}
}

func (b *bench) depth() port.Depth {
	d, err := b.queue("requests-payment").Depth(context.Background())
	require.NoError(b.t, err)
	return d
}

// No more requests are handled at a time than said, and all of them in the end.
func TestPumpConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		b := newBench(t, port.ClockFunc(time.Now),
			worker.Config{Operations: charge(func(context.Context, worker.Call) (any, error) {
				most.Store(max(most.Load(), now.Add(1)))
				defer now.Add(-1)
				time.Sleep(time.Second)
				return nil, nil
			})})
		q := &watchedQueue{}
		stop := watching(b, q, worker.Pump{Concurrency: 7, Batch: 3})
		start := time.Now()
		b.ask(70, time.Hour)
		time.Sleep(500 * time.Millisecond)
		require.Equal(t, int64(7), b.worker.Stats().InFlight)
		for b.worker.Stats().Done < 70 {
			time.Sleep(100 * time.Millisecond)
		}
		require.LessOrEqual(t, time.Since(start), 15*time.Second)
		require.Equal(t, int32(7), most.Load())
		require.NoError(t, stop())
		require.Equal(t, 3, slices.Max(q.wanted))
		d := b.depth()
		require.Zero(t, d.Visible+d.InFlight)
		require.Len(t, b.replies(), 70)
	})
}

// A request that takes longer than the visibility timeout is not handled twice.
func TestPumpKeepsWhatItHandlesInvisible(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		b := newBench(t, port.ClockFunc(time.Now),
			worker.Config{Operations: charge(func(context.Context, worker.Call) (any, error) {
				calls.Add(1)
				time.Sleep(10 * time.Minute)
				return nil, nil
			})})
		stop := pumping(b, nil, worker.Pump{Visibility: 30 * time.Second})
		b.ask(1, time.Hour)
		time.Sleep(11 * time.Minute)
		require.NoError(t, stop())
		require.EqualValues(t, 1, calls.Load())
		require.Len(t, b.replies(), 1)
	})
}

// Draining: what ends in time is answered, the rest is returned to the queue, what heeds no context is
// reported.
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
				b := newBench(t, port.ClockFunc(time.Now),
					worker.Config{Operations: charge(func(ctx context.Context, _ worker.Call) (any, error) {
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
				stop := pumping(b, nil, worker.Pump{Drain: 3 * time.Second})
				b.ask(1, time.Hour)
				synctest.Wait()
				start := time.Now()
				err := stop()
				require.ErrorIs(t, err, tt.err)
				require.Equal(t, tt.err != nil, strings.Contains(fmt.Sprint(err), `agent "payment"`))
				require.LessOrEqual(t, time.Since(start), tt.most)
				got, d := len(b.replies()), b.depth()
				require.Equal(t, tt.replies, got)
				require.Equal(t, tt.back, d.Visible)
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

func (q *sickQueue) Receive(ctx context.Context, n int, wait,
	visibility time.Duration,
) ([]port.Delivery, error) {
	if q.fails.Add(-1) >= 0 {
		return nil, port.ErrUnavailable
	}
	return q.Queue.Receive(ctx, n, wait, visibility)
}

// watchedQueue keeps what a pump asks of its queue, and can be slow to delete or refuse to extend.
type watchedQueue struct {
	port.Queue
	mu       sync.Mutex
	wanted   []int           // how many messages each receive wanted
	extended []time.Duration // time by which each message was kept, or returned
	deleted  []int           // how many receipts each delete had
	slow     time.Duration   // duration of each delete
	refuses  error           // error of each extend
	keeps    error           // error of each delete, which then deletes nothing
}

func (q *watchedQueue) Receive(ctx context.Context, n int, wait,
	visibility time.Duration,
) ([]port.Delivery, error) {
	q.mu.Lock()
	q.wanted = append(q.wanted, n)
	q.mu.Unlock()
	return q.Queue.Receive(ctx, n, wait, visibility)
}

func (q *watchedQueue) Extend(ctx context.Context, extensions []port.Extension) []error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range extensions {
		q.extended = append(q.extended, e.For)
	}
	if q.refuses != nil {
		return slices.Repeat([]error{q.refuses}, len(extensions))
	}
	return q.Queue.Extend(ctx, extensions)
}

func (q *watchedQueue) Delete(ctx context.Context, receipts []string) []error {
	time.Sleep(q.slow)
	q.mu.Lock()
	q.deleted = append(q.deleted, len(receipts))
	q.mu.Unlock()
	if q.keeps != nil {
		return slices.Repeat([]error{q.keeps}, len(receipts))
	}
	return q.Queue.Delete(ctx, receipts)
}

// watching runs a pump over a watched queue; stop ends it and answers its error.
func watching(b *bench, q *watchedQueue, p worker.Pump) (stop func() error) {
	q.Queue = b.queue("requests-payment")
	return pumping(b, q, p)
}

// sleeping is an operation that takes so long, and heeds no context.
func sleeping(d time.Duration) worker.Func {
	return func(context.Context, worker.Call) (any, error) {
		time.Sleep(d)
		return nil, nil
	}
}

// A request is kept invisible from when it has been in hand for a whole third of its visibility
// timeout until it is finished, and not afterwards.
func TestWhatAPumpExtends(t *testing.T) {
	for name, tt := range map[string]struct {
		takes   time.Duration
		extends int
	}{
		"shorter than a round": {9 * time.Second, 0},
		"into the second":      {19 * time.Second, 0},
		"into the third":       {25 * time.Second, 1},
		"for a long time":      {55 * time.Second, 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, port.ClockFunc(time.Now),
					worker.Config{Operations: charge(sleeping(tt.takes))})
				q := &watchedQueue{}
				stop := watching(b, q, worker.Pump{Visibility: 30 * time.Second})
				synctest.Wait()
				b.ask(1, time.Hour)
				time.Sleep(5 * time.Minute)
				require.NoError(t, stop())
				require.Len(t, q.extended, tt.extends)
				require.NotContains(t, b.log.String(), "WARN")
				for _, d := range q.extended {
					require.Equal(t, 30*time.Second, d)
				}
			})
		})
	}
}

// Where a request cannot be kept invisible that is said, and it is finished all the same.
func TestAPumpThatCannotExtend(t *testing.T) {
	// a receipt that is lost stays so
	for refuses, times := range map[error]int{
		fmt.Errorf("sqs: %w", port.ErrReceipt): 1,
		port.ErrUnavailable:                    2,
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, port.ClockFunc(time.Now),
				worker.Config{Operations: charge(sleeping(39 * time.Second))})
			q := &watchedQueue{refuses: refuses}
			stop := watching(b, q, worker.Pump{
				Concurrency: 1, Visibility: 30 * time.Second,
				Drain: 10 * time.Second,
			})
			b.ask(1, time.Hour)
			time.Sleep(35 * time.Second)
			err := stop()
			warned := strings.Count(b.log.String(), "may be handled twice")
			require.NoError(t, err)
			require.Equal(t, times, warned, "%+v", refuses)
			require.Len(t, q.extended, times, "%+v", refuses)
			require.Len(t, b.replies(), 1, "%+v", refuses)
		})
	}
}

// What is returned to the queue comes again after 2 s, and later each further time, up to the visibility
// timeout.
func TestAPumpReturnsForLongerEachTime(t *testing.T) {
	for _, refuses := range []error{nil, fmt.Errorf("sqs: %w", port.ErrReceipt), port.ErrUnavailable} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, port.ClockFunc(time.Now), worker.Config{Operations: charge(always(nil, nil))})
			q := &watchedQueue{refuses: refuses}
			stop := watching(b, q, worker.Pump{Visibility: 20 * time.Second})
			require.NoError(t,
				b.queue("requests-payment").Send(context.Background(), []port.Message{{Body: []byte(`{"schema":2}`)}})[0])
			time.Sleep(85 * time.Second)
			synctest.Wait()
			n := b.worker.Stats().GivenBack
			want := []time.Duration{2, 4, 8, 16, 20, 20, 20}
			if refuses != nil {
				want = want[:5] // after each visibility timeout
			}
			require.GreaterOrEqual(t, int(n), len(want)-1, "%v", refuses)
			require.LessOrEqual(t, int(n), len(want), "%v", refuses)
			for i, d := range q.extended[:min(len(want), len(q.extended))] {
				least := want[i] * time.Second
				require.GreaterOrEqual(t, d, least, "%v", refuses)
				require.LessOrEqual(t, d, min(least*3/2, 20*time.Second), "%v", refuses)
			}
			require.NoError(t, stop(), "%v", refuses)
			require.Equal(t, errors.Is(refuses, port.ErrUnavailable),
				strings.Contains(b.log.String(), "could not be returned to the queue"), "%v", refuses)
		})
	}
}

// Run ends when all that was handled is deleted too.
func TestAPumpDeletesBeforeItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, port.ClockFunc(time.Now), worker.Config{Operations: charge(sleeping(time.Second))})
		q := &watchedQueue{slow: 2 * time.Second}
		stop := watching(b, q, worker.Pump{Concurrency: 30, Batch: 10})
		b.ask(25, time.Hour)
		synctest.Wait()
		require.NoError(t, stop())
		d := b.depth()
		require.Zero(t, d.Visible+d.InFlight)
		require.GreaterOrEqual(t, len(q.deleted), 3)
		require.LessOrEqual(t, len(q.deleted), 6)
		for _, n := range q.deleted {
			require.LessOrEqual(t, n, port.MaxBatch)
		}
	})
}

// A request that was handled and cannot be deleted comes again, which is said; one whose receipt is
// lost is in other hands already.
func TestAPumpThatCannotDelete(t *testing.T) {
	for keeps, said := range map[error]bool{
		fmt.Errorf("sqs: %w", port.ErrReceipt): false,
		port.ErrUnavailable:                    true,
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, port.ClockFunc(time.Now), worker.Config{Operations: charge(always(nil, nil))})
			q := &watchedQueue{keeps: keeps}
			stop := watching(b, q, worker.Pump{Visibility: 30 * time.Second})
			b.ask(1, time.Hour)
			time.Sleep(35 * time.Second)
			err := stop()
			logged := strings.Contains(b.log.String(), "could not be deleted")
			require.NoError(t, err)
			require.Equal(t, said, logged, "%+v", keeps)
			require.Len(t, b.replies(), 2, "%+v", keeps)
		})
	}
}

// After a failed receive a pump waits for its pause, and says so; when it is set to end it does not
// wait.
func TestAPumpThatCannotReceive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, port.ClockFunc(time.Now), worker.Config{Operations: charge(always(nil, nil))})
		q := &sickQueue{Queue: b.queue("requests-payment")}
		q.fails.Store(1 << 20)
		stop := pumping(b, q, worker.Pump{})
		time.Sleep(4500 * time.Millisecond)
		start := time.Now()
		require.NoError(t, stop())
		require.LessOrEqual(t, time.Since(start), time.Duration(0))
		require.Equal(t, 5, strings.Count(b.log.String(), "receiving failed"))
	})
}

func TestPumpsThatAreRefused(t *testing.T) {
	b := newBench(t, port.ClockFunc(time.Now), worker.Config{Operations: charge(always(nil, nil))})
	q := b.queue("requests-payment")
	for name, p := range map[string]worker.Pump{
		"no queue": {Worker: b.worker}, "batch": {Queue: q, Worker: b.worker, Batch: 11},
		"concurrency":   {Queue: q, Worker: b.worker, Concurrency: -1},
		"visibility":    {Queue: q, Worker: b.worker, Visibility: time.Second - 1},
		"batch of none": {Queue: q, Worker: b.worker, Batch: -1},
		"no worker":     {Queue: q}, "drain": {
			Queue:  q,
			Worker: b.worker, Drain: -1,
		},
	} {
		require.Error(t, p.Run(context.Background()), name)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	edge := worker.Pump{
		Queue: q, Worker: b.worker, Concurrency: 1, Batch: port.MaxBatch,
		Visibility: time.Second,
	}
	require.NoError(t, edge.Run(ended))
	require.Equal(t, 3*time.Second, edge.Drain)
	usual := worker.Pump{Queue: q, Worker: b.worker}
	require.NoError(t, usual.Run(ended))
	require.Equal(t, 10, usual.Concurrency)
	require.Equal(t, 5, usual.Batch)
	require.Equal(t, 30*time.Second, usual.Visibility)
}

type discard struct{ port.Queue }

func (discard) Send(_ context.Context, ms []port.Message) []error { return make([]error, len(ms)) }

// panickyQueue panics at the first call of each kind.
type panickyQueue struct {
	port.Queue
	received, deleted atomic.Int32
}

func (q *panickyQueue) Receive(ctx context.Context, n int, wait,
	visibility time.Duration,
) ([]port.Delivery, error) {
	if q.received.Add(1) == 1 {
		panic("receive")
	}
	return q.Queue.Receive(ctx, n, wait, visibility)
}

func (q *panickyQueue) Delete(ctx context.Context, receipts []string) []error {
	if q.deleted.Add(1) == 1 {
		panic("delete")
	}
	return q.Queue.Delete(ctx, receipts)
}

// A queue that panics ends no pump: it receives again, and deletes what comes again.
func TestAPumpGoesOnAfterPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, port.ClockFunc(time.Now), worker.Config{Operations: charge(always(nil, nil))})
		q := &panickyQueue{Queue: b.queue("requests-payment")}
		stop := pumping(b, q, worker.Pump{})
		b.ask(1, time.Hour)
		time.Sleep(2 * time.Minute)
		require.NoError(t, stop())
		require.NotEmpty(t, b.replies())
		require.Equal(t, port.Depth{}, b.depth())
	})
}

// An operation that ends its goroutine holds neither its request nor a place of the pump. Broken by: the
// goroutine that handles one request after the other is not replaced.
func TestAPumpGoesOnAfterAnEndedGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		b := newBench(t, port.ClockFunc(time.Now),
			worker.Config{Operations: charge(func(context.Context, worker.Call) (any, error) {
				if calls.Add(1) <= 2 {
					runtime.Goexit()
				}
				return nil, nil
			})})
		stop := pumping(b, nil, worker.Pump{Concurrency: 1})
		b.ask(3, time.Hour)
		time.Sleep(10 * time.Minute)
		ended := make(chan error, 1)
		go func() { ended <- stop() }()
		select {
		case err := <-ended:
			require.NoError(t, err)
			require.Len(t, b.replies(), 3)
			require.Equal(t, port.Depth{}, b.depth())
		case <-time.After(time.Hour):
			t.Fatal("the pump does not end")
		}
	})
}
