package scheduler

import (
	"context"
	"log/slog"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// Config configures a Scheduler. State, Queues, Alerts, Clock and Name are required.
type Config struct {
	engine.Parts
	// Waits holds the known waits in the agents' queues (P32, queue time is not a failure). The Scheduler
	// adds new waits. nil means that no waits are known at the start.
	Waits *Waits
	// Pause waits before the next try to send the effects of a call of Submit or Command (P12a, who emits
	// again). An error ends the tries. If Pause is nil, a sweep sends the effects when the task is due (P9,
	// tasks not at rest are due).
	Pause func(ctx context.Context, try int) error
	// Capacity returns how many requests an agent takes at a time, which is concurrency × batch. 0 means
	// unknown. The Scheduler uses Capacity to compare the queue lengths of agents that can do the same step.
	// It reads these lengths at most every 10 s (P44, several agents can do one step). If Capacity is nil,
	// the Scheduler reads no queue lengths.
	Capacity func(agent string) int
	// Priorities means that the agents' queues deliver orders of high priority first (P46, priority
	// changes the order of requests only). If Priorities is false, the status of a received order notes
	// that the priority has no effect.
	Priorities bool
	// Replied is called with each accepted reply. For example, it can record the outages of agents (P45, "not
	// now" is not a failure). Replied may be nil.
	Replied func(ctx context.Context, r Replied)
	// Restarted is called with each task that Restart has restarted. Restarted may be nil.
	Restarted func(t *protocol.Task)
}

// Replied is an accepted reply.
type Replied struct {
	core.Reply
	Agent string // name of the agent that was asked
	Name  string // name of the operation that was asked for
	// Uncalled means that the agent could not call its service for the attempts before this one.
	Uncalled bool
}

// Scheduler handles submissions, replies, wakes and commands. It is safe for concurrent use. It keeps
// only how long requests last waited in their queues (P32), and the lengths of some queues (P44).
type Scheduler struct {
	cfg     Config
	engine  engine.Engine
	log     *slog.Logger
	lengths *lengths
}

// tries is the largest number of times that one handling loads and decides a task. After a conflict with another
// writer, the Scheduler tries again. After the last try, the messages return to the queue.
const tries = 8

// New returns a Scheduler.
func New(cfg Config) *Scheduler {
	if cfg.Waits == nil {
		cfg.Waits = &Waits{}
	}
	known := &lengths{}
	return &Scheduler{cfg: cfg, log: cfg.Logger, lengths: known, engine: engine.Engine{Config: engine.Config{
		Parts: cfg.Parts, Span: "scheduler", Tries: tries, Waits: cfg.Waits.At, Lengths: known.all,
		Claims: true,
	}}}
}

func (s *Scheduler) now() core.Time { return core.TimeOf(s.cfg.Clock.Now()) }

func (s *Scheduler) notes(priority string) []string {
	if s.cfg.Priorities {
		return nil
	}
	return message.Notes(priority)
}

func (s *Scheduler) count(what, why string) {
	if s.cfg.Count != nil {
		s.cfg.Count(what, why)
	}
}
