package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/diagram"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

const (
	rowsOnPage   = 50   // orders
	mostLookedAt = 5000 // orders that one page goes through to find those
	mostCounted  = 1000 // orders of a state that are counted; past that it is "1,000 and more"
	mostGrouped  = 10000
	mostExamples = 5
)

// states are those that a listing can be restricted to.
var states = []core.State{core.Processing, core.Compensating, core.Error, core.Processed, core.Compensated,
	core.Cancelled, core.Closed}

// filter is what of the orders is shown, as it stands in the address.
type filter struct {
	State, Workflow, Step, Code, Older, Prefix, Cursor string
}

func filterOf(r *http.Request) filter {
	q := r.URL.Query()
	return filter{q.Get("state"), q.Get("workflow"), q.Get("step"), q.Get("code"), q.Get("older"),
		q.Get("id"), q.Get("cursor")}
}

// Address is the page of orders with the filter, from a cursor on.
func (f filter) Address(cursor string) string { return f.on("/orders", cursor) }

// on is the address of a page with the filter, from a cursor on.
func (f filter) on(page, cursor string) string {
	q := url.Values{}
	for name, value := range map[string]string{"state": f.State, "workflow": f.Workflow, "step": f.Step,
		"code": f.Code, "older": f.Older, "id": f.Prefix, "cursor": cursor} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if len(q) == 0 {
		return page
	}
	return page + "?" + q.Encode()
}

func (f filter) query() (client.Query, error) {
	q := client.Query{State: client.State(f.State), Workflow: f.Workflow, Step: f.Step, Code: f.Code,
		IDPrefix: f.Prefix, PageSize: rowsOnPage}
	if f.State != "" && !slices.Contains(states, core.State(f.State)) {
		return q, fmt.Errorf("%w: no order is ever in the state %.50q", client.ErrInvalid, f.State)
	}
	if f.Older != "" {
		d, err := time.ParseDuration(f.Older)
		if err != nil || d < 0 {
			return q, fmt.Errorf("%w: %.50q is no age; write it like 10m or 24h", client.ErrInvalid, f.Older)
		}
		q.OlderThan = d
	}
	if f.Step+f.Code+f.Prefix != "" {
		q.PageSize = 500
	}
	return q, nil
}

// row is an order of a listing.
type row struct {
	view.Summary
	Gone bool // it does not match the filter any more
}

func (s *server) orders(ctx context.Context, r *http.Request, k *kept) (content, error) {
	f := filterOf(r)
	q, err := f.query()
	if err != nil {
		return content{}, err
	}
	found, next, looked, err := s.find(ctx, q, f.Cursor)
	if err != nil {
		return content{}, err
	}
	rows, fresh := s.hold(ctx, k, found)
	data := struct {
		Filter        filter
		States        []core.State
		Rows          []row
		New, Looked   int
		Next, Again   string
		First         bool
		Unlisted      string
		ReachedBounds bool
	}{f, states, rows, fresh, looked, "", f.Address(f.Cursor), f.Cursor == "", s.Client.Unlisted(),
		len(found) < rowsOnPage && next != ""}
	if next != "" {
		data.Next = f.Address(next)
	}
	return content{Title: "Orders", Template: "orders", Data: data}, nil
}

// find goes through pages until there are rows enough for one.
func (s *server) find(ctx context.Context, q client.Query,
	cursor string) (found []view.Summary, next string, looked int, err error) {
	for next = cursor; ; {
		var some []view.Summary
		if some, next, err = s.Client.Page(ctx, q, next); err != nil {
			return nil, "", 0, err
		}
		found = append(found, some...)
		looked += q.PageSize
		if next == "" || len(found) >= rowsOnPage || looked >= mostLookedAt {
			return found, next, looked, nil
		}
	}
}

// hold keeps the rows that the reader sees at their places: what changed is shown in them, what does not
// match any more is marked, and new ones are counted.
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
			k.begun, k.rows = true, found
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
				o.Waits = nil
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

// incident is what orders in Error have in common.
type incident struct {
	Workflow, Step, Code string
	Phase                core.Phase
	Count                int
	First, Last          core.Time
	Text                 string // of the newest
	Examples             []string
	Address              string
}

// Bulk is the page from which all of them are repaired.
func (i incident) Bulk() string {
	q := url.Values{"command": {"resubmit"}}
	for name, value := range map[string]string{"workflow": i.Workflow, "step": i.Step, "code": i.Code} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return "/bulk?" + q.Encode()
}

// grouped are the incidents as they were read last.
type grouped struct {
	mu    sync.Mutex
	at    time.Time
	all   []incident
	count int
	more  bool
}

const (
	fewInError = 1000             // orders in Error that are read for each look of a page
	holdsMany  = 10 * time.Second // how long more than that are shown as they were read, on all pages
)

