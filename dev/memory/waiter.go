package memory

import (
	"container/list"
	"time"
)

// waiter is a receiver that waits for a message. The goroutine that wakes a waiter also removes it from the
// list. The woken receiver looks for messages, and waits again if another receiver has taken them.
type waiter struct {
	awake chan struct{} // closed to wake the receiver
	entry *list.Element // element in Queue.waiting; nil after the waiter is woken
}

// addWaiter adds a waiter to the list. The caller holds the lock.
func (q *Queue) addWaiter(now time.Time) *waiter {
	w := &waiter{awake: make(chan struct{})}
	w.entry = q.waiting.PushBack(w)
	q.notify(now)
	return w
}

// wake wakes the receiver of w. It does nothing if the receiver is already awake. The caller holds the lock.
func (q *Queue) wake(w *waiter) {
	if w.entry != nil {
		q.waiting.Remove(w.entry)
		w.entry = nil
		close(w.awake)
	}
}

func (q *Queue) expireWaiter(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.wake(w)
}

// leave removes a waiter whose context has ended. If the waiter was already woken for a message, leave wakes
// another waiter instead.
func (q *Queue) leave(w *waiter) {
	now := q.clock.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.entry != nil {
		q.waiting.Remove(w.entry)
		w.entry = nil
		return
	}
	q.arrived(w)
	q.notify(now)
}

// arrived records that a woken receiver looks for messages, or has left.
func (q *Queue) arrived(w *waiter) {
	if w != nil && q.called == w {
		q.called = nil
	}
}

// notify wakes a waiter if messages are visible. If its receiver leaves some, its call of take wakes the next one.
// Most receivers would be woken in vain if notify woke one for each message, because a receiver takes several.
// notify also arranges a call of ring at the time when the next message becomes visible. Every operation that can make
// messages visible calls notify at its end. The caller holds the lock.
func (q *Queue) notify(now time.Time) {
	if q.visible > 0 && q.called == nil && q.waiting.Len() > 0 {
		q.called = q.waiting.Front().Value.(*waiter)
		q.wake(q.called)
	}
	if q.waiting.Len() == 0 || len(q.asleep.slots) == 0 {
		return
	}
	first := q.asleep.slots[0].wake
	if q.armed != 0 && q.armed <= first {
		return
	}
	if q.stopRing != nil {
		q.stopRing()
	}
	q.armed = first
	at := now.Add(time.Duration(first - now.UnixNano()))
	q.stopRing = q.clock.At(at, q.ring)
}

// ring makes the due messages visible and wakes receivers.
func (q *Queue) ring() {
	now := q.clock.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.armed = 0
	q.promote(now)
	q.notify(now)
}
