package console

import (
	"cmp"
	"context"
	"errors"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/diagram"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

const (
	rowsOnPage   = 50   // number of rows with which a page of the listing is full; it may have more
	mostLookedAt = 5000 // maximum number of orders that are read to fill a page
	mostCounted  = 1000 // maximum count of orders in one state; a page shows more as 1,000+
	mostGrouped  = 10000
	mostExamples = 5
	mostCodes    = 100 // maximum number of error codes in the menu of a filter
)

// incident is a group of orders in Error with the same workflow, step and error code.
type incident struct {
	Workflow, Step, Code string
	Phase                core.Phase
	Count                int
	First, Last          core.Time
	Text                 string // message of the newest error
	Examples             []string
	Address              string
}

// Bulk returns the address of the page that resubmits all orders of the incident.
func (i incident) Bulk() string {
	return address("/bulk", map[string]string{
		"command": "resubmit", "workflow": i.Workflow, "step": i.Step,
		"code": i.Code,
	})
}

// stopped holds the orders in Error.
type stopped struct {
	number
	Incidents []incident
}

const (
	// If at most fewInError orders are in Error, each page reads them again. More orders are cached for the
	// time holdsMany.
	fewInError = 1000
	holdsMany  = 10 * time.Second
)

// inError returns the orders in Error, grouped into incidents. If there are many orders, inError caches the
// result for all pages.
func (s *server) inError(ctx context.Context) (stopped, error) {
	x, _, err := s.stopped.get(s.Now(), func() (stopped, time.Duration, error) {
		x, err := s.readInError(ctx)
		if x.N <= fewInError {
			return x, 0, err
		}
		return x, holdsMany, err
	})
	return x, err
}

func (s *server) readInError(ctx context.Context) (x stopped, err error) {
	x.State = core.Error
	groups := map[[3]string]*incident{}
	for o, err := range s.Client.List(ctx, client.Query{State: core.Error, PageSize: 1000}) {
		if err != nil {
			return stopped{}, err
		}
		if x.N == mostGrouped {
			x.More = true
			break
		}
		x.N++
		if isChild(&o) {
			x.Children++
		}
		e := view.TaskError{}
		if o.Error != nil {
			e = *o.Error
		}
		key := [3]string{o.Workflow, e.Step, e.Code}
		g := groups[key]
		if g == nil {
			g = &incident{Workflow: o.Workflow, Step: e.Step, Code: e.Code, Phase: o.Phase, First: o.EndedAt}
			g.Address = filter{
				"state": string(core.Error), "workflow": o.Workflow, "step": e.Step, "code": e.Code, "children": "on",
			}.Address("")
			groups[key] = g
		}
		g.Count++
		g.First = min(g.First, o.EndedAt)
		if o.EndedAt >= g.Last {
			g.Last = o.EndedAt
			g.Text = e.Message
		}
		if len(g.Examples) < mostExamples {
			g.Examples = append(g.Examples, o.OrderID)
		}
	}
	for _, g := range groups {
		x.Incidents = append(x.Incidents, *g)
	}
	slices.SortFunc(x.Incidents, func(a, b incident) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Workflow, b.Workflow),
			cmp.Compare(a.Step, b.Step), cmp.Compare(a.Code, b.Code))
	})
	return x, nil
}

// incidents shows a page of the incidents, the largest first. A service can write any number of codes.
func (s *server) incidents(ctx context.Context, r *http.Request, _ *kept) (content, error) {
	data := struct {
		stopped
		Shown       []incident
		First, Next string // addresses of other pages
	}{}
	var err error
	data.stopped, err = s.inError(ctx)
	if err != nil {
		return content{}, err
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("from")) // anything else begins with the first incident
	from = max(0, min(from, len(data.Incidents)))
	to := min(from+rowsOnPage, len(data.Incidents))
	data.Shown = data.Incidents[from:to]
	if from > 0 {
		data.First = "/incidents"
	}
	if to < len(data.Incidents) {
		data.Next = address("/incidents", map[string]string{"from": strconv.Itoa(to)})
	}
	return content{Title: "Incidents", Template: "incidents", Data: data}, nil
}

// listed returns the workflows of the deployment. For a stack it returns nil, because a stack cannot list its
// workflows.
func (s *server) listed(ctx context.Context) ([]client.Workflow, error) {
	all, err := s.Client.Workflows(ctx)
	if errors.Is(err, client.ErrInvalid) {
		return nil, nil
	}
	return all, err
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

// version describes the open orders that run one definition of a workflow.
type version struct {
	Hash           string
	UnderWay, Stop int // numbers of running orders and of orders in Error
	Oldest         core.Time
}

// workflow shows a definition of a workflow, and the definitions that open orders run. The address names the
// shown definition. By default, the page shows the definition for new orders.
func (s *server) workflow(ctx context.Context, r *http.Request, _ *kept) (content, error) {
	name := r.PathValue("name")
	definition := cmp.Or(r.URL.Query().Get("definition"), client.Latest)
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
	data.Def, err = s.Client.Definition(ctx, name, definition)
	if errors.Is(err, client.ErrNotFound) {
		data.Unknown = err.Error()
	} else if err != nil {
		return content{}, err
	}
	nodes := nodesOf(&client.Task{Steps: data.Def.Steps})
	for i := range nodes { // A step of a definition has no state.
		_, nodes[i].Detail, _ = strings.Cut(nodes[i].Detail, ", ")
	}
	label := "steps of workflow " + name
	data.Down = picture(nodes, diagram.Down, label)
	data.Across = picture(nodes, diagram.Across, label)
	data.Versions, data.More, err = s.versions(ctx, name)
	if err != nil {
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

// versions counts the newest orders of each state. If there are more, the oldest order shows the definition that has
// been in use for the longest time.
func (s *server) versions(ctx context.Context, workflow string) (all []version, more bool, err error) {
	by := map[string]*version{}
	for _, state := range []core.State{core.Processing, core.Compensating, core.Error} {
		q := client.Query{State: state, Workflow: workflow, PageSize: mostCounted}
		orders, next, err := s.Client.Page(ctx, q, "")
		if err != nil {
			return nil, false, err
		}
		if next != "" {
			more = true
			q.Oldest = true
			oldest, _, err := s.Client.Page(ctx, q, "")
			if err != nil {
				return nil, false, err
			}
			orders = append(orders, oldest...)
		}
		for _, o := range orders {
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

// looksEvery is how long the health checks and the list of dead-letter queues are cached. Running all checks
// of a stack takes dozens of calls.
const looksEvery = 30 * time.Second

type checked struct {
	checks []client.Check
	err    error
}

// health shows the results of the checks that `stepkeeper doctor` runs.
func (s *server) health(ctx context.Context, _ *http.Request, _ *kept) (content, error) {
	x, at, err := s.checked.get(s.Now(), func() (checked, time.Duration, error) {
		checks, err := s.Client.Checks(ctx)
		// If the reader closed the page, the result is not cached.
		return checked{checks, err}, looksEvery, ctx.Err()
	})
	err = cmp.Or(err, x.err)
	if err != nil {
		return content{}, err
	}
	return content{Title: "Health", Template: "health", Data: struct {
		At     time.Time
		Checks []client.Check
	}{at, x.checks}}, nil
}
