// Package operator plays the person who looks after orders that have stopped.
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

// clockMargin is how long past a step's last moment the operator waits before relying on what
// a service's records say: until then a call could still land.
const clockMargin = 500 * time.Millisecond

// Operator acts for the person who is alerted when an order stops. It looks up in the service's own
// records what Stepkeeper cannot know, states it, and lets the order go on.
type Operator struct {
	Fleet  *services.Fleet
	Client func() *client.Client
	Now    func() time.Time // nil means time.Now
	// Undoes reports whether an order is undone instead of continued; nil means that all continue.
	Undoes func(id string) bool
	// Resubmits is, by order, how often the operator let it go on; Undone, how often it had it undone;
	// Resolved, how many facts it stated.
	Resubmits, Undone map[string]int
	Resolved          int
}

// New makes an operator with nothing done yet.
func New(fleet *services.Fleet, api func() *client.Client) *Operator {
	return &Operator{Fleet: fleet, Client: api, Now: time.Now, Resubmits: map[string]int{},
		Undone: map[string]int{}}
}

// maxResubmits is how often the operator lets one order go on before it leaves it as it is.
const maxResubmits = 5

// GivenUp counts those of the stopped orders that it has given up.
func (p *Operator) GivenUp(stopped []string) int {
	n := 0
	for _, id := range stopped {
		if p.Resubmits[id] >= maxResubmits {
			n++
		}
	}
	return n
}

// Attend looks after one order. It is called again and again while the order is stopped; what is
// not possible yet it leaves for the next time.
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
		// said already, and no agent was asked since
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

// resume lets the order go on, or has it undone.
func (p *Operator) resume(ctx context.Context, t *client.Task) error {
	if p.Undoes != nil && p.Undone[t.OrderID] == 0 && p.Undoes(t.OrderID) {
		verdict, err := p.Client().Undo(ctx, t.OrderID, client.IfCommand(t.Command))
		if err != nil || verdict.Accepted {
			p.Undone[t.OrderID]++
			return err
		} // past the point of no return there is only the way forward
	}
	verdict, err := p.Client().Resubmit(ctx, t.OrderID, client.IfCommand(t.Command))
	if err == nil && verdict.Accepted {
		p.Resubmits[t.OrderID]++
	}
	return err
}

// inDoubt reports whether a step needs a statement: it failed or was not undone, and its service does not
// recognise keys. For the other grades, calling again is safe.
func inDoubt(s view.Step) bool {
	return s.Grade == core.Plain && (s.State == core.Failed || s.State == core.UndoWait)
}

// latestStart is when the last call of a step may have begun.
func latestStart(s view.Step) time.Time {
	last := s.StopBy.Std()
	if s.Undo != nil && s.Undo.QuietBy.Std().After(last) {
		last = s.Undo.QuietBy.Std()
	}
	return last
}

// state looks a step's key up at its service and states what it finds. False: it is too early, or
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
