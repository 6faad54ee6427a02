package memory

import (
	"container/list"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// waiter is a receiver that waits for a message. Its waker removes it from the list. It then checks for
// messages itself, and waits again if another receiver was faster.
type waiter struct {
	awake chan struct{} // closed when it is woken
	entry *list.Element // nil once woken
}

// addWaiter adds a waiter, and sets the alarm for the first sleeping message. The caller holds the lock.
func (q *Queue) addWaiter(now time.Time) *waiter {
	w := &waiter{awake: make(chan struct{})}
	w.entry = q.waiting.PushBack(w)
	q.notify(now)
	return w
}

// wake wakes one waiter. The caller holds the lock.
func (q *Queue) wake(w *waiter) {
	if w.entry != nil {
		q.waiting.Remove(w.entry)
		w.entry = nil
		close(w.awake)
	}
}

// expireWaiter wakes a waiter whose time is over.
func (q *Queue) expireWaiter(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.wake(w)
}

// leave removes a waiter whose context ended from the list. If it had been woken for a message, another
// waiter must check instead.
func (q *Queue) leave(w *waiter) {
	now := q.clock.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.entry != nil {
		q.waiting.Remove(w.entry)
		w.entry = nil
		return
	}
	q.notify(now)
}

// notify is called at the end of each operation that may have left visible messages: it wakes a waiter for
// each of them, and sets the alarm for the first sleeping message. The caller holds the lock.
func (q *Queue) notify(now time.Time) {
	for n := q.visible; n > 0 && q.waiting.Len() > 0; n-- {
		q.wake(q.waiting.Front().Value.(*waiter))
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
	q.stopRing = port.CallAt(q.clock, at, q.ring)
}

// ring wakes receivers after an alarm, because messages have become visible again.
func (q *Queue) ring() {
	now := q.clock.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.armed = 0
	q.promote(now)
	q.notify(now)
}
