package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"time"
)

const (
	// batchBytes is the size at which a batch of orders is sent.
	batchBytes = 4 << 20
	// linger is the time for which an incomplete batch waits for more orders.
	linger = 3 * time.Millisecond
)

// batch is a part of the orders of a SubmitMany. The fields results and err may be read once done is closed.
type batch struct {
	orders  []sending
	results []Result // results of the first orders; of all if err is nil
	err     error
	done    chan struct{}
}

// submit submits the orders of the batch. After a broken connection it repeats those without a result.
func (b *batch) submit(ctx context.Context, c *Client) {
	defer close(b.done)
	for b.err == nil && len(b.results) < len(b.orders) {
		b.err = c.patiently(ctx, func(ctx context.Context) (bool, error) {
			var texts [][]byte
			for _, s := range b.orders[len(b.results):] {
				texts = append(texts, s.text)
			}
			got, err := c.via.SubmitBatch(ctx, texts)
			b.results = append(b.results, got...)
			return len(got) > 0, err
		})
	}
}

// many is the state of one SubmitMany.
type many struct {
	orders  chan sending
	batches chan *batch
	torn    error // error of the source; may be read after the last batch if ended is true
	ended   bool  // whether the source has no more orders; may be read after the last batch
}

func (c *Client) submitMany(ctx context.Context, source iter.Seq2[sending, error], each func(Result)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	most, atOnce := c.via.Batches()
	// Besides the batches in the channel, the loop below has one.
	m := &many{orders: make(chan sending, most), batches: make(chan *batch, atOnce-1)}
	go m.read(ctx, source)
	go m.send(ctx, c, most)
	answered := 0
	failed := func(err error) error { return fmt.Errorf("submitting orders (%d answered): %w", answered, err) }
	for b := range m.batches {
		<-b.done
		for i, r := range b.results {
			r = c.resultOf(ctx, b.orders[i], r)
			if ctx.Err() != nil && r.Err != nil {
				return failed(r.Err) // it has the last answer
			}
			answered++
			each(r)
		}
		if b.err != nil {
			return failed(b.err)
		}
	}
	if !m.ended {
		return failed(ctx.Err())
	}
	return m.torn
}

// read moves orders from the source to the channel.
func (m *many) read(ctx context.Context, source iter.Seq2[sending, error]) {
	defer close(m.orders)
	for s, err := range source {
		if err != nil {
			m.torn = err
			return
		}
		select {
		case m.orders <- s:
		case <-ctx.Done():
			return
		}
	}
}

// send divides the orders into batches, and submits them.
func (m *many) send(ctx context.Context, c *Client, most int) {
	defer close(m.batches)
	for more := true; more; {
		b := &batch{done: make(chan struct{})}
		b.orders, more = gather(ctx, m.orders, most)
		if ctx.Err() != nil {
			return
		}
		m.ended = !more
		if len(b.orders) == 0 {
			continue
		}
		select {
		case m.batches <- b:
			go b.submit(ctx, c)
		case <-ctx.Done():
			m.ended = false
			return
		}
	}
}

// gather waits for an order, and returns it with those that arrive within the duration linger after it. It returns
// false when there are no more orders.
func gather(ctx context.Context, orders <-chan sending, most int) (some []sending, more bool) {
	var late <-chan time.Time
	for size := 0; len(some) < most && size < batchBytes; {
		select {
		case s, ok := <-orders:
			if !ok {
				return some, false
			}
			if len(some) == 0 {
				late = time.After(linger)
			}
			some = append(some, s)
			size += len(s.text)
		case <-late:
			return some, true
		case <-ctx.Done():
			return nil, false
		}
	}
	return some, true
}

// resultOf returns the final Result of an order. If the server refuses an order with a RetryAfter, resultOf
// submits the order again with a separate call.
func (c *Client) resultOf(ctx context.Context, s sending, r Result) Result {
	r.Line = s.number
	var e *Error
	if !errors.As(r.Err, &e) || e.RetryAfter <= 0 {
		return r
	}
	receipt, err := c.submit(ctx, s.text)
	if err != nil {
		r.Err = err
		return r
	}
	return Result{Receipt: receipt, Line: s.number, Accepted: true}
}

// patiently is again for a call that lasts. An attempt whose connection broke does not count as a failed attempt if
// the call reports that it got ahead, or if brokenUse reports true. The caller then calls patiently again.
func (c *Client) patiently(ctx context.Context, call func(context.Context) (ahead bool, err error)) error {
	_, err := again(ctx, c, func(ctx context.Context) (struct{}, error) {
		started := time.Now()
		ahead, err := call(ctx)
		if repeatable(err) && (ahead || brokenUse(started, err)) {
			err = nil
		}
		return struct{}{}, err
	})
	return err
}

// brokenUse reports whether err means that a connection broke after more than longestPause. Such a
// break does not count as a failed attempt. If the connection was never established, brokenUse returns false.
func brokenUse(started time.Time, err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return false
	}
	return errors.Is(err, ErrConnection) && time.Since(started) > longestPause
}
