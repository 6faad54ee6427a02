package memory

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Queue implements port.Queue in memory. Within a priority and a group, messages are received in the sequence
// in which they became visible. A Queue is safe for concurrent use.
//
// A Queue does not copy bodies. It encodes the Value of a message only if the delay is longer than longDelay,
// because bytes need less memory. It does not check the size of a Value, because the size is known only after
// encoding.
//
// Receive accepts any max, and the other operations accept batches of any length. The time of an operation
// grows with the logarithm of the number of delayed and in-flight messages.
type Queue struct {
	config QueueConfig
	clock  port.Timer

	mu       sync.Mutex
	slab     slab
	line     line     // visible messages
	asleep   sleepers // delayed and in-flight messages
	seq      uint64
	visible  int
	inFlight int
	waiting  list.List // *waiter values; the first one has waited longest
	called   *waiter   // waiter that was woken for messages and has not looked for them yet, or nil
	armed    int64     // time of the next call of ring; 0 if no call is arranged
	stopRing func()
}

func newQueue(clock port.Timer, config QueueConfig) *Queue {
	q := &Queue{config: config, clock: clock, seq: config.First}
	q.asleep.slab = &q.slab
	return q
}

// Name returns the logical name of the queue.
func (q *Queue) Name() string { return q.config.Name }

// Send adds the messages. The error is port.ErrTooLarge for a message whose body is too large.
func (q *Queue) Send(ctx context.Context, messages []port.Message) []error {
	errs := make([]error, len(messages))
	now := q.clock.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range messages {
		errs[i] = ctx.Err()
		if errs[i] == nil {
			errs[i] = q.check(&messages[i])
			if errs[i] == nil {
				q.add(messages[i], now, now.Add(messages[i].Delay))
			}
		}
	}
	q.notify(now)
	return errs
}

func (q *Queue) check(m *port.Message) error {
	if err := port.CheckMessage(m); err != nil {
		return fmt.Errorf("queue %q: %w", q.config.Name, err)
	}
	return nil
}

// longDelay is the longest delay for which a message keeps its Value. A message with a longer delay is
// encoded, because a queue can contain very many of these messages.
const longDelay = 5 * time.Second

func (q *Queue) add(m port.Message, sent, at time.Time) {
	if m.Delay > longDelay && m.Value != nil && m.Body == nil {
		if body, err := m.Value.Encode(); err == nil {
			m.Body = body
			m.Value = nil
		}
	}
	slot := q.slab.take()
	e := q.slab.at(slot)
	q.seq++
	m.Delay = 0
	*e = entry{message: m, seq: q.seq, sent: sent}
	if at.After(sent) {
		e.wake = at.UnixNano()
		e.state = delayed
		q.asleep.push(slot)
		return
	}
	q.stand(slot, e)
}

// stand makes a message visible.
func (q *Queue) stand(slot uint32, e *entry) {
	e.state = ready
	q.visible++
	q.line.push(&e.message, ticket{slot, e.seq})
}

func (q *Queue) hideUntil(slot uint32, e *entry, at time.Time) {
	e.state = inFlight
	e.wake = at.UnixNano()
	q.inFlight++
	q.asleep.push(slot)
}

// unhide removes a delayed or in-flight message from q.asleep.
func (q *Queue) unhide(e *entry) {
	q.asleep.remove(e.place)
	if e.state == inFlight {
		q.inFlight--
	}
}

// promote makes each message visible after its delay or its visibility timeout.
func (q *Queue) promote(now time.Time) {
	for len(q.asleep.slots) > 0 && q.asleep.slots[0].wake <= now.UnixNano() {
		slot := q.asleep.slots[0].slot
		e := q.slab.at(slot)
		q.unhide(e)
		q.stand(slot, e)
	}
}

// next returns the time when the first delayed or in-flight message becomes visible. The result some is false
// if there is no such message.
func (q *Queue) next(now time.Time) (at int64, some bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.promote(now)
	q.notify(now)
	if len(q.asleep.slots) == 0 {
		return 0, false
	}
	return q.asleep.slots[0].wake, true
}

// buried is a message that take has selected for the dead-letter queue. settle moves the message after the
// lock is released.
type buried struct {
	message port.Message
	slot    uint32
	seq     uint64
}

