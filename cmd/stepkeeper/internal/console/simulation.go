package console

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/simulate"
)

// Limits for the simulation of a move.
const (
	simulatedSeeds = 2000
	simulatedTime  = 20 * time.Second
	simulatedKept  = 16
)

type simulation struct {
	Running  bool
	Problem  string // reason why the order cannot be simulated
	Findings []simulate.Finding
	Report   *simulate.Report
	Broken   string // explanation of the broken invariant
	Diagram  string
	Command  string // command that runs the same simulation
}

// simulations caches the latest simulations. Only one simulation runs at a time, because a simulation uses
// all processor cores.
type simulations struct {
	mu      sync.Mutex
	by      *expirable.LRU[string, *simulation]
	running bool
}

// of returns the cached simulation of a move. If the cache does not contain the simulation and no other
// simulation is running, the method starts the simulation. A later page then shows the result.
func (s *simulations) of(plan client.Plan, t *client.Task, program string, at core.Time) simulation {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := fmt.Sprintf("%s %d %s", t.OrderID, t.Version, plan.Definition)
	if known, ok := s.by.Get(key); ok {
		return *known
	}
	if s.running {
		return simulation{Running: true}
	}
	now := &simulation{Running: true, Command: fmt.Sprintf("%s move %s --definition %s --simulate --dry-run",
		program, t.OrderID, plan.Definition)}
	s.by.Add(key, now)
	s.running = true
	go func() {
		var done simulation
		if err := port.Guard(nil, "the simulation",
			func() error { done = simulated(plan, at); return nil }); err != nil {
			done = simulation{Problem: err.Error()}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		done.Command = now.Command
		*now = done
		s.running = false
	}()
	return *now
}

func simulated(plan client.Plan, at core.Time) (r simulation) {
	sc, err := simulate.Moved(plan.Documents, plan.Definition, nil, at)
	if err != nil {
		return simulation{Problem: err.Error()}
	}
	r.Findings = simulate.Diagnose(sc)
	if slices.ContainsFunc(r.Findings, func(f simulate.Finding) bool { return !f.Advice }) {
		return r
	}
	r.Report = simulate.Find(sc, simulate.Search{Seeds: simulatedSeeds, First: 1, Time: simulatedTime})
	if v := r.Report.Violation; v != nil {
		r.Broken = v.Explain(sc).String()
		r.Diagram = simulate.Diagram(simulate.About(r.Report.Story, v))
	}
	return r
}

func (s *server) simulation(ctx context.Context, t *client.Task, definition string) (*simulation, error) {
	plan, err := s.Client.PlanMoveDocuments(ctx, t.OrderID, definition)
	if err != nil {
		return nil, err
	}
	if plan.Documents == nil || !plan.Accepted {
		return &simulation{Problem: "it could not be moved"}, nil
	}
	of := s.simulations.of(plan, t, s.Program, core.TimeOf(s.Now()))
	return &of, nil
}
