package runner

import (
	"context"
	"fmt"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/demo/services"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// clockPatience is how long past a step's last moment the operator waits before he believes what
// a service's records say: until then a call could still land.
const clockPatience = 500 * time.Millisecond

// operator is the person who is alerted when an order stops. He looks up in the service's own
// records what nobody else can know, states it, and lets the order go on.
type operator struct {
	fleet     *services.Fleet
	stack     *stack
	resubmits map[string]int // by order: how often it went on by his hand
}

// maxResubmits is how often the operator lets one order go on before he leaves it as it is.
const maxResubmits = 5

// helpless counts those of the stopped orders that he has given up.
func (p *operator) helpless(stopped []string) int {
	n := 0
	for _, id := range stopped {
		if p.resubmits[id] >= maxResubmits {
			n++
		}
	}
	return n
}

// attend looks after one order. It is called again and again while the order is stopped; what is
// not possible yet it leaves for the next time.
func (p *operator) attend(ctx context.Context, id string) error {
	if p.resubmits[id] >= maxResubmits {
		return nil
	}
	api := p.stack.client()
	t, err := api.Get(ctx, id)
	if err != nil || t.State != core.Error || !t.Ended {
		return err
	}
	for _, s := range t.Steps {
		if !inDoubt(s) || s.Resolved != nil && s.Resolved.At > s.ClaimedAt { // said already, and nobody was asked since
			continue
		}
		if time.Now().Before(lastMoment(s).Add(clockPatience)) {
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
	verdict, err := api.Resubmit(ctx, id, client.IfCommand(t.Command))
	if err == nil && verdict.Accepted {
		p.resubmits[id]++
	}
	return err
}

// inDoubt: a step of a service that does not recognise keys, failed or not undone. The other
// grades need no statement: asking again is safe.
func inDoubt(s view.Step) bool {
	return s.Grade == core.Plain && (s.State == core.Failed || s.State == core.UndoWait)
}

// lastMoment is when the last call of a step may have begun.
func lastMoment(s view.Step) time.Time {
	last := s.StopBy.Std()
	if s.Undo != nil && s.Undo.QuietBy.Std().After(last) {
		last = s.Undo.QuietBy.Std()
	}
	return last
}

// state looks a step's key up at its service and states what it finds. False: it is too early, or
// somebody was first.
func (p *operator) state(ctx context.Context, t *client.Task, s view.Step) (bool, error) {
	stands, err := p.fleet.Happened(ctx, s.Agent, s.Operation, core.Key(t.OrderID, t.Run, s.Name))
	if err != nil {
		return false, fmt.Errorf("look up %s of order %s at %s: %w", s.Name, t.OrderID, s.Agent, err)
	}
	fact := client.NotHappened
	if stands {
		fact = client.Happened
	}
	verdict, err := p.stack.client().Resolve(ctx, t.OrderID, s.Name, fact, client.IfCommand(t.Command))
	return verdict.Accepted, err
}
