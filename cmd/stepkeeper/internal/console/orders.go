package console

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/bulk"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// filter holds the parameters of a listing's address that have a value: those that select orders, and cursor.
type filter map[string]string

func filterOf(r *http.Request) filter {
	f := filter{}
	for _, name := range []string{"state", "workflow", "step", "code", "older", "id", "children", "cursor"} {
		if value := r.URL.Query().Get(name); value != "" {
			f[name] = value
		}
	}
	return f
}

// with returns the filter with another value of a parameter. The value "" takes the parameter out.
func (f filter) with(name, value string) filter {
	other := maps.Clone(f)
	other[name] = value
	maps.DeleteFunc(other, func(_, value string) bool { return value == "" })
	return other
}

// Address returns the address of the listing of orders, with the filter and a cursor.
func (f filter) Address(cursor string) string { return address("/orders", f.with("cursor", cursor)) }

func address(page string, values map[string]string) string {
	q := url.Values{}
	for name, value := range values {
		if value != "" {
			q.Set(name, value)
		}
	}
	if len(q) == 0 {
		return page
	}
	return page + "?" + q.Encode()
}

// query returns the query of the filter.
func (f filter) query() (client.Query, error) {
	q, err := bulk.Where(f.with("children", "").with("cursor", "")).Query("")
	if err != nil {
		return q, fmt.Errorf("%w: %w", client.ErrInvalid, err)
	}
	q.PageSize = rowsOnPage
	if f["step"]+f["code"]+f["id"] != "" {
		q.PageSize = 500
	}
	return q, nil
}

type row struct {
	view.Summary
	Gone bool // true if the order no longer matches the filter
}

type choice struct {
	number
	Address string
	Now     bool
}

type menus struct {
	States                  []choice
	Workflows, Steps, Codes []string
	Total                   string // number of matching orders; "" if unknown
}

type counted struct {
	states []number
	codes  []string
}

// counts returns the numbers of orders in the states Processing, Compensating and Error, and the error codes
// of the orders in Error. It caches the result for ten seconds, because AWS bills each read of a stack.
func (s *server) counts(ctx context.Context) (counted, error) {
	c, _, err := s.counted.get(s.Now(), func() (c counted, _ time.Duration, err error) {
		open, err := s.underWay(ctx)
		if err != nil {
			return c, 0, err
		}
		stopped, err := s.inError(ctx)
		c.states = append(open.Counts, stopped.number)
		for _, x := range stopped.Incidents[:min(len(stopped.Incidents), mostCodes)] {
			c.codes = append(c.codes, x.Code)
		}
		return c, holdsMany, err
	})
	return c, err
}

// menus returns the values that a reader can choose for a filter. The steps are the steps of the chosen
// workflow. If no workflow is chosen, the steps are the steps of all workflows.
func (s *server) menus(ctx context.Context, f filter) (m menus, err error) {
	known, err := s.counts(ctx)
	if err != nil {
		return m, err
	}
	for _, state := range bulk.States {
		c := choice{number: number{State: state, N: -1}, Now: f["state"] == string(state)}
		c.Address = f.with("state", string(state)).Address("")
		if i := slices.IndexFunc(known.states, func(n number) bool { return n.State == state }); i >= 0 {
			c.number = known.states[i]
			if f["children"] == "" { // The listing leaves out child orders.
				c.N -= c.Children
			}
			if c.Now && len(f.with("children", "").with("cursor", "")) == 1 { // only the state is chosen
				m.Total = c.String()
			}
		}
		m.States = append(m.States, c)
	}
	workflows, err := s.listed(ctx)
	if err != nil {
		return m, err
	}
	for _, w := range workflows {
		m.Workflows = append(m.Workflows, w.Name)
		if w.Hash == "" || f["workflow"] != "" && f["workflow"] != w.Name {
			continue
		}
		agents, err := s.agents(ctx, w.Name, w.Hash)
		if err != nil && !errors.Is(err, client.ErrNotFound) {
			return m, err
		}
		m.Steps = slices.AppendSeq(m.Steps, maps.Keys(agents))
	}
	m.Workflows = chosen(m.Workflows, f["workflow"])
	m.Steps = chosen(m.Steps, f["step"])
	m.Codes = chosen(slices.Clone(known.codes), f["code"])
	return m, nil
}

