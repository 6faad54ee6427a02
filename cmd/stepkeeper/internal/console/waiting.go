package console

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/dustin/go-humanize"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// number is the number of orders in a state. If More is true, the state has more orders than N.
type number struct {
	State    core.State
	N        int
	Children int // number of child orders in N
	More     bool
}

// String returns the number as text.
func (n number) String() string {
	if n.More {
		return humanize.Comma(int64(n.N)) + "+"
	}
	return humanize.Comma(int64(n.N))
}

// waits is a group of open orders with the same kind of wait, workflow, step and agent.
type waits struct {
	For, Workflow, Step string
	Agent               string // agent of the step; "" if the step has no agent or the agent is unknown
	Asks                bool   // true if the step calls an agent
	Count               int
	Oldest              core.Time
	Example             string
	Address             string
	Text                string
}

// agent returns the agent that a step of an order calls. If the wait w does not name the agent, the result
// comes from the order's definition. If the definition cannot be read, the result is "", and agent adds the
// definition to the map missing. A page therefore tries each definition only once.
func (s *server) agent(ctx context.Context, missing map[string]bool, o *client.Summary, w *view.Wait) string {
	if w.Agent != "" || o.Definition == "" || missing[o.Definition] {
		return w.Agent
	}
	agents, err := s.agents(ctx, o.Workflow, o.Definition)
	missing[o.Definition] = err != nil
	return agents[w.Step]
}

// agents returns the agent of each step of a definition. The agent is "" if the step has no agent. The method
// caches the result, because definitions never change.
func (s *server) agents(ctx context.Context, workflow, hash string) (map[string]string, error) {
	if agents, known := s.agentsOf.Get(hash); known {
		return agents, nil
	}
	d, err := s.Client.Definition(ctx, workflow, hash)
	if err != nil {
		return nil, err
	}
	agents := map[string]string{}
	for i := range d.Steps {
		agents[d.Steps[i].Name] = d.Steps[i].Agent
	}
	s.agentsOf.Add(hash, agents)
	return agents, nil
}

// askers describes the orders that wait for one agent, at any step.
type askers struct {
	Agent   string // name of the agent; "" if unknown
	Orders  int
	Oldest  core.Time
	Example string
	Steps   []waits
	last    string
}

func byAgent(all map[string]*askers, agent string, o *client.Summary, w *view.Wait) {
	a := all[agent]
	if a == nil {
		a = &askers{Agent: agent, Oldest: w.Since, Example: o.OrderID}
		all[agent] = a
	}
	if a.last != o.OrderID { // The waits of one order are adjacent.
		a.Orders = a.Orders + 1
		a.last = o.OrderID
	}
	if w.Since < a.Oldest {
		a.Oldest = w.Since
		a.Example = o.OrderID
	}
}

type open struct {
	Waits  []waits
	Agents []askers
	Counts []number
	Oldest core.Time // creation time of the oldest counted order; 0 if no order was counted
}

// underWay reads the orders in Processing and Compensating. It groups the orders by wait, workflow, step and
// agent.
func (s *server) underWay(ctx context.Context) (x open, err error) {
	groups := map[[4]string]*waits{}
	agents := map[string]*askers{}
	missing := map[string]bool{}
	for _, state := range []core.State{core.Processing, core.Compensating} {
		orders, next, err := s.Client.Page(ctx, client.Query{State: state, PageSize: mostCounted}, "")
		if err != nil {
			return open{}, err
		}
		n := number{State: state, N: len(orders), More: next != ""}
		for _, o := range orders {
			x.Oldest = older(x.Oldest, o.Created)
			if isChild(&o) {
				n.Children++
			}
			for _, w := range o.Waits {
				agent := ""
				asks := w.For == view.WaitAgent || w.For == view.WaitRetry ||
					w.For == view.WaitUndo
				if asks {
					agent = s.agent(ctx, missing, &o, &w)
					byAgent(agents, agent, &o, &w)
				}
				key := [4]string{w.For, o.Workflow, w.Step, agent}
				g := groups[key]
				if g == nil {
					g = &waits{
						For: w.For, Workflow: o.Workflow, Step: w.Step, Agent: agent, Asks: asks,
						Oldest: w.Since, Example: o.OrderID, Text: render.WaitTexts[w.For],
					}
					g.Address = filter{
						"state": string(state), "workflow": o.Workflow, "step": w.Step, "children": "on",
					}.Address("")
					groups[key] = g
				}
				g.Count++
				if w.Since <= g.Oldest {
					g.Oldest = w.Since
					g.Example = o.OrderID
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
	x.Agents = withSteps(agents, x.Waits)
	return x, nil
}

// withSteps returns the agents by name, each with the steps that ask it.
func withSteps(agents map[string]*askers, all []waits) (sorted []askers) {
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		a := agents[name]
		for _, w := range all {
			if w.Asks && w.Agent == name {
				a.Steps = append(a.Steps, w)
			}
		}
		sorted = append(sorted, *a)
	}
	return sorted
}

// oldest returns the creation time of the oldest order in Processing or Compensating. It includes the orders
// that underWay did not count. It returns 0 if there are no orders.
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

// older returns the earlier of two times. If a is 0, it returns b.
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
