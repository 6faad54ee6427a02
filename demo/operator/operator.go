// Package operator simulates the person who handles stopped orders.
package operator

import (
	"context"
	"fmt"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/demo/services"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// clockMargin is the time that the operator waits after the last moment of a step before it relies on a
// service's records. Until then a call could still take effect.
const clockMargin = 500 * time.Millisecond

// Operator simulates the person who is alerted when an order stops. In the service's records it reads the
// facts that Stepkeeper cannot know. It states them, and lets the order continue.
type Operator struct {
	Fleet  *services.Fleet
	Client func() *client.Client
	Now    func() time.Time // nil means time.Now
	// Undoes reports whether an order is undone instead of continued; nil means that all continue.
	Undoes func(id string) bool
	// Resubmits and Undone hold, by order, the number of times that the operator continued and undid it.
	// Resolved counts the stated facts.
	Resubmits, Undone map[string]int
	Resolved          int
}

// New returns an operator that has done nothing yet.
func New(fleet *services.Fleet, api func() *client.Client) *Operator {
	return &Operator{Fleet: fleet, Client: api, Now: time.Now, Resubmits: map[string]int{},
		Undone: map[string]int{}}
}

// maxResubmits is the number of times that the operator continues one order before it gives up.
const maxResubmits = 5

// GivenUp returns how many of the stopped orders the operator has given up.
func (p *Operator) GivenUp(stopped []string) int {
	n := 0
	for _, id := range stopped {
		if p.Resubmits[id] >= maxResubmits {
			n++
		}
	}
	return n
}

// Attend handles one order. It is called repeatedly while the order is stopped, and leaves steps that are not
// possible yet for the next call.
func (p *Operator) Attend(ctx context.Context, id string) error {
	if p.Resubmits[id] >= maxResubmits {
		return nil
	}
	api := p.Client()
	t, err := api.Get(ctx, id)
	if err != nil || t.State != core.Error || !t.Ended {
		return err
	}
	for _, s := range t.Steps {
		// the operator has stated the fact already, and no agent got a request since
		if !inDoubt(s) || s.Resolved != nil && s.Resolved.At > s.ClaimedAt {
			continue
		}
		if p.Now().Before(latestStart(s).Add(clockMargin)) {
			return nil
		}
		ok, err := p.state(ctx, t, s)
		if err != nil || !ok {
			return err
		}
		if t, err = api.Get(ctx, id); err != nil {
			return err
		}
	}
	return p.resume(ctx, t)
}

// resume continues the order, or undoes it.
func (p *Operator) resume(ctx context.Context, t *client.Task) error {
	if p.Undoes != nil && p.Undone[t.OrderID] == 0 && p.Undoes(t.OrderID) {
		verdict, err := p.Client().Undo(ctx, t.OrderID, client.IfCommand(t.Command))
		if err != nil || verdict.Accepted {
			p.Undone[t.OrderID]++
			return err
		} // past the point of no return the order can only continue
	}
	verdict, err := p.Client().Resubmit(ctx, t.OrderID, client.IfCommand(t.Command))
	if err == nil && verdict.Accepted {
		p.Resubmits[t.OrderID]++
	}
	return err
}

// inDoubt reports whether a step needs a statement: it failed or was not undone, and its service does not
// recognise keys. For the other grades another call is safe.
func inDoubt(s view.Step) bool {
	return s.Grade == core.Plain && (s.State == core.Failed || s.State == core.UndoWait)
}

// latestStart returns the latest time at which the last call of a step may have begun.
func latestStart(s view.Step) time.Time {
	last := s.StopBy.Std()
	if s.Undo != nil && s.Undo.QuietBy.Std().After(last) {
		last = s.Undo.QuietBy.Std()
	}
	return last
}

// state looks up a step's key at its service and states the fact. It returns false if it is too early, or if
// another command came first.
func (p *Operator) state(ctx context.Context, t *client.Task, s view.Step) (bool, error) {
	stands, err := p.Fleet.Happened(ctx, s.Agent, s.Operation, core.Key(t.OrderID, t.Run, s.Name))
	if err != nil {
		return false, fmt.Errorf("look up %s of order %s at %s: %w", s.Name, t.OrderID, s.Agent, err)
	}
	fact := client.NotHappened
	if stands {
		fact = client.Happened
	}
	verdict, err := p.Client().Resolve(ctx, t.OrderID, s.Name, fact, client.IfCommand(t.Command))
	if verdict.Accepted {
		p.Resolved++
	}
	return verdict.Accepted, err
}
