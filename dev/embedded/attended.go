package embedded

import (
	"context"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// unattendedAfter is the time without a receiver after which a queue counts as unattended. Agents pause for a
// shorter time between two receive calls.
const unattendedAfter = 5 * time.Second

// attended is the queue of an agent in a process of the user. The queue records when the agent receives.
type attended struct {
	port.Queue
	clock port.Clock

	mu        sync.Mutex
	receivers int       // number of Receive calls that run now
	last      time.Time // begin or end of the last Receive call; initially the start time
}

// Receive receives messages, and records that a receiver is present.
func (q *attended) Receive(ctx context.Context, max int, wait,
	visibility time.Duration,
) ([]port.Delivery, error) {
	q.count(1)
	defer q.count(-1)
	return q.Queue.Receive(ctx, max, wait, visibility)
}

func (q *attended) count(receivers int) {
	now := q.clock.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.receivers += receivers
	q.last = now
}

// unattended reports whether the queue has no consumer. A queue has a consumer if a Receive call runs, or has
// ended within unattendedAfter. A message in flight also proves a consumer, because a busy agent may hold a
// message for long.
func (q *attended) unattended(ctx context.Context, agent string) (view.Unattended, bool) {
	q.mu.Lock()
	since := q.last
	receivers := q.receivers
	q.mu.Unlock()
	if receivers > 0 || port.Recent(since, q.clock.Now(), unattendedAfter) {
		return view.Unattended{}, false
	}
	depth, err := q.Depth(ctx)
	return view.Unattended{
		Queue: q.Name(), Agent: agent, Since: core.TimeOf(since),
		Waiting: depth.Visible + depth.Delayed,
	}, err == nil && depth.InFlight == 0
}

// Unattended implements api.Backend.
func (s *Runtime) Unattended(ctx context.Context) []view.Unattended {
	return s.unattended(ctx, func(string) bool { return true })
}

func (s *Runtime) unattendedOf(ctx context.Context, workflow string) []view.Unattended {
	def := s.workflows.current(workflow)
	if def == nil {
		return nil
	}
	return s.unattended(ctx, func(agent string) bool { _, named := def.Agents[agent]; return named })
}

func (s *Runtime) unattended(ctx context.Context, needed func(agent string) bool) (all []view.Unattended) {
	for _, a := range s.agents {
		q := s.queues.outside[a.name]
		if q == nil || !needed(a.name) {
			continue
		}
		if u, yes := q.unattended(ctx, a.name); yes {
			all = append(all, u)
		}
	}
	return all
}