// Receive returns at most max messages. If no message is visible, Receive waits for a message, for at most
// the duration wait. If ctx ends before that, Receive returns the error of ctx.
func (q *Queue) Receive(ctx context.Context, max int, wait,
	visibility time.Duration,
) ([]port.Delivery, error) {
	if err := port.CheckReceive(max, wait, visibility); err != nil {
		return nil, fmt.Errorf("queue %q: %w", q.config.Name, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	now := q.clock.Now()
	var woken *waiter
	for until := now.Add(wait); ; now = q.clock.Now() {
		deliveries, left, w := q.takeOrWait(woken, now, until, max, visibility)
		q.settle(ctx, left)
		if w == nil {
			return deliveries, nil
		}
		stopTimer := q.clock.At(until, func() { q.expireWaiter(w) })
		select {
		case <-w.awake:
		case <-ctx.Done():
		}
		stopTimer()
		if err := ctx.Err(); err != nil {
			q.leave(w)
			return nil, err
		}
		woken = w
	}
}

// takeOrWait takes visible messages. If no message is visible, and now is before the argument until, it adds
// a waiter. The argument woken is the waiter of the receiver before, or nil.
func (q *Queue) takeOrWait(woken *waiter, now, until time.Time, most int,
	visibility time.Duration,
) ([]port.Delivery, []buried, *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.arrived(woken)
	deliveries, left := q.take(now, most, visibility)
	if len(deliveries) > 0 || !now.Before(until) {
		return deliveries, left, nil
	}
	return nil, left, q.addWaiter(now)
}

// burial is the shortest time for which a buried message stays invisible. In this time, no second receiver
// moves the message.
const burial = 30 * time.Second

// take receives visible messages. The second result contains the messages that were received too often, for
// the dead-letter queue. take deletes messages that have expired.
func (q *Queue) take(now time.Time, most int, visibility time.Duration) ([]port.Delivery, []buried) {
	var deliveries []port.Delivery
	var left []buried
	q.promote(now)
	first, second := q.line.begin(q.visible > 0)
	for len(deliveries) < most {
		t, some := first.pop()
		if !some {
			t, some = second.pop()
		}
		if !some {
			break
		}
		e := q.slab.holds(t.slot, t.seq)
		if e == nil || e.state != ready {
			continue // the message was deleted
		}
		q.visible--
		switch {
		case q.expired(e, now):
			q.slab.release(t.slot)
		case q.config.MaxReceives > 0 && e.received >= q.config.MaxReceives:
			left = append(left, buried{e.message, t.slot, t.seq})
			q.hideUntil(t.slot, e, now.Add(max(visibility, burial)))
		default:
			e.received++
			id, text := receipt(e.seq, t.slot, e.received)
			if deliveries == nil {
				deliveries = make([]port.Delivery, 0, min(most, q.visible+1))
			}
			deliveries = append(deliveries, port.Delivery{
				Message: e.message, ID: id, Receipt: text,
				Received: e.received, SentAt: e.sent,
			})
			q.hideUntil(t.slot, e, now.Add(visibility))
		}
	}
	q.promote(now) // after a visibility timeout of 0 the messages are visible again
	q.notify(now)
	return deliveries, left
}

func (q *Queue) expired(e *entry, now time.Time) bool {
	return q.config.Retention > 0 && now.Sub(e.sent) >= q.config.Retention
}

// settle sends messages to the dead-letter queue. The caller does not hold the lock.
func (q *Queue) settle(ctx context.Context, left []buried) {
	for _, b := range left {
		if errs := q.config.DeadLetterTo.Send(context.WithoutCancel(ctx),
			[]port.Message{b.message}); errs[0] != nil {
			continue // the message is received again after its visibility timeout
		}
		q.bury(b)
	}
}

func (q *Queue) bury(b buried) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.slab.holds(b.slot, b.seq); e != nil {
		q.remove(b.slot, e)
	}
}

func (q *Queue) remove(slot uint32, e *entry) {
	if e.state == ready {
		q.visible-- // the ticket stays in q.line; take skips it
	} else {
		q.unhide(e)
	}
	q.slab.release(slot)
}

// Delete deletes delivered messages. A receipt is valid until the message is received again, even after the
// visibility timeout.
func (q *Queue) Delete(ctx context.Context, receipts []string) []error {
	errs := make([]error, len(receipts))
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, text := range receipts {
		errs[i] = ctx.Err()
		if errs[i] != nil {
			continue
		}
		r, ok := parseReceipt(text)
		if !ok {
			errs[i] = q.badReceipt(text)
			continue
		}
		e := q.slab.holds(r.slot, r.seq)
		switch {
		case e == nil: // the message is already deleted
		case e.received != r.received:
			errs[i] = q.badReceipt(text)
		default:
			q.remove(r.slot, e)
		}
	}
	return errs
}

func (q *Queue) badReceipt(text string) error {
	return fmt.Errorf("queue %q, receipt %.60q: %w", q.config.Name, text, port.ErrReceipt)
}

// Extend makes delivered messages invisible, each for its duration from now on.
func (q *Queue) Extend(ctx context.Context, extensions []port.Extension) []error {
	errs := make([]error, len(extensions))
	for i, e := range extensions {
		errs[i] = q.hide(ctx, e.Receipt, e.For)
	}
	return errs
}

func (q *Queue) hide(ctx context.Context, text string, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d < 0 || d > port.MaxVisibility {
		return fmt.Errorf("queue %q: a visibility timeout of %s is not within 0 and %s", q.config.Name, d,
			port.MaxVisibility)
	}
	now := q.clock.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.promote(now)
	r, ok := parseReceipt(text)
	var e *entry
	if ok {
		e = q.slab.holds(r.slot, r.seq)
	}
	if e == nil || e.received != r.received || e.state != inFlight {
		q.notify(now)
		return q.badReceipt(text)
	}
	q.unhide(e)
	q.hideUntil(r.slot, e, now.Add(d))
	q.promote(now)
	q.notify(now)
	return nil
}

// Depth returns exact counts. It also deletes the expired messages that it finds at the front of the groups.
func (q *Queue) Depth(ctx context.Context) (port.Depth, error) {
	if err := ctx.Err(); err != nil {
		return port.Depth{}, err
	}
	now := q.clock.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.promote(now)
	depth := port.Depth{}
	gone := func(t ticket) bool {
		e := q.slab.holds(t.slot, t.seq)
		if e == nil || e.state != ready {
			return true
		}
		if q.expired(e, now) {
			q.visible--
			q.slab.release(t.slot)
			return true
		}
		// Oldest is at least 1 ns, because 0 means unknown.
		depth.Oldest = max(depth.Oldest, now.Sub(e.sent), 1)
		return false
	}
	q.line.high.trim(gone)
	q.line.normal.trim(gone)
	depth.Visible = q.visible
	depth.InFlight = q.inFlight
	depth.Delayed = len(q.asleep.slots) - q.inFlight
	q.notify(now)
	return depth, nil
}
