package view

import (
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Unattended is a queue without a consumer, usually because its agent does not run.
type Unattended struct {
	Queue   string    `json:"queue" example:"requests-seats"`
	Agent   string    `json:"agent" doc:"empty for a queue of the Scheduler, in a stack on AWS"`
	Since   core.Time `json:"since,omitzero" doc:"time since which no consumer has received a request; absent if it is not known"`
	Waiting int       `json:"waiting" doc:"number of requests in the queue"`
	Reason  string    `json:"reason,omitempty" doc:"why the queue has no consumer, if it is known; for a stack on AWS, the state of the event source mapping"`
	Fix     string    `json:"fix,omitempty" doc:"how to fix it"`
}

// InFlight reports whether a request of the step was sent to its agent and has no reply yet.
func (s *Step) InFlight() bool { return s.State == core.Processing || s.State == core.Compensating }

// Awaits reports whether the step has asked its agent, or will ask it again.
func (s *Step) Awaits() bool {
	again := s.State == core.Pending || s.State == core.UndoWait
	return s.InFlight() || again && s.Attempts > 0
}

// Await adds the unattended queues to t. It leaves out a queue if no step waits for the queue's agent.
func (t *Task) Await(all []Unattended) {
	for _, u := range all {
		if slices.ContainsFunc(t.Steps, func(s Step) bool { return s.Agent == u.Agent && s.Awaits() }) {
			t.Unattended = append(t.Unattended, u)
		}
	}
}
