package simulate

import (
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/functions/supervisor"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// process is one instance of an actor, with a clock of its own.
type process struct {
	w       *simulation
	name    string
	role    role
	agent   string // of an agent
	up      bool
	offset  int64 // of its clock, milliseconds
	deploy  int   // which version of the workflow it gives to new orders
	running []*invocation

	scheduler  *scheduler.Scheduler
	supervisor *supervisor.Supervisor
	worker     *worker.Worker
	paused     int64                     // it takes nothing before this time
	waits      *scheduler.Waits          // what it has learnt of the agents' queues (P32)
	known      map[string]scheduler.Wait // of that, at the end of its last handling; never changed in place
}

// Now is what the process's clock shows.
func (p *process) Now() time.Time {
	now := p.w.start + p.w.now + p.offset
	if iv := p.w.cur; iv != nil && iv.p == p {
		iv.read(core.Time(now))
	}
	return time.UnixMilli(now).UTC()
}

func (p *process) ended(iv *invocation) {
	if i := slices.Index(p.running, iv); i >= 0 {
		p.running = slices.Delete(p.running, i, i+1)
	}
	if iv.dead && p.waits != nil {
		p.waits.Set(p.known) // what it did since it was dead did not happen
	}
}

// kill ends the process with all that it has in hand; another one comes up after a while.
func (p *process) kill() {
	if !p.up {
		return
	}
	p.up = false
	for _, iv := range p.running {
		iv.dead = true
		if iv.parked {
			p.w.corpses = append(p.w.corpses, iv)
		}
	}
	p.running = nil
	if p.w.embedded {
		p.w.blackout(p)
	}
	p.w.after(1000*(1+p.w.spread("restart", p.name, 30)), p.boot)
}