// inError are the orders in Error, grouped. Many of them are not read each second, and not by each page.
func (s *server) inError(ctx context.Context) (all []incident, count int, more bool, err error) {
	g := &s.grouped
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := s.Now(); g.count <= fewInError || now.Sub(g.at) >= holdsMany {
		all, count, more, err := s.readInError(ctx)
		if err != nil {
			return nil, 0, false, err
		}
		g.at = now
		g.all = all
		g.count = count
		g.more = more
	}
	return g.all, g.count, g.more, nil
}

func (s *server) readInError(ctx context.Context) (all []incident, count int, more bool, err error) {
	groups := map[[3]string]*incident{}
	for o, err := range s.Client.List(ctx, client.Query{State: core.Error, PageSize: 1000}) {
		if err != nil {
			return nil, 0, false, err
		}
		if count == mostGrouped {
			more = true
			break
		}
		count++
		e := view.TaskError{}
		if o.Error != nil {
			e = *o.Error
		}
		key := [3]string{o.Workflow, e.Step, e.Code}
		g := groups[key]
		if g == nil {
			g = &incident{Workflow: o.Workflow, Step: e.Step, Code: e.Code, Phase: o.Phase, First: o.EndedAt}
			g.Address = filter{State: string(core.Error), Workflow: o.Workflow, Step: e.Step,
				Code: e.Code}.Address("")
			groups[key] = g
		}
		g.Count++
		g.First = min(g.First, o.EndedAt)
		if o.EndedAt >= g.Last {
			g.Last, g.Text = o.EndedAt, e.Message
		}
		if len(g.Examples) < mostExamples {
			g.Examples = append(g.Examples, o.OrderID)
		}
	}
	for _, g := range groups {
		all = append(all, *g)
	}
	slices.SortFunc(all, func(a, b incident) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Workflow, b.Workflow),
			cmp.Compare(a.Step, b.Step), cmp.Compare(a.Code, b.Code))
	})
	return all, count, more, nil
}

func (s *server) incidents(ctx context.Context, _ *http.Request, _ *kept) (content, error) {
	all, count, more, err := s.inError(ctx)
	return content{Title: "Incidents", Template: "incidents", Data: struct {
		Incidents []incident
		Count     int
		More      bool
	}{all, count, more}}, err
}

// number counts up to mostCounted.
type number struct {
	State core.State
	N     int
	More  bool
}

// String is the number for people.
func (n number) String() string {
	if n.More {
		return "over " + strconv.Itoa(n.N)
	}
	return strconv.Itoa(n.N)
}

// waits groups what the orders under way wait for.
type waits struct {
	For, Workflow, Step string
	Agent               string // that the step asks; "" of other kinds, and where it is not known
	Asks                bool   // an agent
	Count               int
	Oldest              core.Time
	Example             string
	Address             string
	Text                string
}

var waitTexts = map[string]string{
	view.WaitAgent: "an agent's reply", view.WaitRetry: "the next attempt", view.WaitTime: "a time",
	view.WaitAnswer:   "an answer or event",
	view.WaitChildren: "child orders", view.WaitUndo: "an undo",
}

// asked keeps the agents of the steps of definitions, by hash: they never change.
type asked struct {
	mu sync.Mutex
	by map[string]map[string]string // by step
}

// agent is what a step of an order asks: a listing has it only where the step has chosen one. Of a definition
// that cannot be read it is not known; such are asked for once in a page.
func (s *server) agent(ctx context.Context, missing map[string]bool, o *client.Summary, w *view.Wait) string {
	if w.Agent != "" || o.Definition == "" || missing[o.Definition] {
		return w.Agent
	}
	s.asked.mu.Lock()
	defer s.asked.mu.Unlock()
	if s.asked.by[o.Definition] == nil {
		d, err := s.Client.Definition(ctx, o.Workflow, o.Definition)
		if err != nil {
			missing[o.Definition] = true
			return ""
		}
		if s.asked.by == nil {
			s.asked.by = map[string]map[string]string{}
		}
		agents := map[string]string{}
		for i := range d.Steps {
			agents[d.Steps[i].Name] = d.Steps[i].Agent
		}
		s.asked.by[o.Definition] = agents
	}
	return s.asked.by[o.Definition][w.Step]
}

// askers are the orders that wait for an agent, whatever their steps.
type askers struct {
	Agent   string // "": not known
	Orders  int
	Oldest  core.Time
	Example string
	Steps   []waits
	last    string
}

