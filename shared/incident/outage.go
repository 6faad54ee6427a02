package incident

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Replied opens or ends an outage by an agent's reply. A reply of an agent that could not call opens the
// outage. Its alert is published if it lasts for half a minute. A reply that shows a call ends the outage, but a
// call that failed does not end that of an open circuit breaker, which stays open. This reply must belong to a
// step that has waited for the agent, or this process must have seen the outage. Replied logs its errors, because
// a later reply of the same kind does the same.
func (s *Incidents) Replied(ctx context.Context, agent, operation string, r core.Reply, waited bool) {
	id := ID{Agent: agent, Operation: operation}
	absent := ID{Agent: agent}
	var err error
	switch later := r.Outcome == core.OutcomeRetryLater; {
	case later && core.Uncalled(r.Code):
		if r.Code == core.CodeNoAgent {
			id = absent
		}
		err = s.raise(ctx, id, core.RaiseAlert{
			Code: r.Code, Message: core.RedactText(r.Message),
			At: core.TimeOf(s.cfg.Clock.Now()),
		})
	case later && r.Code == core.CodeQueue: // the agent received the request too late to call
	case waited || s.noted.Contains(id) || s.noted.Contains(absent):
		s.noted.Remove(id)
		s.noted.Remove(absent)
		err = s.change(ctx, func(d *document) bool {
			// Both outages end, because the reply shows that the agent is there and calls.
			now := core.TimeOf(s.cfg.Clock.Now())
			failed := later && r.Code != core.CodeNotYet
			calls := !(failed && d.breaks(id)) && d.end(id, now)
			there := d.end(absent, now)
			return calls || there
		})
	}
	if err != nil && ctx.Err() == nil {
		s.cfg.Log.WarnContext(ctx, "the outage of an agent is not up to date; the next reply corrects it", "agent",
			agent, "operation", operation, "error", err)
	}
}

// Absent opens the outage of an agent whose requests wait and are not received. While that lasts, the caller
// repeats the call.
func (s *Incidents) Absent(ctx context.Context, agent, reason string) error {
	return s.raise(ctx, ID{Agent: agent}, core.RaiseAlert{
		Code: core.CodeNoConsumer, Message: reason,
		At: core.TimeOf(s.cfg.Clock.Now()),
	})
}

// Present ends an outage that Absent has opened.
func (s *Incidents) Present(ctx context.Context, agent string) error {
	id := ID{Agent: agent}
	s.noted.Remove(id)
	return s.change(ctx, func(d *document) bool {
		x := d.find(id)
		return x != nil && x.First.Code == core.CodeNoConsumer && d.end(id, core.TimeOf(s.cfg.Clock.Now()))
	})
}

// breaks reports whether an outage is that of a circuit breaker.
func (d *document) breaks(id ID) bool {
	x := d.find(id)
	return x != nil && x.First.Code == core.CodeBreakerOpen
}

// end ends an open outage. A sweep wakes its steps and publishes its last alert. It returns false if the outage
// is not open.
func (d *document) end(id ID, now core.Time) bool {
	x := d.find(id)
	if x == nil || x.Over != 0 {
		return false
	}
	x.Over = now
	x.Wakes = true
	return true
}

// Outages returns the outages of agents that last, and those that have ended and whose steps are not woken yet.
func (s *Incidents) Outages(ctx context.Context) (all []port.Outage, err error) {
	d, _, err := s.load(ctx)
	return d.outages(), err
}

// Lasting returns the outages of agents that last, from the output of the ledger entry with Key. An error means
// that the output cannot be read.
func Lasting(output []byte) ([]port.Outage, error) {
	if len(output) == 0 {
		return nil, nil
	}
	var d document
	err := json.Unmarshal(output, &d)
	return slices.DeleteFunc(d.outages(), func(o port.Outage) bool { return o.Ended != 0 }), err
}

func (d *document) outages() (all []port.Outage) {
	for _, x := range d.Open {
		if x.Agent != "" && (x.Over == 0 || x.Wakes) {
			all = append(all, port.Outage{
				Agent: x.Agent, Operation: x.Operation, Code: x.First.Code,
				Message: x.First.Message, Since: x.Opened, Ended: x.Over,
			})
		}
	}
	return all
}

// Woken records that the steps which waited for an ended outage are woken.
func (s *Incidents) Woken(ctx context.Context, o port.Outage) error {
	return s.change(ctx, func(d *document) bool {
		x := d.find(ID{Agent: o.Agent, Operation: o.Operation})
		if x == nil || x.Over != o.Ended {
			return false
		}
		x.Wakes = false
		return true
	})
}