// chosen returns the sorted values of a menu. It adds the parameter now, the value in the page's address.
func chosen(values []string, now string) []string {
	values = append(values, now)
	slices.Sort(values)
	return slices.DeleteFunc(slices.Compact(values), func(v string) bool { return v == "" })
}

func (s *server) orders(ctx context.Context, r *http.Request, k *kept) (content, error) {
	f := filterOf(r)
	q, err := f.query()
	if err != nil {
		return content{}, err
	}
	x, err := s.find(ctx, q, f)
	if err != nil {
		return content{}, err
	}
	rows, fresh := s.hold(ctx, k, x.orders)
	data := struct {
		menus
		Filter        filter
		All           string // address of the listing without a filter for the state
		Rows          []row
		New, Looked   int
		Next, Again   string
		First         bool
		Unlisted      string
		ReachedBounds bool
	}{
		Filter: f, Rows: rows, New: fresh, Looked: x.looked, Again: f.Address(f["cursor"]), First: f["cursor"] == "",
		Unlisted:      s.Client.Unlisted(),
		ReachedBounds: len(x.orders) < rowsOnPage && x.next != "",
	}
	data.menus, err = s.menus(ctx, f)
	if err != nil {
		return content{}, err
	}
	data.All = f.with("state", "").Address("")
	if x.next != "" {
		data.Next = f.Address(x.next)
	}
	return content{Title: "Orders", Template: "orders", Data: data}, nil
}

type found struct {
	orders []view.Summary
	next   string // cursor of the next page; "" after the last page
	looked int    // number of orders read; too high if the last page was not full
}

func isChild(o *view.Summary) bool { return strings.Contains(o.OrderID, core.ChildMark) }

// find reads pages of the listing. It stops when it has enough rows for a page of the console, when the
// listing ends, or when it has read mostLookedAt orders. If the filter asks for neither child orders nor an
// ID, find leaves out child orders.
func (s *server) find(ctx context.Context, q client.Query, f filter) (x found, err error) {
	for x.next = f["cursor"]; ; {
		var some []view.Summary
		some, x.next, err = s.Client.Page(ctx, q, x.next)
		if err != nil {
			return found{}, err
		}
		if f["children"] == "" && f["id"] == "" {
			some = slices.DeleteFunc(some, func(o view.Summary) bool { return isChild(&o) })
		}
		x.orders = append(x.orders, some...)
		x.looked += q.PageSize
		if x.next == "" || len(x.orders) >= rowsOnPage || x.looked >= mostLookedAt {
			return x, nil
		}
	}
}

// hold keeps the visible rows in place while a page is open. It updates changed rows and marks rows that no
// longer match the filter. The result fresh is the number of new orders.
func (s *server) hold(ctx context.Context, k *kept, found []view.Summary) (rows []row, fresh int) {
	now := map[string]view.Summary{}
	for _, o := range found {
		now[o.OrderID] = o
	}
	if k == nil || !k.begun {
		for _, o := range found {
			rows = append(rows, row{Summary: o})
		}
		if k != nil {
			k.begun = true
			k.rows = found
		}
		return rows, 0
	}
	for i := range k.rows {
		old := &k.rows[i]
		o, matches := now[old.OrderID]
		delete(now, old.OrderID)
		if !matches {
			o = *old
			if t, err := s.Client.Get(ctx, old.OrderID); err == nil && !old.Ended {
				o.State = t.State
				o.Phase = t.Phase
				o.Ended = t.Ended
				o.EndedAt = t.EndedAt
				o.Error = t.Error
				o.Waits = t.Waits
			}
		}
		*old = o
		rows = append(rows, row{Summary: o, Gone: !matches})
	}
	newest := core.Time(0)
	for i := range k.rows {
		newest = max(newest, k.rows[i].Created)
	}
	for _, o := range now {
		if o.Created >= newest {
			fresh++
		}
	}
	return rows, fresh
}