// byAgent adds a wait to those of its agent.
func byAgent(all map[string]*askers, agent string, o *client.Summary, w *view.Wait) {
	a := all[agent]
	if a == nil {
		a = &askers{Agent: agent, Oldest: w.Since, Example: o.OrderID}
		all[agent] = a
	}
	if a.last != o.OrderID { // an order has its waits together
		a.Orders, a.last = a.Orders+1, o.OrderID
	}
	if w.Since < a.Oldest {
		a.Oldest, a.Example = w.Since, o.OrderID
	}
}

// open are the orders that have not ended.
type open struct {
	Waits  []waits
	Agents []askers
	Counts []number
	Oldest core.Time // creation of the oldest order of those that were counted; 0 if there is none
}

// underWay goes through the orders that have not ended.
func (s *server) underWay(ctx context.Context) (x open, err error) {
	groups, agents, missing := map[[4]string]*waits{}, map[string]*askers{}, map[string]bool{}
	for _, state := range []core.State{core.Processing, core.Compensating} {
		orders, next, err := s.Client.Page(ctx, client.Query{State: state, PageSize: mostCounted}, "")
		if err != nil {
			return open{}, err
		}
		n := number{State: state, N: len(orders), More: next != ""}
		for _, o := range orders {
			x.Oldest = older(x.Oldest, o.Created)
			for _, w := range o.Waits {
				agent, asks := "", w.For == view.WaitAgent || w.For == view.WaitRetry ||
					w.For == view.WaitUndo
				if asks {
					agent = s.agent(ctx, missing, &o, &w)
					byAgent(agents, agent, &o, &w)
				}
				key := [4]string{w.For, o.Workflow, w.Step, agent}
				g := groups[key]
				if g == nil {
					g = &waits{For: w.For, Workflow: o.Workflow, Step: w.Step, Agent: agent, Asks: asks,
						Oldest: w.Since, Example: o.OrderID, Text: waitTexts[w.For]}
					g.Address = filter{State: string(state), Workflow: o.Workflow, Step: w.Step}.Address("")
					groups[key] = g
				}
				g.Count++
				if w.Since <= g.Oldest {
					g.Oldest, g.Example = w.Since, o.OrderID
				}
			}
		}
		x.Counts = append(x.Counts, n)
	}
	for _, g := range groups {
		x.Waits = append(x.Waits, *g)
	}
	slices.SortFunc(x.Waits, func(a, b waits) int {
		return cmp.Or(cmp.Compare(a.For, b.For), cmp.Compare(b.Count, a.Count),
			cmp.Compare(a.Workflow, b.Workflow), cmp.Compare(a.Step, b.Step), cmp.Compare(a.Agent, b.Agent))
	})
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		a := agents[name]
		for _, w := range x.Waits {
			if w.Asks && w.Agent == name {
				a.Steps = append(a.Steps, w)
			}
		}
		x.Agents = append(x.Agents, *a)
	}
	return x, nil
}

// oldest returns when the oldest of the orders was created, also of those that were not counted. It returns 0
// if there is none.
func (s *server) oldest(ctx context.Context, x open) (core.Time, error) {
	for _, n := range x.Counts {
		if !n.More {
			continue
		}
		orders, _, err := s.Client.Page(ctx, client.Query{State: n.State, Oldest: true}, "")
		if err != nil {
			return 0, err
		}
		for _, o := range orders {
			x.Oldest = older(x.Oldest, o.Created)
		}
	}
	return x.Oldest, nil
}

// older returns the earlier time; a is 0 if there is none yet.
func older(a, b core.Time) core.Time {
	if a == 0 {
		return b
	}
	return min(a, b)
}

func (s *server) waiting(ctx context.Context, _ *http.Request, _ *kept) (content, error) {
	x, err := s.underWay(ctx)
	return content{Title: "Waiting", Template: "waiting", Data: struct {
		open
		More bool
		Most int
	}{x, slices.ContainsFunc(x.Counts, func(n number) bool { return n.More }), mostCounted}}, err
}

func (s *server) overview(ctx context.Context, _ *http.Request, _ *kept) (content, error) {
	inError, count, more, err := s.inError(ctx)
	if err != nil {
		return content{}, err
	}
	under, err := s.underWay(ctx)
	if err != nil {
		return content{}, err
	}
	counts := append(under.Counts, number{core.Error, count, more})
	unattended, unknown := s.Client.Unattended(ctx, "")
	data := struct {
		Counts     []number
		Oldest     core.Time
		Incidents  []incident
		Unattended []view.Unattended
		Unknown    string
		Schedules  []client.Schedule
		Problems   []client.Workflow
		Figures    figures
	}{Counts: counts, Incidents: inError[:min(len(inError), 5)], Unattended: unattended,
		Figures: figuresOf(s.Client.Statistics(ctx))}
	if data.Oldest, err = s.oldest(ctx, under); err != nil {
		return content{}, err
	}
	if unknown != nil {
		data.Unknown = unknown.Error()
	}
	workflows, err := s.Client.Workflows(ctx)
	if err != nil {
		return content{}, err
	}
	for _, w := range workflows {
		if len(w.Problems) > 0 {
			data.Problems = append(data.Problems, w)
		}
	}
	if data.Schedules, err = s.Client.Schedules(ctx); err != nil {
		return content{}, err
	}
	return content{Title: "Overview", Template: "overview", Data: data, Charts: true}, nil
}

