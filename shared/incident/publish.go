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

// instance identifies an incident. Successive incidents with the same ID are different instances.
type instance struct {
	ID
	opened core.Time
	order  string
}

// attempt describes the last attempt of this process to publish an alert of an incident.
type attempt struct {
	running bool
	ended   int       // number of the attempt among the publications that have ended, from 1
	failed  core.Time // time when the attempt failed; 0 if it succeeded
}

// start publishes an alert of the incident in a new goroutine. The argument seen is the value of
// Incidents.seen from before the caller read the incident. start does nothing in three cases:
//
//   - This process already publishes an alert of the incident.
//   - An attempt has failed less than tryAgain ago.
//   - A publication of the incident has ended after the caller read the incident.
//
// The publication records its success in the document. Until then the alert stays due.
func (s *Incidents) start(x Incident, seen int, publication func(ctx context.Context) error) {
	key := instance{x.ID, x.Opened, x.First.OrderID}
	s.mu.Lock()
	last := s.attempts[key]
	paused := last.failed != 0 && s.cfg.Clock.Now().Sub(last.failed.Std()) < tryAgain
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
			if ctx.Err() == nil { // if the process stops, the next process publishes the alert
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

// seen returns the number of publications that have ended.
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

type look struct {
	now  time.Time
	seen int // value of Incidents.seen before the sweep read the incidents
	counted
}

// visit starts the publication of the incident's alert if one is due.
func (s *Incidents) visit(ctx context.Context, x Incident, l look) error {
	f, now := l.orders[x.ID], l.now
	orders := f.orders
	switch kind := s.due(x, orders, l.whole, now); kind {
	case quietEnd:
		return s.drop(ctx, x)
	case "":
		if orders <= x.Most || x.Published == 0 { // announce stores the number with the first alert
			return nil
		}
		return s.change(ctx, func(d *document) bool {
			y := d.same(x)
			if y != nil {
				y.Most = max(y.Most, orders)
			}
			return y != nil
		})
	case message.AlertOver:
		if x.Over == 0 && !x.Intake && s.isLeft(ctx, x, now) {
			return nil
		}
		s.start(x, l.seen, func(ctx context.Context) error { return s.over(ctx, x, now) })
	default:
		// the accepted commands may have changed since the order stopped; the command `show` lists them
		shown := x
		if shown.First.Accepts = (core.Accepted{}); f.orders > 0 && !f.first {
			shown.First = f.example
		}
		s.start(x, l.seen, func(ctx context.Context) error { return s.announce(ctx, x, shown, kind, orders) })
	}
	return nil
}

// isLeft reports whether orders of the incident are in Error with a step in flight or an end to report. A
// sweep may omit these orders, so isLeft must check before an incident ends. The check reads all open orders.
// If the check finds an order or fails, isLeft returns true for the duration Window without another check.
func (s *Incidents) isLeft(ctx context.Context, x Incident, now time.Time) bool {
	s.mu.Lock()
	at, was := s.left[x.ID]
	s.mu.Unlock()
	if was && now.Sub(at.Std()) < s.cfg.Window {
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

// announce publishes an alert with the data of shown, and records the publication in the document.
func (s *Incidents) announce(ctx context.Context, x, shown Incident, kind message.AlertKind,
	orders int) error {
	if err := s.publish(ctx, shown, kind, orders); err != nil {
		return err
	}
	if err := s.change(ctx, published(x, s.cfg.Clock.Now(), orders)); err != nil {
		return fmt.Errorf(
			"the alert was published, and may be once more, because that could not be stored: %w", err)
	}
	return nil
}

// over ends an incident and publishes its last alert. It does nothing if another order has stopped in the
// meantime.
func (s *Incidents) over(ctx context.Context, x Incident, now time.Time) error {
	ended := false
	err := s.change(ctx, func(d *document) bool {
		y := d.same(x)
		if ended = y != nil && y.Last == x.Last; ended {
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

// published returns a change of the document that records a published alert.
func published(x Incident, now time.Time, orders int) func(*document) bool {
	return func(d *document) bool {
		y := d.same(x)
		if y == nil {
			return false
		}
		y.Published, y.Orders, y.Most = core.TimeOf(now), orders, max(y.Most, orders)
		y.More = y.More && (!x.More || y.Last != x.Last) // true if orders joined during the publication
		return true
	}
}

func (s *Incidents) publish(ctx context.Context, x Incident, kind message.AlertKind, orders int) error {
	if x.Undone || x.Intake {
		orders = 0 // none of these orders is in Error
	}
	return s.cfg.Publish(ctx, message.Alert{
		Kind: kind, RaiseAlert: x.First, Orders: orders, Most: max(x.Most, orders), Since: x.Opened,
		Others: x.Workflow == "" && !x.Intake, Intake: x.Intake,
	})
}
