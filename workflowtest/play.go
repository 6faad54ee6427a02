package workflowtest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/internal/inprocess"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

const (
	visibility = 30 * time.Second
	// standstill is the maximum number of messages that the actors may handle at one time of the clock.
	standstill = 100_000
)

var farFuture = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

type held struct {
	at    time.Time
	reply *message.Reply
}

// Advance moves the clock forward by d, which may be 0. Each event up to the new time happens at its own
// time.
func (w *Workflow) Advance(d time.Duration) {
	w.t.Helper()
	w.until(w.clock.Now().Add(d), func() bool { return false })
}

// until runs the actors up to the given time. It stops earlier if the function enough returns true, and then
// returns true.
func (w *Workflow) until(end time.Time, enough func() bool) bool {
	w.t.Helper()
	for {
		if w.settle(enough) {
			return true
		}
		at := w.soonest()
		if at.After(end) {
			break
		}
		w.clock.Set(at)
	}
	w.clock.Set(end)
	return w.settle(enough)
}

// settle lets the actors work until enough returns true, or no work is left at the present time. It reports
// whether enough returned true. It handles one message at a time, so that simultaneous events always have the
// same order.
func (w *Workflow) settle(enough func() bool) bool {
	w.t.Helper()
	for n := 0; ; n++ {
		if enough() {
			return true
		}
		if !w.one() {
			return false
		}
		if n == standstill {
			w.t.Fatalf("the workflow goes round in a circle at %s\n%s", w.since(w.clock.Now()), w.timelines())
		}
	}
}

// one lets an actor do one piece of work. It returns false if there is no work.
func (w *Workflow) one() bool {
	w.t.Helper()
	w.arrive()
	if w.step(port.Replies, w.scheduler.Handle) != nil || w.step(port.Control, w.scheduler.Handle) != nil ||
		w.step(port.Tasks, w.scheduler.Handle) != nil {
		return true
	}
	for _, name := range w.names {
		if w.step(port.Requests(name), w.agents[name].handle) != nil {
			return true
		}
	}
	report, err := w.supervisor.Sweep(w.t.Context())
	w.must(err)
	return report.Overdue+report.Asked+report.Unreported > 0
}

func (w *Workflow) listen() {
	w.t.Helper()
	read := func(context.Context, string, []port.Delivery) []string { return nil }
	for d := w.step(replyTo, read); d != nil; d = w.step(replyTo, read) {
		s, err := message.Of[message.Status](*d)
		w.must(err)
		r := w.run(s.OrderID)
		r.statuses = append(r.statuses, s.Status)
	}
}

// must ends the test after an internal error.
func (w *Workflow) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("%v\n%s", err, w.timelines())
	}
}

// step lets an actor handle one message from a queue, and returns the message. It returns nil if the queue is
// empty. If the actor cannot handle the message, the queue delivers the message again later.
func (w *Workflow) step(queue string, handle func(context.Context, string, []port.Delivery) []string) *port.Delivery {
	w.t.Helper()
	q, err := w.queues.Queue(queue)
	w.must(err)
	batch, err := inprocess.Mapping{Queue: q, Batch: 1, Visibility: visibility, Handle: handle}.Step(
		w.t.Context(), 0)
	w.must(err)
	if len(batch) == 0 {
		return nil
	}
	return &batch[0]
}

func (w *Workflow) replied(r *message.Reply, takes time.Duration) {
	at := w.clock.Now().Add(takes)
	place, _ := slices.BinarySearchFunc(w.held, at, func(h held, at time.Time) int {
		return cmp.Or(h.at.Compare(at), -1) // A reply comes after earlier replies with the same time.
	})
	w.held = slices.Insert(w.held, place, held{at, r})
}

func (w *Workflow) arrive() {
	w.t.Helper()
	for len(w.held) > 0 && !w.held[0].at.After(w.clock.Now()) {
		r := w.held[0].reply
		w.held = w.held[1:]
		q, err := w.queues.Queue(port.Replies)
		w.must(err)
		w.must(q.Send(w.t.Context(), []port.Message{{Value: r}})[0])
		w.run(r.OrderID).answered(r)
	}
}

// soonest returns the time of the next event. The result is always later than the present time.
func (w *Workflow) soonest() time.Time {
	w.t.Helper()
	at := farFuture
	due, err := w.store.Due(w.t.Context(), port.DueBucket, 0, farFuture, nil, 1)
	w.must(err)
	if len(due) > 0 {
		at = due[0].At
	}
	if len(w.held) > 0 && w.held[0].at.Before(at) {
		at = w.held[0].at
	}
	if next, some := w.queues.Next(); some && next.Before(at) {
		at = next
	}
	if tick := w.clock.Now().Add(time.Millisecond); at.Before(tick) {
		return tick
	}
	return at
}
