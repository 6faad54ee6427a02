package simulate

import (
	"maps"
	"slices"
)

// standing reports a world in which every handler stands still, if there are any. A handler is a
// coroutine, and Go copies none; but one that stands still is the same as long as it does, so that only
// the world around it has to be copied.
func (w *simulation) standing() (all, any bool) {
	for _, p := range w.procs {
		for _, iv := range p.running {
			if any = true; !iv.frozen {
				return false, true
			}
		}
	}
	return true, any
}

// snapshot copies the world of an exploration, with its driver and without its handlers. What is never
// changed in place is shared: definitions, documents, messages. The original may be copied by several
// at a time, as long as it does not go on. TestSnapshot looks for anything else that is shared.
func (w *simulation) snapshot() *simulation {
	c := *w
	c.nth, c.checks, c.Cells, c.choices, c.story = map[point]int{}, newChecks(), map[Cell]int{}, nil, nil
	c.Ends, c.corpses, c.heap = maps.Clone(w.Ends), nil, heap{}
	c.leases, c.outages, c.expired, c.coming = maps.Clone(w.leases), maps.Clone(w.outages),
		maps.Clone(w.expired), maps.Clone(w.coming)
	c.store = w.store.snapshot(&c)
	c.procs = make([]*process, len(w.procs))
	for i, p := range w.procs {
		own := *p
		own.w, own.running, own.scheduler, own.supervisor, own.worker, own.waits = &c, nil, nil, nil, nil, nil
		c.procs[i] = &own
	}
	c.queues = make(map[string]*queue, len(w.queues))
	for name, q := range w.queues {
		c.queues[name] = q.snapshot(&c)
	}
	c.services = make(map[string]*service, len(w.services))
	for key, s := range w.services {
		own := *s
		c.services[key] = &own
	}
	c.ledgers = make(map[string]*ledger, len(w.ledgers))
	for agent, l := range w.ledgers {
		c.ledgers[agent] = &ledger{entries: maps.Clone(l.entries)}
	}
	c.orders, c.byID = make([]*order, len(w.orders)), make(map[string]*order, len(w.orders))
	for i, o := range w.orders {
		own := *o
		own.seen = o.seen.snapshot()
		c.orders[i], c.byID[o.id] = &own, &own
	}
	d := *w.driver
	d.w, d.acts, d.mine = &c, nil, nil
	d.landings, d.marks = slices.Clone(d.landings), slices.Clone(d.marks)
	c.driver = &d
	for _, p := range w.procs {
		for _, iv := range p.running {
			if c.held == nil {
				c.held = map[int][]*letter{}
			}
			c.held[iv.id] = snapshotOf(iv.mine)
		}
	}
	return &c
}

// become makes a world, in which the same handlers stand still, the one of a snapshot. They hold on to
// its queues, services and ledgers: those stay where they are.
func (w *simulation) become(s *simulation) {
	for _, p := range w.procs {
		for _, iv := range slices.Clone(p.running) {
			if _, stays := s.held[iv.id]; !stays {
				iv.dead = true
				p.ended(iv)
				w.corpses = append(w.corpses, iv)
			}
		}
	}
	w.bury()
	c := s.snapshot()
	for i, p := range w.procs {
		own := *c.procs[i]
		own.w, own.running = w, p.running
		if len(p.running) > 0 {
			own.scheduler, own.supervisor, own.worker, own.waits = p.scheduler, p.supervisor, p.worker,
				p.waits
			if own.waits != nil {
				own.waits.Set(own.known)
			}
		}
		*p = own
	}
	for name, q := range w.queues {
		own := *c.queues[name]
		own.w, own.consumers = w, q.consumers
		*q = own
	}
	for key, own := range c.services {
		if known := w.services[key]; known != nil {
			*known = *own
		} else {
			w.services[key] = own
		}
	}
	for agent, l := range w.ledgers {
		l.entries = c.ledgers[agent].entries
	}
	store := *c.store
	store.w = w
	*w.store = store
	d := *c.driver
	d.w = w
	*w.driver = d
	w.now, w.invocations, w.leases, w.outages, w.expired, w.coming, w.orders, w.byID = c.now, c.invocations,
		c.leases, c.outages, c.expired, c.coming, c.orders, c.byID
	w.violation, w.sweepAt, w.hash, w.steps = c.violation, c.sweepAt, c.hash, c.steps
	for _, p := range w.procs {
		for _, iv := range p.running {
			iv.frozen = true
			iv.hold(s.held[iv.id], w)
		}
	}
}

// hold gives a handler its messages: those of the queues, where they are still there.
func (iv *invocation) hold(letters []*letter, w *simulation) {
	iv.mine = snapshotOf(letters)
	for i, l := range iv.mine {
		for _, q := range w.queues {
			if !slices.Contains(q.consumers, iv.p) {
				continue
			}
			if at := slices.IndexFunc(q.messages, func(o *letter) bool {
				return o.id == l.id &&
					o.message.Value == l.message.Value
			}); at >= 0 {
				iv.mine[i] = q.messages[at]
			}
		}
	}
	iv.letters = iv.mine
}

func (s *store) snapshot(w *simulation) *store {
	c := *s
	c.w, c.ids, c.defs = w, slices.Clone(s.ids), maps.Clone(s.defs)
	c.rows = make(map[string]*row, len(s.rows))
	for id, r := range s.rows {
		own := *r
		own.wasDue = slices.Clone(r.wasDue)
		c.rows[id] = &own
	}
	return &c
}

func (q *queue) snapshot(w *simulation) *queue {
	c := *q
	c.w, c.messages, c.dead = w, snapshotOf(q.messages), snapshotOf(q.dead)
	c.consumers = make([]*process, len(q.consumers))
	for i, p := range q.consumers {
		c.consumers[i] = w.procs[slices.Index(q.w.procs, p)]
	}
	return &c
}

func snapshotOf(letters []*letter) []*letter {
	if len(letters) == 0 {
		return nil
	}
	all := make([]*letter, len(letters))
	for i, l := range letters {
		own := *l
		all[i] = &own
	}
	return all
}

func (h *history) snapshot() history {
	c := *h
	c.received, c.reported, c.alerts, c.requests = maps.Clone(h.received), maps.Clone(h.reported),
		maps.Clone(h.alerts), maps.Clone(h.requests)
	c.meant = maps.Clone(h.meant)
	c.holders, c.counted, c.verdicts, c.cancels = maps.Clone(h.holders), maps.Clone(h.counted),
		maps.Clone(h.verdicts), maps.Clone(h.cancels)
	c.answered, c.decisions = maps.Clone(h.answered), maps.Clone(h.decisions)
	c.wakes, c.alone = maps.Clone(h.wakes), maps.Clone(h.alone)
	return c
}
