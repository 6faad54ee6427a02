package world

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// History is the record of an order that the checks keep.
type History struct {
	Received map[int]bool      // numbers of statuses that the application has taken
	Reported map[int]string    // bytes of the sent statuses, by number
	Alerts   map[string]bool   // alerts that were raised
	Requests map[string]string // bytes of the sent requests, by step and attempt
	// meaning of the requests, by key and operation (P49, move pins another definition)
	Meant     map[string]string
	Holders   map[string]string // holders of claims, by step and attempt
	Counted   map[string]int    // failures by step
	Verdicts  map[string]bool   // verdicts by command ID
	Cancels   map[int]bool      // runs whose Cancel was refused
	Answered  map[string]bool   // verdicts by the ID of the answer
	Decisions map[string]string // decided values by step, run and round (P35, an answer decides a round)
	Dirty     bool              // the effects of the order have changed since the last check
	Writes    int
	// undos that were claimed while the task went forward, by step and attempt (P42, orders can go on after
	// failures)
	Alone     map[string]bool
	Wakes     map[string]core.Time // ends of waits, by step and attempt (P34, a wait ends at a fixed time)
	ForwardAt int64                // time at which the task last began to go forward
	Submitted bool                 // submitted at least once, in an exploration
}

// NewHistory returns an empty history.
func NewHistory() History {
	return History{
		Received: map[int]bool{}, Reported: map[int]string{}, Alerts: map[string]bool{},
		Requests: map[string]string{}, Meant: map[string]string{}, Holders: map[string]string{},
		Counted: map[string]int{}, Verdicts: map[string]bool{}, Cancels: map[int]bool{},
		Answered: map[string]bool{}, Decisions: map[string]string{}, Wakes: map[string]core.Time{},
		Alone: map[string]bool{},
	}
}

// Dirty marks an order, so that the checks after this step include it.
func (w *Simulation) Dirty(id string) {
	if o := w.ByID[id]; o != nil {
		o.Seen.Dirty = true
	}
}

// Order holds the knowledge of the application and the operator about one order.
type Order struct {
	Id       string
	Submit   message.SubmitOrder
	Api      bool // submitted through the edge, and not through the intake queue
	Acked    bool // a response has confirmed that the order is stored
	Refused  bool
	Early    bool // cancelled before it was submitted
	Commands int
	Seen     History
}

// Born records a child that is stored for the first time. No application submits it, or asks for its result.
func (w *Simulation) Born(t *core.Task) *Order {
	o := &Order{Id: t.OrderID, Acked: true, Seen: NewHistory()}
	w.AllOrders, w.ByID[o.Id] = append(w.AllOrders, o), o
	return o
}
