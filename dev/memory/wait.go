package memory

import (
	"context"
	"sync"
	"time"
)

// waiting wakes the receivers that wait for a message, one at a time. The woken receiver looks for messages, and
// waits again if another receiver has taken them.
type waiting struct {
	receivers int
	wake      chan struct{} // has a value for the next receiver to wake
	called    bool          // a receiver was woken for messages, and has not looked for them yet
	armed     int64         // time of the next call of ring; 0 if no call is arranged
	disarm    func()
}

// wait returns when messages may be visible, or at the time until. If ctx ends before that, wait returns the error of
// ctx. If the receiver was already woken for a message, it wakes another receiver then.
func (q *Queue) wait(ctx context.Context, until time.Time) error {
	over := make(chan struct{})
	disarm := q.clock.At(until, sync.OnceFunc(func() { close(over) }))
	q.mu.Lock()
	q.waiting.receivers++
	q.notify()
	q.mu.Unlock()
	woken := false
	select {
	case <-q.waiting.wake:
		woken = true
	case <-over:
	case <-ctx.Done():
	}
	disarm()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting.receivers--
	if woken {
		q.waiting.called = false
	}
	err := ctx.Err()
	if err != nil {
		q.notify()
	}
	return err
}

// notify wakes a receiver if messages are visible. If this receiver leaves some, its call of take wakes the next one.
// Most receivers would be woken in vain if notify woke one for each message, because a receiver takes several.
// notify also arranges a call of ring at the time when the next message becomes visible. Every operation that can make
// messages visible calls notify at its end. The caller holds the lock.
func (q *Queue) notify() {
	w := &q.waiting
	if w.receivers == 0 {
		return
	}
	if q.visible > 0 && !w.called {
		w.called = true
		w.wake <- struct{}{} // does not block: the channel has room unless a receiver was called
	}
	if len(q.asleep) == 0 || w.armed != 0 && w.armed <= q.asleep[0].wake {
		return
	}
	if w.disarm != nil {
		w.disarm()
	}
	w.armed = q.asleep[0].wake
	w.disarm = q.clock.At(time.Unix(0, w.armed).UTC(), q.ring)
}

// ring makes the due messages visible and wakes receivers.
func (q *Queue) ring() {
	now := q.clock.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting.armed = 0
	q.promote(now)
	q.notify()
}
