package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// window is the maximum number of orders that were read from the source and have no answer yet.
const window = 4096

// many is the state of one SubmitMany. waiting holds the orders without an answer, oldest first.
type many struct {
	answered atomic.Int64

	mu      sync.Mutex
	change  sync.Cond
	waiting []sending
	sent    int  // number of orders in waiting that the present connection has sent
	ended   bool // the source has no more orders
	err     error
	over    bool // SubmitMany has returned, so read must stop
}

func (m *many) locked(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
	m.change.Broadcast()
}

// read moves orders from the source to waiting. It pauses while waiting contains window orders.
func (m *many) read(source iter.Seq2[sending, error]) {
	for s, err := range source {
		var more bool
		m.locked(func() {
			for len(m.waiting) >= window && !m.over {
				m.change.Wait()
			}
			m.err = err
			more = err == nil && !m.over
			if more {
				m.waiting = append(m.waiting, s)
			}
		})
		if !more {
			break
		}
	}
	m.locked(func() { m.ended = true })
}

// connect sends the waiting orders over one connection. It returns nil if all orders have an answer.
func (m *many) connect(ctx context.Context, c *Client, each func(Result)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { m.locked(func() {}) })()
	m.locked(func() { m.sent = 0 })
	err := c.via.Stream(ctx, func() ([]byte, bool) { return m.next(ctx) }, func(a Result) error {
		var oldest []sending // order of this answer; empty if no order waits for an answer
		m.locked(func() { oldest = m.waiting[:min(m.sent, 1)] })
		if len(oldest) == 0 {
			return fmt.Errorf("%w: more answers than orders", ErrAnswer)
		}
		r := c.resultOf(ctx, oldest[0], a)
		if ctx.Err() != nil && r.Err != nil {
			return r.Err // it has the last answer
		}
		m.locked(func() {
			m.waiting[0] = sending{}
			m.waiting = m.waiting[1:]
			m.sent--
		})
		m.answered.Add(1)
		each(r)
		return nil
	})
	finished := false
	m.locked(func() { finished = m.ended && len(m.waiting) == 0 })
	if err == nil && !finished {
		err = fmt.Errorf("%w: the stream ended before all orders were answered", ErrConnection)
	}
	return err
}

// next waits for the next order that the present connection has not sent. It returns false when there are no
// more orders, or when ctx ends.
func (m *many) next(ctx context.Context) (text []byte, more bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for ctx.Err() == nil && m.sent == len(m.waiting) && !m.ended {
		m.change.Wait()
	}
	if ctx.Err() != nil || m.sent == len(m.waiting) {
		return nil, false
	}
	m.sent++
	return m.waiting[m.sent-1].text, true
}

// resultOf returns the final Result of an order. If the server refuses an order with a RetryAfter, resultOf
// submits the order again with a separate call. The stream waits during this call.
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