func (s *server) workflows(ctx context.Context, _ *http.Request, _ *kept) (content, error) {
	all, err := s.Client.Workflows(ctx)
	if err != nil {
		return content{}, err
	}
	schedules, err := s.Client.Schedules(ctx)
	return content{Title: "Workflows", Template: "workflows", Data: struct {
		Workflows []client.Workflow
		Schedules []client.Schedule
	}{all, schedules}}, err
}

// version is what runs of one definition of a workflow.
type version struct {
	Hash           string
	UnderWay, Stop int // orders
	Oldest         core.Time
}

// workflow shows one version of a workflow, the one of new orders unless the address names another, and which
// versions the orders run that are under way or in Error.
func (s *server) workflow(ctx context.Context, r *http.Request, _ *kept) (content, error) {
	name, definition := r.PathValue("name"), cmp.Or(r.URL.Query().Get("definition"), client.Latest)
	data := struct {
		Name, Unknown string
		Def           client.Definition
		Latest        bool
		Down, Across  template.HTML
		Versions      []version
		More          bool
		Schedules     []client.Schedule
	}{Name: name, Latest: definition == client.Latest}
	var err error
	if data.Def, err = s.Client.Definition(ctx, name, definition); errors.Is(err, client.ErrNotFound) {
		data.Unknown = err.Error()
	} else if err != nil {
		return content{}, err
	}
	nodes := nodesOf(&client.Task{Steps: data.Def.Steps})
	for i := range nodes { // no step of a definition is in a state
		_, nodes[i].Detail, _ = strings.Cut(nodes[i].Detail, ", ")
	}
	label := "steps of workflow " + name
	//nolint:gosec // the diagram escapes texts
	data.Down = template.HTML(diagram.SVG(nodes, diagram.Down, label, false))
	//nolint:gosec // the diagram escapes texts
	data.Across = template.HTML(diagram.SVG(nodes, diagram.Across, label, false))
	if data.Versions, data.More, err = s.versions(ctx, name); err != nil {
		return content{}, err
	}
	all, err := s.Client.Schedules(ctx)
	for _, x := range all {
		if x.Workflow == name {
			data.Schedules = append(data.Schedules, x)
		}
	}
	return content{Title: name, Template: "workflow", Data: data}, err
}

// versions counts the orders of a workflow by the definition that they run.
func (s *server) versions(ctx context.Context, workflow string) (all []version, more bool, err error) {
	by := map[string]*version{}
	for _, state := range []core.State{core.Processing, core.Compensating, core.Error} {
		seen := 0
		for o, err := range s.Client.List(ctx,
			client.Query{State: state, Workflow: workflow, PageSize: mostCounted}) {
			if err != nil {
				return nil, false, err
			}
			if seen++; seen > mostGrouped {
				more = true
				break
			}
			v := by[o.Definition]
			if v == nil {
				v = &version{Hash: o.Definition, Oldest: o.Created}
				by[o.Definition] = v
			}
			v.Oldest = min(v.Oldest, o.Created)
			if state == core.Error {
				v.Stop++
			} else {
				v.UnderWay++
			}
		}
	}
	for _, v := range by {
		all = append(all, *v)
	}
	slices.SortFunc(all, func(a, b version) int {
		return cmp.Or(cmp.Compare(b.Oldest, a.Oldest), cmp.Compare(a.Hash, b.Hash))
	})
	return all, more, nil
}

// looksEvery is how long what was found stays on the page: of a stack a look at everything is some dozens of
// calls.
const looksEvery = 30 * time.Second

// looked is what the last look at everything found.
type looked struct {
	mu     sync.Mutex
	at     time.Time
	checks []client.Check
	err    error
}

// health shows what `stepkeeper doctor` says.
func (s *server) health(ctx context.Context, _ *http.Request, _ *kept) (content, error) {
	l := &s.looked
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := s.Now(); l.at.IsZero() || now.Sub(l.at) >= looksEvery {
		l.checks, l.err = s.Client.Checks(ctx)
		if ctx.Err() == nil { // else the page was closed
			l.at = now
		}
	}
	if l.err != nil {
		return content{}, l.err
	}
	return content{Title: "Health", Template: "health", Data: struct {
		At      time.Time
		Program string
		Checks  []client.Check
	}{l.at, s.Program, l.checks}}, nil
}
