package world

import (
	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/simulate/internal/model"
)

// ExpectedWait is the wait that a Scheduler records when it accepts a reply, as the step's current attempt:
// how long the request had waited, but no more than the time since its claim (P32).
type ExpectedWait struct {
	Order, Agent string // agent "" means that the recorded wait of that order is unknown
	Letter       int
	scheduler.Wait
	Vague core.Duration // the decision may have been earlier or later by this much
}

// knows returns the waits that a Scheduler uses in its decisions, or nil for other processes.
func (p *Process) knows(now core.Time) map[string]core.Duration {
	if p.Waits == nil {
		return nil
	}
	return p.Waits.At(now)
}

// Now returns the task as the handling knows it.
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
	Base          *core.Task     // task as loaded last; nil if it was not loaded or not stored
	After         *core.Task     // task as this handling committed it since then; nil if it did not
	Claims        []model.Mail   // claims of that commit
	Must          []model.Mail   // messages that the commit has to send
	Sent          []model.Mail   // messages that this handling sent
	Doubt         bool           // its own write may be stored, although the result did not confirm it
	Wrote         bool           // it was committed by this handling
	ExpectedWaits []ExpectedWait // waits that a Scheduler must have recorded for its replies (P32)
	Cut           bool           // the order's first document did not fit: its submission is refused (P28)
	// requests that no queue took, which failed: decisions after the latest load
	Extra   []any
	Refused []any // refused effects of the commit since then
	Looked  bool  // it was loaded
	From    int   // its first reading of the clock
	Settled bool  // it settled the end itself
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
