package incident

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

type found struct {
	orders  int
	example core.RaiseAlert // alert for the counted order that stopped first
	first   bool            // the order that opened the incident was counted
}

// damagedID returns the ID of the incident of a workflow's damaged orders (P60, a damaged order is set aside).
func damagedID(workflow string) ID { return ID{Workflow: workflow, Code: core.CodeDamaged} }

func (id ID) damaged() bool { return id.Workflow != "" && id == damagedID(id.Workflow) }

// alertOf returns the alert of an order in Error, or of a damaged order.
func alertOf(t *view.Summary, damaged bool) core.RaiseAlert {
	a := core.RaiseAlert{
		OrderID: t.OrderID, Workflow: t.Workflow, Run: t.Run, Command: t.Command,
		Phase: t.Phase, At: t.EndedAt,
	}
	switch {
	case damaged:
		a.Phase = ""
		a.Code = core.CodeDamaged
		a.Message = core.TrimMessage("the stored order cannot be read: " + t.Damaged)
		a.Accepts.Close = true
	case t.Error != nil:
		a.Step = t.Error.Step
		a.Code = t.Error.Code
		a.Message = t.Error.Message
	}
	return a
}

func (f *found) add(a, first core.RaiseAlert) {
	f.orders++
	f.first = f.first || a.OrderID == first.OrderID
	if f.orders == 1 || a.At <= f.example.At {
		f.example = a
	}
}

type counted struct {
	orders    map[ID]found
	workflows map[string]port.Stopped
	missing   map[ID]core.RaiseAlert // orders in Error without an incident, one of each ID, at most MostOpen
	whole     bool                   // all orders in Error were counted; false if there are too many
	damaged   []core.RaiseAlert      // alerts of damaged orders in Error that were not set aside
}

// countOf counts the orders in Error that the query selects, at most mostCounted. It also counts if there are too
// many for a complete listing, as in a large incident. Without q.InFlight, the count may miss orders with a step in
// flight or an unreported end. If d has an incident of damaged orders, countOf also counts the orders that were set
// aside.
func (s *Incidents) countOf(ctx context.Context, d document, q port.Query, now time.Time) (counted, error) {
	all := counted{
		orders: map[ID]found{}, missing: map[ID]core.RaiseAlert{}, workflows: map[string]port.Stopped{},
		whole: true,
	}
	q.State = string(core.Error)
	q.Limit = pageSize
	q.Partial = true
	err := s.pages(ctx, q, &all, func(r *port.Record) {
		t := view.Listed(r)
		if r.Bucket == port.DamagedBucket {
			return
		}
		a := alertOf(&t, t.Damaged != "")
		all.add(d, a)
		if t.Damaged != "" {
			all.damaged = append(all.damaged, a)
		}
		c := all.workflows[t.Workflow]
		c.Orders++
		if t.EndedAt != 0 {
			c.Oldest = max(c.Oldest, now.Sub(t.EndedAt.Std()))
		}
		all.workflows[t.Workflow] = c
	})
	if err != nil || !slices.ContainsFunc(d.Open, func(x Incident) bool { return x.damaged() }) {
		return all, err
	}
	q.State = ""
	q.InFlight = false
	q.Damaged = true
	err = s.pages(ctx, q, &all, func(r *port.Record) {
		t := view.Listed(r)
		all.add(d, alertOf(&t, true))
		c := all.workflows[t.Workflow]
		c.Orders++
		all.workflows[t.Workflow] = c
	})
	return all, err
}

func (c *counted) add(d document, a core.RaiseAlert) {
	id := ID{Workflow: a.Workflow, Step: a.Step, Code: a.Code}
	x := d.find(id)
	if x == nil {
		if len(c.missing) < MostOpen {
			c.missing[id] = a
		}
		return
	}
	f := c.orders[id]
	f.add(a, x.First)
	c.orders[id] = f
}

func (s *Incidents) pages(ctx context.Context, q port.Query, all *counted, add func(*port.Record)) error {
	for seen := 0; seen < mostCounted; {
		page, err := s.cfg.Tasks.List(ctx, q)
		if err != nil {
			*all = counted{}
			return fmt.Errorf("list the orders in Error: %w", err)
		}
		for i := range page.Records {
			add(&page.Records[i])
		}
		seen += len(page.Records)
		all.whole = all.whole && !page.Partial
		if page.Next == "" {
			return nil
		}
		q.Cursor = page.Next
	}
	all.whole = false
	return nil
}

// admit opens the incidents of orders in Error that had no place when they stopped. If all orders in Error have
// an incident, none waits any more.
func (s *Incidents) admit(ctx context.Context, d document, c counted) error {
	if !d.Waiting || c.orders == nil {
		return nil
	}
	if len(c.missing) == 0 && c.whole {
		return s.change(ctx, func(d *document) bool {
			d.Waiting = false
			return true
		})
	}
	var errs []error
	for _, id := range slices.SortedFunc(maps.Keys(c.missing), func(a, b ID) int {
		return c.missing[a].At.Std().Compare(c.missing[b].At.Std())
	}) {
		if !d.full(id) {
			errs = append(errs, s.Raise(ctx, c.missing[id]))
		}
	}
	return errors.Join(errs...)
}
