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

// start publishes an alert of the incident x in a new goroutine. start does nothing if this process already publishes
// an alert of the incident, or if an attempt failed less than tryAgain ago.
//
// The publication records its success in the document. Until then the alert stays due.
func (s *Incidents) start(x Incident, publication func(ctx context.Context) error) {
	key := instance{x.ID, x.Opened, x.First.OrderID}
	now := s.cfg.Clock.Now()
	s.mu.Lock()
	maps.DeleteFunc(s.attempts, func(_ instance, failed core.Time) bool {
		return failed != 0 && !port.Recent(failed.Std(), now, tryAgain)
	})
	_, attempted := s.attempts[key]
	if !attempted {
		s.attempts[key] = 0
	}
	s.mu.Unlock()
	if attempted {
		return
	}
	s.cfg.Go(func(ctx context.Context) {
		err := port.Guard(s.cfg.Log, "publishing an alert", func() error { return publication(ctx) })
		if err != nil && ctx.Err() == nil { // a stop of the process is not an error of the publication
			s.cfg.Log.ErrorContext(ctx, "an alert could not be published; a sweep tries again after a minute", "order",
				x.First.OrderID, "workflow", x.Workflow, "step", x.Step, "code", x.Code, "error", err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.attempts, key)
		if err != nil {
			s.attempts[key] = core.TimeOf(s.cfg.Clock.Now())
		}
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

func (s *Incidents) visit(ctx context.Context, x Incident, c counted, now time.Time) error {
	f := c.orders[x.ID]
	switch kind := s.due(x, f.orders, c.whole, now); kind {
	case quietEnd:
		return s.drop(ctx, x)
	case "":
		return nil
	case message.AlertOver:
		if x.Over == 0 && !x.lasts() && s.isLeft(ctx, x, now) {
			return nil
		}
		s.start(x, func(ctx context.Context) error { return s.over(ctx, x, now) })
	default:
		// The alert omits the commands that the first order accepted when it stopped, because the order may
		// accept other commands now.
		shown := x
		shown.First.Accepts = (core.Accepted{})
		if f.orders > 0 && !f.first {
			shown.First = f.example
		}
		s.start(x, func(ctx context.Context) error { return s.announce(ctx, x, shown, kind, f.orders) })
	}
	return nil
}

// isLeft reports whether orders of the incident are still in Error. The count of a sweep may miss orders with
// a step in flight or an unreported end. Therefore isLeft counts again with Query.InFlight before an incident
// ends. This count can read every open order. If it finds an order or fails, isLeft returns true for the
// duration Config.Window without another count.
func (s *Incidents) isLeft(ctx context.Context, x Incident, now time.Time) bool {
	if at, was := s.left.Get(x.ID); was && port.Recent(at.Std(), now, s.cfg.Window) {
		return true
	}
	c, err := s.countOf(ctx, document{Open: []Incident{x}},
		port.Query{Workflow: x.Workflow, InFlight: true}, now)
	if err != nil {
		s.cfg.Log.WarnContext(ctx, "an incident is kept open: its orders could not be looked for", "workflow",
			x.Workflow, "error", err)
	}
	left := err != nil || !c.whole || c.orders[x.ID].orders > 0
	s.left.Remove(x.ID)
	if left {
		s.left.Add(x.ID, core.TimeOf(now))
	}
	return left
}

// announce publishes an alert, unless one was published since the caller read x.
func (s *Incidents) announce(ctx context.Context, x, shown Incident, kind message.AlertKind, orders int) error {
	d, _, err := s.load(ctx)
	published := core.Time(0) // also if the incident has ended since
	if y := d.same(x); y != nil {
		published = y.Published
	}
	if err != nil || published != x.Published {
		return err
	}
	if err := s.publish(ctx, shown, kind, orders); err != nil {
		return err
	}
	err = s.change(ctx, func(d *document) bool {
		y := d.same(x)
		if y != nil {
			y.Published = core.TimeOf(s.cfg.Clock.Now())
		}
		return y != nil
	})
	if err != nil {
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

func (s *Incidents) publish(ctx context.Context, x Incident, kind message.AlertKind, orders int) error {
	if x.Undone || x.lasts() {
		orders = 0 // none of these orders is in Error
	}
	return s.cfg.Publish(ctx, message.Alert{
		Kind: kind, RaiseAlert: x.First, Orders: orders, Since: x.Opened, Intake: x.Intake, Agent: x.Agent,
		Operation: x.Operation,
	})
}
