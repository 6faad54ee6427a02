package incident

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// instance identifies one incident. Two successive incidents with the same ID are different instances.
type instance struct {
	ID
	opened core.Time
	order  string
}

// attempt describes the last attempt of this process to publish an alert of an incident.
type attempt struct {
	running bool
	ended   int       // value of Incidents.ended after the end of the attempt; 0 if the attempt runs
	failed  core.Time // time when the attempt failed; 0 if the attempt runs or has succeeded
}

// start publishes an alert of the incident x in a new goroutine. The argument seen is the result of s.seen
// before the caller read x from the document. start does nothing in three cases:
//
//   - This process already publishes an alert of the incident.
//   - An attempt to publish failed less than tryAgain ago.
//   - A publication for the incident has ended since the call of s.seen, so x may be outdated.
//
// The publication records its success in the document. Until then the alert stays due.
func (s *Incidents) start(x Incident, seen int, publication func(ctx context.Context) error) {
	key := instance{x.ID, x.Opened, x.First.OrderID}
	s.mu.Lock()
	last := s.attempts[key]
	paused := last.failed != 0 && port.Recent(last.failed.Std(), s.cfg.Clock.Now(), tryAgain)
	if last.running || last.ended > seen || paused {
		s.mu.Unlock()
		return
	}
	s.attempts[key] = attempt{running: true}
	s.mu.Unlock()
	s.cfg.Go(func(ctx context.Context) {
		next := attempt{}
		if err := port.Guard(s.cfg.Log, "publishing an alert",
			func() error { return publication(ctx) }); err != nil {
			next.failed = core.TimeOf(s.cfg.Clock.Now())
			if ctx.Err() == nil { // a stop of the process is not an error of the publication
				s.cfg.Log.ErrorContext(ctx,
					"an alert could not be published; a sweep tries again after a minute", "order",
					x.First.OrderID, "workflow", x.Workflow, "step", x.Step, "code", x.Code, "error", err)
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ended++
		next.ended = s.ended
		s.attempts[key] = next
	})
}

func (s *Incidents) seen() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// forget removes the attempts that no longer influence start.
func (s *Incidents) forget(d document, seen int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.attempts, func(key instance, last attempt) bool {
		if last.running || last.ended > seen {
			return false
		}
		x := d.find(key.ID)
		return last.failed == 0 || x == nil || x.Opened != key.opened || x.First.OrderID != key.order
	})
}

// correct replaces the times of a clock that was ahead by now. Otherwise no alert of the incident would be due
// until then. It reports whether there are such times.
func (d *document) correct(now core.Time) (corrected bool) {
	for i := range d.Open {
		x := &d.Open[i]
		for _, at := range []*core.Time{&x.Opened, &x.Last, &x.Published, &x.Over} {
			if at.Std().After(now.Std().Add(port.MaxLeaseSkew)) {
				*at = now
				corrected = true
			}
		}
	}
	return corrected
}

type look struct {
	now  time.Time
	seen int // result of Incidents.seen before the sweep read the document
	counted
}

func (s *Incidents) visit(ctx context.Context, x Incident, l look) error {
	f := l.orders[x.ID]
	now := l.now
	orders := f.orders
	switch kind := s.due(x, orders, l.whole, now); kind {
	case quietEnd:
		return s.drop(ctx, x)
	case "":
		return nil
	case message.AlertOver:
		if x.Over == 0 && !x.lasts() && s.isLeft(ctx, x, now) {
			return nil
		}
		s.start(x, l.seen, func(ctx context.Context) error { return s.over(ctx, x, now) })
	default:
		// The alert omits the commands that the first order accepted when it stopped, because the order may
		// accept other commands now.
		shown := x
		shown.First.Accepts = (core.Accepted{})
		if f.orders > 0 && !f.first {
			shown.First = f.example
		}
		s.start(x, l.seen, func(ctx context.Context) error { return s.announce(ctx, x, shown, kind, orders) })
	}
	return nil
}

// isLeft reports whether orders of the incident are still in Error. The count of a sweep may miss orders with
// a step in flight or an unreported end. Therefore isLeft counts again with Query.InFlight before an incident
// ends. This count can read every open order. If it finds an order or fails, isLeft returns true for the
// duration Config.Window without another count.
func (s *Incidents) isLeft(ctx context.Context, x Incident, now time.Time) bool {
	s.mu.Lock()
	at, was := s.left[x.ID]
	s.mu.Unlock()
	if was && port.Recent(at.Std(), now, s.cfg.Window) {
		return true
	}
	c, err := s.countOf(ctx, document{Open: []Incident{x}},
		port.Query{Workflow: x.Workflow, InFlight: true}, now)
	if err != nil {
		s.cfg.Log.WarnContext(ctx, "an incident is kept open: its orders could not be looked for", "workflow",
			x.Workflow, "error", err)
	}
	left := err != nil || !c.whole || c.orders[x.ID].orders > 0
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.left, x.ID); left {
		s.left[x.ID] = core.TimeOf(now)
	}
	return left
}

func (s *Incidents) announce(ctx context.Context, x, shown Incident, kind message.AlertKind,
	orders int,
) error {
	if err := s.publish(ctx, shown, kind, orders); err != nil {
		return err
	}
	if err := s.change(ctx, published(x, s.cfg.Clock.Now())); err != nil {
		return fmt.Errorf(
			"the alert was published, and may be once more, because that could not be stored: %w", err)
	}
	return nil
}

// over ends an incident and publishes its last alert. It does nothing if Incident.Last has changed, because
// another order of the incident has stopped.
func (s *Incidents) over(ctx context.Context, x Incident, now time.Time) error {
	ended := false
	err := s.change(ctx, func(d *document) bool {
		y := d.same(x)
		ended = y != nil && y.Last == x.Last
		if ended {
			y.Over = core.TimeOf(now)
		}
		return ended
	})
	if err != nil || !ended {
		return err
	}
	if err := s.publish(ctx, x, message.AlertOver, 0); err != nil {
		return err
	}
	return s.drop(ctx, x)
}

func published(x Incident, now time.Time) func(*document) bool {
	return func(d *document) bool {
		y := d.same(x)
		if y == nil {
			return false
		}
		y.Published = core.TimeOf(now)
		return true
	}
}

func (s *Incidents) publish(ctx context.Context, x Incident, kind message.AlertKind, orders int) error {
	if x.Undone || x.lasts() {
		orders = 0 // none of these orders is in Error
	}
	return s.cfg.Publish(ctx, message.Alert{
		Kind: kind, RaiseAlert: x.First, Orders: orders, Since: x.Opened, Intake: x.Intake, Agent: x.Agent,
		Operation: x.Operation,
	})
}
