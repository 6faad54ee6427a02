package scheduler

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// Config is what a Scheduler needs. State, Queues, Alerts, Clock and Name are required.
type Config struct {
	engine.Parts
	// Tries is how often a task is loaded and decided again in one handling before its messages
	// are returned to the queue; 0 means 8.
	Tries int
	// Waits is what is known of the agents' queues at the beginning; the Scheduler adds to it. nil: nothing
	// (P32).
	Waits *Waits
	// Pause is waited before a submission or a command that came without a queue is carried on, because not
	// all of what it led to was sent (P12a); an error ends that. nil: it is left to its due time (P9).
	Pause func(ctx context.Context, try int) error
	// Capacity is how many requests an agent takes at a time, concurrency × batch; 0: unknown. With it the
	// lengths of the queues of agents that a step may choose are asked for, at most every 10 s (P44). nil:
	// they are not.
	Capacity func(agent string) int
	// FairQueues puts the order's tenant on each request, see message.Tenant (rule 4).
	FairQueues bool
	// Priorities: the agents' queues put orders of high priority first (P46). Without, receipts say that it
	// has no effect.
	Priorities bool
	// Senders are the role IDs that the replies of an agent come from, by agent (P3). Those of an agent
	// that is absent are compared by their name only.
	Senders map[string][]string
	// Replied is called with each reply of an agent that is accepted, so that it is known which ones make no
	// calls (P45): the agent, and its operation; may be nil.
	Replied func(agent, operation string, r core.Reply)
	// Restarted is called with each task that Restart has taken up; optional.
	Restarted func(t *core.Task)
}

// Scheduler is safe for concurrent use. It keeps nothing but how long requests last waited in the
// agents' queues (P32), and how long some of these queues are (P44).
type Scheduler struct {
	cfg     Config
	engine  engine.Engine
	log     *slog.Logger
	lengths *lengths
}

// New makes a Scheduler.
func New(cfg Config) *Scheduler {
	cfg.Tries = cmp.Or(cfg.Tries, 8)
	if cfg.Waits == nil {
		cfg.Waits = &Waits{}
	}
	known := &lengths{}
	return &Scheduler{cfg: cfg, log: cfg.Logger, lengths: known, engine: engine.Engine{Config: engine.Config{
		Span:  "scheduler",
		Parts: cfg.Parts, Tries: cfg.Tries, Waits: cfg.Waits.At, Lengths: known.all,
		FairQueues: cfg.FairQueues, Claims: true, Senders: cfg.Senders,
	}}}
}

func (s *Scheduler) now() core.Time { return core.TimeOf(s.cfg.Clock.Now()) }

// notes lists the parts of an order that have no effect.
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
