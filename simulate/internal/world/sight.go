package world

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/simulate/internal/model"
)

// knows returns the process's queue waits at the given time, or nil if the process is no Scheduler.
func (p *Process) knows(now core.Time) map[string]core.Duration {
	if p.Waits == nil {
		return nil
	}
	return p.Waits.At(now)
}

// Now returns the last version of the task that the handler has read or written.
func (s *Sight) Now() *core.Task {
	if s.After != nil {
		return s.After
	}
	return s.Base
}

// Reading is a time that a process has read from its clock. It includes the process's queue waits at this
// time.
type Reading struct {
	Now   core.Time
	Waits map[string]core.Duration
}

// Sight records what one call of a handler has read and written of one order.
type Sight struct {
	Id            string
	Base          *core.Task     // last loaded version; nil if no version was loaded or stored
	After         *core.Task     // version committed since the load; nil if none was committed
	Claims        []model.Mail   // claims of the commit
	Must          []model.Mail   // messages that the handler must send because of the commit
	Sent          []model.Mail   // messages that the handler has sent
	Doubt         bool           // true if the write may be stored although the store returned an error
	Wrote         bool           // true if the handler has committed the task
	// true if the submission is refused, because the order's first document was too large (P28, what is too
	// large fails once)
	Cut bool
	// failures of steps whose requests were too large for their queues, decided after the latest load
	Extra   []any
	Refused []any // failures of steps whose requests were too large, found since the latest load
	Looked  bool  // true if the handler has loaded the task
	From    int   // index in Clock of the first reading after the load
	Settled bool  // true if the handler itself has settled the end
}

// Sight returns the record of an order. If the record does not exist, Sight adds an empty one.
func (iv *Invocation) Sight(id string) *Sight {
	for _, s := range iv.Sights {
		if s.Id == id {
			return s
		}
	}
	s := &Sight{Id: id}
	iv.Sights = append(iv.Sights, s)
	return s
}

// read records a time on the process's clock. A repeated time counts only if a task was loaded since the last
// reading.
func (iv *Invocation) read(now core.Time) {
	if n := len(iv.Clock); n == 0 || iv.Anew || iv.Clock[n-1].Now != now {
		iv.Clock, iv.Anew = append(iv.Clock, Reading{now, iv.P.knows(now)}), false
	}
}
