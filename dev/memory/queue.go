package memory

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/port/queueset"
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
	entries  map[int64]*entry
	line     line     // visible messages
	asleep   sleepers // delayed and in-flight messages
	seq      int64
	visible  int
	inFlight int
	waiting  waiting
}

type state uint8

const (
	deleted state = iota
	ready
	delayed
	inFlight
)

// entry is a message in a queue.
type entry struct {
	message  port.Message
	seq      int64 // number of the message, never used twice
	sent     time.Time
	wake     int64 // time when the message becomes visible, in nanoseconds since the epoch
	received int
	place    int // index in the heap while the message is delayed or in flight
	state    state
}

// sleepers is a heap of the delayed and in-flight messages. The message that becomes visible first is on top.
type sleepers []*entry

func (h sleepers) Len() int { return len(h) }

func (h sleepers) Less(i, j int) bool {
	if h[i].wake == h[j].wake {
		return h[i].seq < h[j].seq
	}
	return h[i].wake < h[j].wake
}

func (h sleepers) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place = i
	h[j].place = j
}

// Push implements heap.Interface.
func (h *sleepers) Push(x any) {
	e := x.(*entry)
	e.place = len(*h)
	*h = append(*h, e)
}

// Pop implements heap.Interface.
func (h *sleepers) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return e
}

func newQueue(clock port.Timer, config QueueConfig) *Queue {
	return &Queue{
		config: config, clock: clock, seq: config.First, entries: map[int64]*entry{},
		waiting: waiting{wake: make(chan struct{}, 1)},
	}
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
		if errs[i] != nil {
			continue
		}
		if err := port.CheckMessage(&messages[i]); err != nil {
			errs[i] = fmt.Errorf("queue %q: %w", q.config.Name, err)
			continue
		}
		q.add(messages[i], now)
	}
	q.notify()
	return errs
}

// longDelay is the longest delay for which a message keeps its Value. A message with a longer delay is
// encoded, because a queue can contain very many of these messages.
const longDelay = 5 * time.Second

func (q *Queue) add(m port.Message, now time.Time) {
	if m.Delay > longDelay && m.Value != nil && m.Body == nil {
		if body, err := m.Value.Encode(); err == nil {
			m.Body = body
			m.Value = nil
		}
	}
	delay := m.Delay
	m.Delay = 0
	q.seq++
	e := &entry{message: m, seq: q.seq, sent: now}
	q.entries[e.seq] = e
	if delay > 0 {
		q.hide(e, delayed, now.Add(delay))
		return
	}
	q.show(e)
}

// show makes a message visible.
func (q *Queue) show(e *entry) {
	e.state = ready
	q.visible++
	q.line.push(e)
}

// hide makes a message invisible until a time.
func (q *Queue) hide(e *entry, as state, until time.Time) {
	e.state = as
	e.wake = until.UnixNano()
	if as == inFlight {
		q.inFlight++
	}
	heap.Push(&q.asleep, e)
}

// unhide removes a delayed or in-flight message from q.asleep.
func (q *Queue) unhide(e *entry) {
	heap.Remove(&q.asleep, e.place)
	if e.state == inFlight {
		q.inFlight--
	}
}

// promote makes each message visible after its delay or its visibility timeout.
func (q *Queue) promote(now time.Time) {
	for len(q.asleep) > 0 && q.asleep[0].wake <= now.UnixNano() {
		e := q.asleep[0]
		q.unhide(e)
		q.show(e)
	}
}

// next returns the time when the first delayed or in-flight message becomes visible. The result some is false
// if there is no such message.
func (q *Queue) next(now time.Time) (at int64, some bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.promote(now)
	q.notify()
	if len(q.asleep) == 0 {
		return 0, false
	}
	return q.asleep[0].wake, true
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
	for until := now.Add(wait); ; now = q.clock.Now() {
		deliveries, dead := q.take(now, max, visibility)
		q.bury(ctx, dead)
		if len(deliveries) > 0 || !now.Before(until) {
			return deliveries, nil
		}
		if err := q.wait(ctx, until); err != nil {
			return nil, err
		}
	}
}

