package view

import (
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Unattended is a queue of requests that nothing takes from: an agent that does not run, mostly.
type Unattended struct {
	Queue   string    `json:"queue" example:"requests-seats"`
	Agent   string    `json:"agent" doc:"empty for a queue of the Scheduler's own, of a stack on AWS"`
	Since   core.Time `json:"since,omitzero" doc:"nothing has taken a request since then; absent where that is not known"`
	Waiting int       `json:"waiting" doc:"requests that wait there"`
	Reason  string    `json:"reason,omitempty" doc:"why nothing takes from it, where that is known: of a stack on AWS, how its event source mapping stands"`
	Fix     string    `json:"fix,omitempty" doc:"what to do about the reason"`
}

// InFlight reports whether a step has a request on its way: the agent has been asked and has not answered.
func (s *Step) InFlight() bool { return s.State == core.Processing || s.State == core.Compensating }

// Await notes which of the queues the steps in flight wait for.
func (t *Task) Await(all []Unattended) {
	for _, u := range all {
		if slices.ContainsFunc(t.Steps, func(s Step) bool { return s.Agent == u.Agent && s.InFlight() }) {
			t.Unattended = append(t.Unattended, u)
		}
	}
}
