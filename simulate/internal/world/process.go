package world

import (
	"time"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/functions/supervisor"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Process is one instance of an actor, with a clock of its own.
type Process struct {
	W       *Simulation
	Name    string
	Role    Role
	Agent   string // name of the agent; "" for other roles
	Up      bool
	Offset  int64 // offset of its clock, in milliseconds
	Deploy  int   // version of the workflow that new orders get from it
	Running []*Invocation

	Scheduler  *scheduler.Scheduler
	Supervisor *supervisor.Supervisor
	Worker     *worker.Worker
	Paused     int64 // the process receives nothing before this time
	// measured waits of the agents' queues (P32, queue time is not a failure)
	Waits *scheduler.Waits
	Known map[string]scheduler.Wait // waits at the end of its last handling; never changed in place
}

// Now returns the time on the process's clock.
func (p *Process) Now() time.Time {
	now := p.W.Start + p.W.Now + p.Offset
	if iv := p.W.Cur; iv != nil && iv.P == p {
		iv.read(core.Time(now))
	}
	return time.UnixMilli(now).UTC()
}