// burial is the shortest time for which a message on its way to the dead-letter queue stays invisible. In this
// time, no second receiver moves the message.
const burial = 30 * time.Second

// take receives visible messages. The second result contains the messages that were received too often, for
// the dead-letter queue. take deletes messages that have expired.
func (q *Queue) take(now time.Time, most int, visibility time.Duration) (deliveries []port.Delivery, dead []*entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.promote(now)
	first, second := q.line.begin(q.visible > 0)
	for len(deliveries) < most {
		e := first.pop()
		if e == nil {
			e = second.pop()
		}
		if e == nil {
			break
		}
		if e.state == deleted {
			continue
		}
		q.visible--
		switch {
		case q.expired(e, now):
			q.forget(e)
		case q.config.MaxReceives > 0 && e.received >= q.config.MaxReceives:
			dead = append(dead, e)
			q.hide(e, inFlight, now.Add(max(visibility, burial)))
		default:
			e.received++
			if deliveries == nil {
				deliveries = make([]port.Delivery, 0, min(most, q.visible+1))
			}
			id, receipt := queueset.Receipt(e.seq, e.received)
			deliveries = append(deliveries, port.Delivery{
				Message: e.message, ID: id, Receipt: receipt, Received: e.received, SentAt: e.sent,
			})
			q.hide(e, inFlight, now.Add(visibility))
		}
	}
	q.promote(now) // after a visibility timeout of 0 the messages are visible again
	q.notify()
	return deliveries, dead
}

func (q *Queue) expired(e *entry, now time.Time) bool {
	return q.config.Retention > 0 && now.Sub(e.sent) >= q.config.Retention
}

// bury moves messages to the dead-letter queue. The caller does not hold the lock.
func (q *Queue) bury(ctx context.Context, dead []*entry) {
	for _, e := range dead {
		errs := q.config.DeadLetterTo.Send(context.WithoutCancel(ctx), []port.Message{e.message})
		if errs[0] == nil { // otherwise the message is received again after its visibility timeout
			q.mu.Lock()
			q.remove(e)
			q.mu.Unlock()
		}
	}
}

// remove deletes a message that may be deleted already.
func (q *Queue) remove(e *entry) {
	switch e.state {
	case deleted:
		return
	case ready:
		q.visible-- // the message stays in q.line; take skips it
	default:
		q.unhide(e)
	}
	q.forget(e)
}

func (q *Queue) forget(e *entry) {
	e.state = deleted
	delete(q.entries, e.seq)
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
		seq, received, ok := queueset.ParseReceipt(text)
		e := q.entries[seq]
		switch {
		case !ok || e != nil && e.received != received:
			errs[i] = queueset.BadReceipt(q, text)
		case e != nil:
			q.remove(e)
		}
	}
	return errs
}

// Extend makes delivered messages invisible, each for its duration from now on.
func (q *Queue) Extend(ctx context.Context, extensions []port.Extension) []error {
	errs := make([]error, len(extensions))
	now := q.clock.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.promote(now)
	for i, x := range extensions {
		errs[i] = cmp.Or(ctx.Err(), queueset.CheckExtension(q, x))
		if errs[i] != nil {
			continue
		}
		seq, received, _ := queueset.ParseReceipt(x.Receipt)
		e := q.entries[seq]
		if e == nil || e.received != received || e.state != inFlight {
			errs[i] = queueset.BadReceipt(q, x.Receipt)
			continue
		}
		q.unhide(e)
		q.hide(e, inFlight, now.Add(x.For))
	}
	q.promote(now)
	q.notify()
	return errs
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
	gone := func(e *entry) bool {
		if e.state != deleted && q.expired(e, now) {
			q.remove(e)
		}
		if e.state != deleted {
			// Oldest is at least 1 ns, because 0 means unknown.
			depth.Oldest = max(depth.Oldest, now.Sub(e.sent), 1)
		}
		return e.state == deleted
	}
	q.line.high.trim(gone)
	q.line.normal.trim(gone)
	depth.Visible = q.visible
	depth.InFlight = q.inFlight
	depth.Delayed = len(q.asleep) - q.inFlight
	q.notify()
	return depth, nil
}
