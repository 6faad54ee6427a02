package stage

import (
	"context"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/demo/services"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// clockMargin is the wait after the latest time at which a call can begin. A call that began in time may
// still take effect during this wait.
const clockMargin = 500 * time.Millisecond

// Operator simulates the person who handles orders in Error. It looks up in the records of a service whether
// a call had its effect. Then it states the fact and lets the order continue.
type Operator struct {
	Fleet  *services.Fleet
	Client func() *client.Client
	Now    func() time.Time // clock; NewOperator sets it to time.Now
	// Undoes reports whether the operator undoes an order instead of continuing it. If Undoes is nil, the
	// operator continues every order.
	Undoes func(id string) bool
	// Resubmits and Undone count, for each order, how often the operator continued and undid the order.
	// Undone also counts a command that ended with an error. Resolved counts the stated facts.
	Resubmits, Undone map[string]int
	Resolved          int
}

// NewOperator returns an operator that continues every order.
func NewOperator(fleet *services.Fleet, api func() *client.Client) *Operator {
	return &Operator{
		Fleet: fleet, Client: api, Now: time.Now, Resubmits: map[string]int{},
		Undone: map[string]int{},
	}
}

// maxResubmits limits how often the operator continues an order. After that, the operator gives up the order.
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

// Attend handles one order in Error, unless the operator has given up the order. The caller repeats the call
// while the order is in Error. If an action is not possible yet, Attend leaves the action to a later call.
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
		// Skip a step whose fact was stated after the last claim.
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
		t, err = api.Get(ctx, id)
		if err != nil {
			return err
		}
	}
	return p.resume(ctx, t)
}

func (p *Operator) resume(ctx context.Context, t *client.Task) error {
	if p.Undoes != nil && p.Undone[t.OrderID] == 0 && p.Undoes(t.OrderID) {
		verdict, err := p.Client().Undo(ctx, t.OrderID, client.IfCommand(t.Command))
		if err != nil || verdict.Accepted {
			p.Undone[t.OrderID]++
			return err
		} // After a point of no return, the order can only continue.
	}
	verdict, err := p.Client().Resubmit(ctx, t.OrderID, client.IfCommand(t.Command))
	if err == nil && verdict.Accepted {
		p.Resubmits[t.OrderID]++
	}
	return err
}

// inDoubt reports whether the operator must state a fact about a step. Only a failed do or undo at a plain
// service needs a fact. For the other grades, a further call is harmless.
func inDoubt(s view.Step) bool {
	return s.Grade == core.Plain && (s.State == core.Failed || s.State == core.UndoWait)
}

func latestStart(s view.Step) time.Time {
	last := s.StopBy.Std()
	if s.Undo != nil && s.Undo.QuietBy.Std().After(last) {
		last = s.Undo.QuietBy.Std()
	}
	return last
}

// state looks up the key of a step at the service and states the fact. It returns false if the order refuses
// the statement.
func (p *Operator) state(ctx context.Context, t *client.Task, s view.Step) (bool, error) {
	fact := client.NotHappened
	if p.Fleet.Happened(s.Agent, s.Operation, core.Key(t.OrderID, t.Run, s.Name)) {
		fact = client.Happened
	}
	verdict, err := p.Client().Resolve(ctx, t.OrderID, s.Name, fact, client.IfCommand(t.Command))
	if verdict.Accepted {
		p.Resolved++
	}
	return verdict.Accepted, err
}
