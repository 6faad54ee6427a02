package world

import (
	"errors"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// agency records what an agent does with one request. Package check compares the record with these rules:
//   - P3, a reply names request and sender
//   - P6, two times in each request
//   - P24, an undo needs no output
//   - P25, agents are silent after stopBy
//   - P28, what is too large fails once
type agency struct {
	Req      *message.Request // nil if the request is unreadable
	Received core.Time        // time of receipt on the agent's clock
	Called   bool
	Checked  bool // true if the agent has checked the service
	Happened bool // true if the check reported that the operation happened
	Unsent   bool // true if the send of a reply or a quarantined message returned an error
}

// Stop returns the time on the agent's clock from which the agent must not call or reply (P25).
func (a *agency) Stop() core.Time { return a.Req.StopBy.Add(-a.Req.ClockSkew) }

// ErrCut is the error of every port call of a dead handler. A dead handler has no further effect.
var ErrCut = errors.New("the process is dead")

// Invocation is one call of an actor's handler. The handler runs in a coroutine.
type Invocation struct {
	W       *Simulation
	P       *Process
	Dead    bool
	Parked  bool
	Yield   func(int64) bool
	Routine *Coroutine
	Letters []*Letter       // messages that the handler processes
	Direct  any             // message or command of a call without a queue; nil if Letters is set
	About   string          // ID of the order that Direct names
	TooBig  map[string]bool // orders of which a queue has refused a request, because of its size
	Agency  agency          // record of what an agent does
}
