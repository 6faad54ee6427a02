package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"sync"
	"time"
)

// window is how many orders are read ahead and have no answer yet.
const window = 4096

// many is one SubmitMany: the orders without an answer, oldest first, and how far the present
// connection has come with sending them.
type many struct {
	mu       sync.Mutex
	change   *sync.Cond
	waiting  []sending
	sent     int // number of orders of waiting that the present connection sent
	answered int
	ended    bool  // nothing more will be read
	err      error // error of reading; nil if none occurred
	over     bool  // The caller does not wait for the rest.
}

func newMany() *many {
	m := &many{}
	m.change = sync.NewCond(&m.mu)
	return m
}

// read takes orders from the source while there is room.
func (m *many) read(source iter.Seq2[sending, error]) {
	for s, err := range source {
		if !m.take(s, err) {
			break
		}
	}
	m.mu.Lock()
	m.ended = true
	m.change.Broadcast()
	m.mu.Unlock()
}

func (m *many) take(s sending, err error) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.waiting) >= window && !m.over {
		m.change.Wait()
	}
	if m.over || err != nil {
		m.err = err
		return false
	}
	m.waiting = append(m.waiting, s)
	m.change.Broadcast()
	return true
}

// connect sends over one connection. It returns nil once everything is answered.
func (m *many) connect(ctx context.Context, c *Client, each func(Result)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, m.wake)()
	m.mu.Lock()
	m.sent = 0
	m.mu.Unlock()
	err := c.via.Stream(ctx, func() ([]byte, bool) { return m.next(ctx) }, func(a Result) error {
		s, ok := m.oldest()
		if !ok {
			return fmt.Errorf("%w: more answers than orders", ErrAnswer)
		}
		r := c.resultOf(ctx, s, a)
		if err := ctx.Err(); err != nil && r.Err != nil {
			return err
		}
		m.answer()
		each(r)
		return nil
	})
	if err == nil && !m.finished() {
		err = fmt.Errorf("%w: the stream ended before all orders were answered", ErrConnection)
	}
	return err
}

// next is the next order for the connection that ctx belongs to.
func (m *many) next(ctx context.Context) ([]byte, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		switch {
		case ctx.Err() != nil:
			return nil, false
		case m.sent < len(m.waiting):
			m.sent++
			return m.waiting[m.sent-1].text, true
		case m.ended:
			return nil, false
		}
		m.change.Wait()
	}
}

// oldest is the order that the next answer belongs to.
func (m *many) oldest() (sending, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sent == 0 {
		return sending{}, false
	}
	return m.waiting[0], true
}

func (m *many) answer() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiting[0] = sending{}
	m.waiting = m.waiting[1:]
	m.sent--
	m.answered++
	m.change.Broadcast()
}

// resultOf reads an answer. An order that found no room, or no disk, is sent again alone, with the
// pauses of any other call: the stream behind it waits as well, as it should.
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
	return Result{Line: s.number, OrderID: receipt.OrderID, Accepted: true, Known: receipt.Known,
		Queued: receipt.Queued, Notes: receipt.Notes, Unattended: receipt.Unattended}
}

func (m *many) wake() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.change.Broadcast()
}

func (m *many) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over = true
	m.change.Broadcast()
}

func (m *many) progress() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.answered
}

func (m *many) finished() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ended && len(m.waiting) == 0
}

func (m *many) readError() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// brokenUse reports a connection that broke after it had been in use for a while. Such a break does not
// count as a failed attempt. A connection that was never established was not in use, however long that took.
func brokenUse(started time.Time, err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return false
	}
	return errors.Is(err, ErrConnection) && time.Since(started) > longestPause
}
