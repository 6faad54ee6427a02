package workflowtest

import (
	"cmp"
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

const (
	visibility = 30 * time.Second
	pause      = time.Second // before a message that could not be handled comes again
	// standstill is how many messages may be handled without the clock moving on.
	standstill = 100_000
)

var farFuture = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// held is a reply under way.
type held struct {
	at    time.Time
	reply *message.Reply
}

// Advance moves the clock forward by d, 0 included, and lets happen, each at its time, what is to
// happen until then.
func (w *Workflow) Advance(d time.Duration) {
	w.t.Helper()
	w.until(w.clock.Now().Add(d), func() bool { return false })
}

// until plays until end, or until enough returns true. It reports whether enough returned true.
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

// settle lets each actor work until nothing is left to do at this moment. Messages are handled one
// by one: of two things that happen at once, one comes first, and always the same one.
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

// one does one thing; false: there is nothing to do.
func (w *Workflow) one() bool {
	w.t.Helper()
	w.arrive()
	if w.handled(port.Replies) || w.handled(port.Control) || w.handled(port.Tasks) {
		return true
	}
	for _, name := range w.names {
		if d, q := w.take(port.Requests(name)); d != nil {
			w.must(w.agents[name].handle(w.t.Context(), *d))
			w.must(q.Delete(w.t.Context(), []string{d.Receipt})[0])
			return true
		}
	}
	report, err := w.supervisor.Sweep(w.t.Context())
	w.must(err)
	return report.Overdue+report.Asked+report.Unreported > 0
}

// listen takes the application's statuses.
func (w *Workflow) listen() {
	w.t.Helper()
	for d, q := w.take(replyTo); d != nil; d, q = w.take(replyTo) {
		w.must(q.Delete(w.t.Context(), []string{d.Receipt})[0])
		s, err := message.StatusOf(*d)
		w.must(err)
		r := w.run(s.OrderID)
		r.statuses = append(r.statuses, s.Status)
	}
}

// must ends the test at what is no fault of the workflow's author, or of the script.
func (w *Workflow) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("%v\n%s", err, w.timelines())
	}
}

func (w *Workflow) take(queue string) (*port.Delivery, port.Queue) {
	w.t.Helper()
	q, err := w.queues.Queue(queue)
	w.must(err)
	ds, err := q.Receive(w.t.Context(), 1, 0, visibility)
	w.must(err)
	if len(ds) == 0 {
		return nil, q
	}
	return &ds[0], q
}

// handled lets the Scheduler take one message of a queue.
func (w *Workflow) handled(queue string) bool {
	w.t.Helper()
	d, q := w.take(queue)
	if d == nil {
		return false
	}
	if failed := w.scheduler.Handle(w.t.Context(), queue, []port.Delivery{*d}); len(failed) > 0 {
		w.must(q.Extend(w.t.Context(), d.Receipt, pause))
		return true
	}
	w.must(q.Delete(w.t.Context(), []string{d.Receipt})[0])
	return true
}

// replied sends a reply on its way.
func (w *Workflow) replied(r *message.Reply, takes time.Duration) {
	at := w.clock.Now().Add(takes)
	place, _ := slices.BinarySearchFunc(w.held, at, func(h held, at time.Time) int {
		return cmp.Or(h.at.Compare(at), -1) // after those of the same time
	})
	w.held = slices.Insert(w.held, place, held{at, r})
}

// arrive lets the replies arrive whose time has come.
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

// soonest is the next time at which something is to happen; later than now in any case, since at
// this moment everything has.
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
