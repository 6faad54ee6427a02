package world

import (
	"errors"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// agency records the work of one handling of an agent on its request, for the rules of agents:
//   - P3, a reply names request and sender
//   - P6, two times in each request
//   - P24, an undo needs no output
//   - P25, agents are silent after stopBy
//   - P28, what is too large fails once
//   - P31, a plain service needs a ledger
type agency struct {
	Req      *message.Request // request of the handling; nil if it is unreadable
	Received core.Time        // time of receipt by the agent's own clock
	First    port.LedgerEntry // ledger entry at the first read
	Read     bool
	Entered  bool   // the handling's first change of the entry is stored
	State    string // last state that the handling wrote to the entry
	Called   bool
	Outcome  Outcome
	Checked  bool // the handling checked its service
	Happened bool // the check returned "happened"
	Unsent   bool // a queue refused a reply or a quarantined message
}

// Outcome is the result of a call from the view of its caller.
type Outcome uint8

// Outcomes of a call.
const (
	CallUnknown Outcome = iota // the caller got no answer
	CallDone                   // the caller got the answer
	CallRefused                // refused for good, and proven without effect
	CallNotNow                 // proven without effect, a repetition may succeed
)

// Stop returns the time at which the agent has to fall silent, by its own clock (P25).
func (a *agency) Stop() core.Time { return a.Req.StopBy.Add(-a.Req.ClockSkew) }

// ErrCut is the error of every call after the death of the handler's process or the end of its time. From
// then on the handler has no effect.
var ErrCut = errors.New("the process is dead")

// Invocation is one running handler, as a coroutine.
type Invocation struct {
	W       *Simulation
	P       *Process
	Id      int
	What    string
	Dead    bool
	Parked  bool
	Yield   func(int64) bool
	Routine *Coroutine
	Letters []*Letter       // letters that the handler handles
	Handed  []port.Delivery // deliveries in the order of their arrival
	Direct  any             // message or command that came without a queue
	GaveUp  bool            // the handler has stopped repeating the work on Direct
	About   string          // order of Direct
	Sights  []*Sight
	Clock   []Reading             // readings of the process's clock
	Anew    bool                  // something was loaded since the last reading
	Depths  map[string]port.Depth // queue depths that the handler read
	Agency  agency                // handling by an agent
	Shards  map[string]bool       // shards that this instance sweeps
	Gone    []bool                // messages that the handler deletes, by index
	Broken  bool                  // a call has failed, and not only because a document was too large
	Trouble bool                  // a call has failed
	Until   int64                 // end of the wait of a parked handler
	Driven  any                   // record of the handler in an exploration
}
