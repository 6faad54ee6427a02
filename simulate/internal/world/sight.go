package world

import (
	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/simulate/internal/model"
)

// ExpectedWait is the wait that a Scheduler records when it accepts a reply to a step's current attempt. It
// is the time that the request waited in the queue, at most the time since its claim (P32, queue time is not
// a failure).
type ExpectedWait struct {
	Order, Agent string // if Agent is "", the wait that the order added is unknown
	Letter       int
	scheduler.Wait
	Vague core.Duration // largest error of the time of the decision
}

// knows returns the recorded waits on which a Scheduler's decisions depend, or nil for other processes.
func (p *Process) knows(now core.Time) map[string]core.Duration {
	if p.Waits == nil {
		return nil
	}
	return p.Waits.At(now)
}

// Now returns the task in the last version that the handling has read or written.
func (s *Sight) Now() *core.Task {
	if s.After != nil {
		return s.After
	}
	return s.Base
}

// Reading is a reading of the clock, with the waits of the agents' queues that the instance knew at that
// time.
type Reading struct {
	Now   core.Time
	Waits map[string]core.Duration
}

// Sight records what one handling has read and changed of one order.
type Sight struct {
	Id            string
	Base          *core.Task     // last loaded version of the task; nil if it was not loaded or not stored
	After         *core.Task     // version that this handling committed after that; nil if it committed none
	Claims        []model.Mail   // claims of that commit
	Must          []model.Mail   // messages that the commit has to send
	Sent          []model.Mail   // messages that this handling sent
	Doubt         bool           // the handling's write may be stored, although the store did not confirm it
	Wrote         bool           // this handling committed the task
	ExpectedWaits []ExpectedWait // waits that a Scheduler must have recorded for its replies (P32)
	// the order's first document was too large, so its submission is refused (P28, what is too large fails
	// once)
	Cut bool
	// decisions after the latest load that fail steps whose request no queue accepts
	Extra   []any
	Refused []any // refused effects of the latest commit
	Looked  bool  // the handling loaded the task
	From    int   // index in Clock of the first reading after the load
	Settled bool  // the handling settled the end itself
}

// Sight returns what the handling has seen of an order.
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

// read records the times on the process's clock since the last load.
func (iv *Invocation) read(now core.Time) {
	if n := len(iv.Clock); n == 0 || iv.Anew || iv.Clock[n-1].Now != now {
		iv.Clock, iv.Anew = append(iv.Clock, Reading{now, iv.P.knows(now)}), false
	}
}
