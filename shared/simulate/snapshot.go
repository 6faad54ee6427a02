package simulate

import (
	"maps"
	"slices"
)

// still reports a world in which no handler is at work: such a world can be copied. A handler is a
// coroutine, and Go copies none.
func (w *World) quiescent() bool {
	return !slices.ContainsFunc(w.procs, func(p *process) bool { return len(p.running) > 0 })
}

// snapshot copies the world of an exploration, with its driver. What is never changed in place is
// shared: definitions, documents, messages. The original may be copied by several at a time, if
// nobody lets it go on. TestSnapshot looks for anything else that is shared.
func (w *World) snapshot() *World {
	c := *w
	c.nth, c.checks, c.Cells, c.story = map[Point]int{}, newChecks(), map[Cell]int{}, nil
	c.Ends, c.corpses, c.heap = maps.Clone(w.Ends), nil, heap{}
	c.leases, c.outages = maps.Clone(w.leases), maps.Clone(w.outages)
	c.store = w.store.snapshot(&c)
	c.procs = make([]*process, len(w.procs))
	for i, p := range w.procs {
		own := *p
		own.w, own.running, own.scheduler, own.supervisor, own.worker = &c, nil, nil, nil, nil
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
	return &c
}

func (s *store) snapshot(w *World) *store {
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

func (q *queue) snapshot(w *World) *queue {
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
	c.heard, c.told, c.alerts, c.requests = maps.Clone(h.heard), maps.Clone(h.told), maps.Clone(h.alerts), maps.Clone(h.requests)
	c.holders, c.counted, c.verdicts, c.cancels = maps.Clone(h.holders), maps.Clone(h.counted), maps.Clone(h.verdicts), maps.Clone(h.cancels)
	return c
}
