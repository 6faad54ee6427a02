package world

import (
	"time"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/functions/supervisor"
)

// Process is one instance of an actor with its own clock.
type Process struct {
	W       *Simulation
	Name    string
	Role    Role
	Agent   string // name of the agent; "" for other roles
	Up      bool
	Offset  int64 // difference between the process's clock and the true time, in milliseconds
	Deploy  int   // 1 if new orders get the newer version of the workflow
	Running []*Invocation

	Scheduler  *scheduler.Scheduler
	Supervisor *supervisor.Supervisor
	Worker     *worker.Worker
	// last queue wait of each agent's requests (P32, queue time is not a failure)
	Waits *scheduler.Waits
	Known map[string]scheduler.QueueTime // queue waits at the end of the last invocation; never changed in place
}

// Now returns the time on the process's clock.
func (p *Process) Now() time.Time { return time.UnixMilli(p.W.Start + p.W.Now + p.Offset).UTC() }
