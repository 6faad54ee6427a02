package explore

import (
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// Driver takes the place of the heap in an exploration: it says what could happen next, and carries
// out what was chosen. Calls take no time; time passes by an action of its own, up to the next moment
// at which anything could be different.
type Driver struct {
	W        *world.Simulation
	Since    int64 // time since which something has stood still; -1 if nothing does
	Scope    *Scope
	Done     int        // number of people's commands that are done
	Chosen   world.Act  // fault at the call that goes on
	Call     world.Call // kind of that call
	Landings []Landing  // calls whose callers have given up, and that may arrive at any time
	Looked   Look       // the last sweep that found nothing to do
	Acts     []Action   // reused
	MoveTask int        // the handler that came to its call by the last action
	Thawed   int        // the handler that was frozen until the last action
	Marks    []int      // last message of each queue before that action

	Input uint64          // input of the handler that begins
	Mine  []*world.Letter // letters of that handler
}

// Driven is an exploration's record of a running handler.
type Driven struct {
	Turn     *Turn // next call of the handler; nil if it waits for a time
	Begun    bool
	Began    int64           // time at which it was given its input
	Input    uint64          // hash of it
	Mine     []*world.Letter // letters that it handles
	Receipts []int           // and their receipts
	Trail    Digest          // digest of the results of its calls and the times at which they came
	Course   Digest          // digest of whether its calls succeeded
	Frozen   bool
	Made     int              // calls
	Wrote    bool             // it has stored or sent anything
	Versions map[string]int64 // versions of the documents that it loaded or stored
}

// driverOf returns the driver of a world that is explored.
func driverOf(w *world.Simulation) *Driver { return w.Driver.(*Driver) }

// on returns the record of a handler.
func on(iv *world.Invocation) *Driven {
	if iv.Driven == nil {
		iv.Driven = &Driven{}
	}
	return iv.Driven.(*Driven)
}

// Turn is a call that a handler is about to make.
type Turn struct {
	Call    world.Call
	Subject string
}

// Landing is a call that is still on its way to its service.
type Landing struct {
	What string
	Call worker.Call
}

// Look is the state of the index at a sweep.
type Look struct {
	At, Versions int64
}

// Kind is a kind of action.
type Kind uint8

const (
	GoOn     Kind = iota // a handler makes its call and comes to the next one
	Bring                // one message is brought to a handler
	BringAll             // all that are visible are, as one batch
	Sweeps               // a Supervisor sweeps
	Submits              // the application submits, again if it has received nothing
	Orders               // the next command is given
	Passes               // nothing happens until the next time that means anything
	Boots                // a process is there again
	Thaws                // a frozen handler goes on
	// a message that was late is there at last, and is brought: alone, or (0, -1) with all others.
	Releases
	Lands     // a call whose caller has given up arrives
	Wrong     // a handler's call goes wrong
	Dies      // a process dies, between two calls of its handler
	Freezes   // a handler stands still
	ComesLate // a message is late
	Copies    // a message comes twice
	Loses     // a message is lost
)

// Action is something that can happen next.
type Action struct {
	Kind Kind
	Nth  uint8 // queue, process or act
	Id   int32 // handler, message, or place in a list
}

// Costs reports whether the action is a fault. Faults are bounded on each path.
func (a Action) Costs() bool { return a.Kind >= Wrong }

// Lazy reports whether the action ends an earlier fault, at any time.
func (a Action) Lazy() bool { return a.Kind >= Boots && a.Kind <= Lands }

// Scope is a small world that an exploration goes through as a whole.
type Scope struct {
	Name string
	world.Scenario
	People   []message.ControlKind // commands that are given at any time, in this order
	Refuses  string                // step whose do its service refuses each time; "" if none
	Corrects string                // step that a Resubmit gives another input; "" if none
	Down     []string              // processes that come up at any time, and not at the beginning

	// every call is interleaved with every other: to hold the reductions against
	Entangled bool
	Watching  func(*world.Simulation) // sees every state
}
