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

// instance identifies one of several successive incidents with the same ID.
type instance struct {
	ID
	opened core.Time
	order  string
}

// attempt is the last publication of an incident's alert by this process.
type attempt struct {
	running bool
	ended   int       // number of the attempt among the ended publications, from 1
	failed  core.Time // time when it failed; 0 if it did not
}

// start publishes an alert of the incident concurrently. seen is the number of ended publications when the
// caller read the incident. start does nothing in three cases: this process is publishing an alert of the
// incident, it failed to do so less than tryAgain ago, or it has ended a publication since the caller read
// the incident. The publication records its success in the document. Until then the alert stays due.
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
			if ctx.Err() == nil { // otherwise the process stops, and the next one finds the alert due
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

// seen returns the number of ended publications.
func (s *Incidents) seen() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// forget drops the attempts that no longer affect a reader of the document.
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

// look holds the data that one sweep has read.
type look struct {
	now  time.Time
	seen int // number of publications that had ended before the incidents were read
	counted
}

// visit starts the publication of an incident's due alert.
func (s *Incidents) visit(ctx context.Context, x Incident, l look) error {
	f, now := l.orders[x.ID], l.now
	orders := f.orders
	switch kind := s.due(x, orders, l.whole, now); kind {
	case quietEnd:
		return s.drop(ctx, x)
	case "":
		if orders <= x.Most || x.Published == 0 { // the first alert stores the number too
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
		// The accepted commands may have changed; `show` lists them.
		shown := x
		if shown.First.Accepts = (core.Accepted{}); f.orders > 0 && !f.first {
			shown.First = f.example
		}
		s.start(x, l.seen, func(ctx context.Context) error { return s.announce(ctx, x, shown, kind, orders) })
	}
	return nil
}

// isLeft reports whether orders of the incident are in Error and still have a request in flight. A sweep does
// not count such orders, so isLeft is called before an incident ends. It reads every open order. If it finds
// such an order, or cannot read the orders, it checks again only after Window.
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

// announce publishes an alert of the incident x, and stores that it did.
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

// over ends an incident, unless another order has stopped since it was read.
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

// published returns the change of the document after an alert was published.
func published(x Incident, now time.Time, orders int) func(*document) bool {
	return func(d *document) bool {
		y := d.same(x)
		if y == nil {
			return false
		}
		y.Published, y.Orders, y.Most = core.TimeOf(now), orders, max(y.Most, orders)
		y.More = y.More && (!x.More || y.Last != x.Last) // more orders joined during the publication
		return true
	}
}

func (s *Incidents) publish(ctx context.Context, x Incident, kind message.AlertKind, orders int) error {
	if x.Undone || x.Intake {
		orders = 0 // no order is in Error
	}
	return s.cfg.Publish(ctx, message.Alert{
		Kind: kind, RaiseAlert: x.First, Orders: orders, Most: max(x.Most, orders), Since: x.Opened,
		Others: x.Workflow == "" && !x.Intake, Intake: x.Intake,
	})
}
