package incident

import (
	"context"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Replied opens or ends an outage by an agent's reply. A reply of an agent that could not call opens the
// outage. Its alert is published if it lasts for half a minute. A reply that shows a call ends the outage. This
// reply must belong to a step that has waited for the agent, or this process must have seen the outage.
// Replied returns true for the one reply that ends the outage. It logs its errors, because a later reply of
// the same kind does the same.
func (s *Incidents) Replied(ctx context.Context, agent, operation string, r core.Reply,
	waited bool) (ended bool) {
	id, absent := ID{Agent: agent, Operation: operation}, ID{Agent: agent}
	var err error
	switch later := r.Outcome == core.OutcomeRetryLater; {
	case later && core.Uncalled(r.Code):
		if r.Code == core.CodeNoAgent {
			id = absent
		}
		err = s.raise(ctx, id, core.RaiseAlert{Code: r.Code, Message: core.RedactText(r.Message),
			At: core.TimeOf(s.cfg.Clock.Now())})
	case later && r.Code == core.CodeQueue: // the agent received the request too late to call
	case waited || s.hasNoted(id) || s.hasNoted(absent):
		err = s.change(ctx, func(d *document) bool {
			// Both outages end, because the reply shows that the agent is there and calls.
			ofCalls, ofAgent := d.end(id, core.TimeOf(s.cfg.Clock.Now())),
				d.end(absent, core.TimeOf(s.cfg.Clock.Now()))
			ended = ofCalls || ofAgent
			return ended
		})
		if err == nil {
			s.unnote(id, absent)
		}
	}
	if err != nil && ctx.Err() == nil {
		s.cfg.Log.WarnContext(ctx, "the outage of an agent is not up to date; the next reply corrects it", "agent",
			agent, "operation", operation, "error", err)
	}
	return ended && err == nil
}

// Absent opens the outage of an agent whose requests wait and are not received. While that lasts, the caller
// repeats the call.
func (s *Incidents) Absent(ctx context.Context, agent, reason string) error {
	return s.raise(ctx, ID{Agent: agent}, core.RaiseAlert{Code: core.CodeNoConsumer, Message: reason,
		At: core.TimeOf(s.cfg.Clock.Now())})
}

// Present ends an outage that Absent has opened.
func (s *Incidents) Present(ctx context.Context, agent string) error {
	id := ID{Agent: agent}
	s.unnote(id)
	return s.change(ctx, func(d *document) bool {
		x := d.find(id)
		return x != nil && x.First.Code == core.CodeNoConsumer && d.end(id, core.TimeOf(s.cfg.Clock.Now()))
	})
}

// end ends an open incident. It removes an incident without a published alert at once. Otherwise a sweep
// publishes the last alert. It returns false if the incident is not open.
func (d *document) end(id ID, now core.Time) bool {
	for i := range d.Open {
		if d.Open[i].ID != id || d.Open[i].Over != 0 {
			continue
		}
		if d.Open[i].Over = now; d.Open[i].Published == 0 {
			d.Open = append(d.Open[:i], d.Open[i+1:]...)
		}
		return true
	}
	return false
}

func (s *Incidents) hasNoted(id ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, noted := s.noted[id]
	return noted
}

func (s *Incidents) unnote(ids ...ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		delete(s.noted, id)
	}
}

// Outages returns the open outages of agents.
func (s *Incidents) Outages(ctx context.Context) (all []port.Outage, err error) {
	d, _, err := s.load(ctx)
	for _, x := range d.Open {
		if x.Agent != "" && x.Over == 0 {
			all = append(all, port.Outage{Agent: x.Agent, Operation: x.Operation, Code: x.First.Code,
				Message: x.First.Message, Since: x.Opened})
		}
	}
	return all, err
}
