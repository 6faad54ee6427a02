package explore

import (
	"maps"
	"slices"

	"github.com/stepkeeper/stepkeeper/simulate/internal/deployment"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// standing reports a world in which every handler stands still, if there are any. A handler is a
// coroutine, and Go copies none; but one that stands still is the same as long as it does, so that only
// the world around it has to be copied.
func standing(w *world.Simulation) (all, any bool) {
	for _, p := range w.Procs {
		for _, iv := range p.Running {
			any = true
			if !on(iv).Frozen {
				return false, true
			}
		}
	}
	return true, any
}

// snapshot copies the world of an exploration, with its driver and without its handlers. What is never
// changed in place is shared: definitions, documents, messages. The original may be copied by several
// at a time, as long as it does not go on. TestSnapshot looks for anything else that is shared.
func snapshot(w *world.Simulation) *world.Simulation {
	c := *w
	c.Nth = map[world.Occasion]int{}
	c.Checks = world.Checks{}
	c.Cells = map[world.Cell]int{}
	c.Choices = nil
	c.Story = nil
	c.Ends = maps.Clone(w.Ends)
	c.Corpses = nil
	c.Agenda = nil
	c.Leases = maps.Clone(w.Leases)
	c.Outages = maps.Clone(w.Outages)
	c.Expired = maps.Clone(w.Expired)
	c.Coming = maps.Clone(w.Coming)
	c.Store = snapshotStore(w.Store, &c)
	c.Procs = make([]*world.Process, len(w.Procs))
	for i, p := range w.Procs {
		own := *p
		own.W = &c
		own.Running = nil
		own.Scheduler = nil
		own.Supervisor = nil
		own.Worker = nil
		own.Waits = nil
		c.Procs[i] = &own
	}
	c.Queues = make(map[string]*world.Queue, len(w.Queues))
	for name, q := range w.Queues {
		c.Queues[name] = snapshotQueue(q, &c)
	}
	c.Services = make(map[string]*world.Remote, len(w.Services))
	for key, s := range w.Services {
		own := *s
		c.Services[key] = &own
	}
	c.Ledgers = make(map[string]*world.Ledger, len(w.Ledgers))
	for agent, l := range w.Ledgers {
		c.Ledgers[agent] = &world.Ledger{Entries: maps.Clone(l.Entries)}
	}
	c.AllOrders = make([]*world.Order, len(w.AllOrders))
	c.ByID = make(map[string]*world.Order, len(w.AllOrders))
	for i, o := range w.AllOrders {
		own := *o
		own.Seen = snapshotHistory(&o.Seen)
		c.AllOrders[i] = &own
		c.ByID[o.Id] = &own
	}
	d := *driverOf(w)
	d.W = &c
	d.Acts = nil
	d.Mine = nil
	d.Landings = slices.Clone(d.Landings)
	d.Marks = slices.Clone(d.Marks)
	d.Held = map[int][]*world.Letter{}
	c.Driver = &d
	for _, p := range w.Procs {
		for _, iv := range p.Running {
			d.Held[iv.Id] = snapshotOf(on(iv).Mine)
		}
	}
	return &c
}

// become makes a world, in which the same handlers stand still, the one of a snapshot. They hold on to
// its queues, services and ledgers: those stay where they are.
func become(w *world.Simulation, s *world.Simulation) {
	for _, p := range w.Procs {
		for _, iv := range slices.Clone(p.Running) {
			if _, stays := driverOf(s).Held[iv.Id]; !stays {
				iv.Dead = true
				deployment.Ended(p, iv)
				w.Corpses = append(w.Corpses, iv)
			}
		}
	}
	deployment.Bury(w)
	c := snapshot(s)
	for i, p := range w.Procs {
		becomeProcess(w, p, *c.Procs[i])
	}
	for name, q := range w.Queues {
		own := *c.Queues[name]
		own.W = w
		own.Consumers = q.Consumers
		*q = own
	}
	for key, own := range c.Services {
		if known := w.Services[key]; known != nil {
			*known = *own
		} else {
			w.Services[key] = own
		}
	}
	for agent, l := range w.Ledgers {
		l.Entries = c.Ledgers[agent].Entries
	}
	store := *c.Store
	store.W = w
	*w.Store = store
	d := *driverOf(c)
	d.W = w
	*driverOf(w) = d
	w.Now = c.Now
	w.Invocations = c.Invocations
	w.Leases = c.Leases
	w.Outages = c.Outages
	w.Expired = c.Expired
	w.Coming = c.Coming
	w.AllOrders = c.AllOrders
	w.ByID = c.ByID
	w.Violation = c.Violation
	w.SweepAt = c.SweepAt
	w.Hash = c.Hash
	w.Events = c.Events
	for _, p := range w.Procs {
		for _, iv := range p.Running {
			on(iv).Frozen = true
			hold(iv, driverOf(s).Held[iv.Id], w)
		}
	}
}

// becomeProcess makes a process the one of a snapshot. It keeps its actors while handlers run in it.
func becomeProcess(w *world.Simulation, p *world.Process, own world.Process) {
	own.W = w
	own.Running = p.Running
	if len(p.Running) > 0 {
		own.Scheduler = p.Scheduler
		own.Supervisor = p.Supervisor
		own.Worker = p.Worker
		own.Waits = p.Waits
		if own.Waits != nil {
			own.Waits.Set(own.Known)
		}
	}
	*p = own
}

// hold gives a handler its messages. If a queue still holds a message, the handler gets the queue's copy.
func hold(iv *world.Invocation, letters []*world.Letter, w *world.Simulation) {
	on(iv).Mine = snapshotOf(letters)
	for i, l := range on(iv).Mine {
		for _, q := range w.Queues {
			if !slices.Contains(q.Consumers, iv.P) {
				continue
			}
			if at := slices.IndexFunc(q.Messages, func(o *world.Letter) bool {
				return o.Id == l.Id &&
					o.Message.Value == l.Message.Value
			}); at >= 0 {
				on(iv).Mine[i] = q.Messages[at]
			}
		}
	}
	iv.Letters = on(iv).Mine
}

func snapshotStore(s *world.Store, w *world.Simulation) *world.Store {
	c := *s
	c.W = w
	c.Ids = slices.Clone(s.Ids)
	c.Defs = s.Defs.Clone()
	c.Rows = make(map[string]*world.Row, len(s.Rows))
	for id, r := range s.Rows {
		own := *r
		own.WasDue = slices.Clone(r.WasDue)
		c.Rows[id] = &own
	}
	return &c
}

func snapshotQueue(q *world.Queue, w *world.Simulation) *world.Queue {
	c := *q
	c.W = w
	c.Messages = snapshotOf(q.Messages)
	c.Dead = snapshotOf(q.Dead)
	c.Consumers = make([]*world.Process, len(q.Consumers))
	for i, p := range q.Consumers {
		c.Consumers[i] = w.Procs[slices.Index(q.W.Procs, p)]
	}
	return &c
}

func snapshotOf(letters []*world.Letter) []*world.Letter {
	if len(letters) == 0 {
		return nil
	}
	all := make([]*world.Letter, len(letters))
	for i, l := range letters {
		own := *l
		all[i] = &own
	}
	return all
}

func snapshotHistory(h *world.History) world.History {
	c := *h
	c.Received = maps.Clone(h.Received)
	c.Reported = maps.Clone(h.Reported)
	c.Alerts = maps.Clone(h.Alerts)
	c.Requests = maps.Clone(h.Requests)
	c.Meant = maps.Clone(h.Meant)
	c.Holders = maps.Clone(h.Holders)
	c.Counted = maps.Clone(h.Counted)
	c.Verdicts = maps.Clone(h.Verdicts)
	c.Cancels = maps.Clone(h.Cancels)
	c.Answered = maps.Clone(h.Answered)
	c.Decisions = maps.Clone(h.Decisions)
	c.Failed = maps.Clone(h.Failed)
	c.StopBy = maps.Clone(h.StopBy)
	c.Done = maps.Clone(h.Done)
	c.Wakes = maps.Clone(h.Wakes)
	c.Alone = maps.Clone(h.Alone)
	c.Reminded = maps.Clone(h.Reminded)
	return c
}
