package world

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// History holds the data that the checks keep about an order.
type History struct {
	Received map[int]bool      // statuses that the application has received, or that expired in its queue
	Reported map[int]string    // bytes of the sent statuses, by status number
	Alerts   map[string]bool   // alerts that were raised, by check.AlertID
	Requests map[string]string // bytes of the sent requests, by step, attempt and key
	// agents, operation name, grade and input of the requests, by key and operation (P49, move pins another
	// definition)
	Meant    map[string]string
	StopBy   map[string]core.Time // latest stop-by of the sent requests, by key and operation
	Done     map[string]core.Time // times at which a Scheduler has deleted the reply done of a do, by key
	Failed   map[string]bool      // reported failures of dos since the last command, by key and attempt
	Moved    bool                 // true if the task has pinned another definition
	Holders  map[string]string    // holders of claims, by step and attempt
	Counted  map[string]int       // number of counted failures, by step
	Verdicts map[string]bool      // acceptance of commands, by their content
	Passed   map[string]string    // children that have taken a passed answer, by its value (P56)
	Carried  map[string]int       // number of passed answers that a child began with, by its ID
	Dirty    bool                 // true if the effects of the order may have changed since the last check
	Writes   int
	// undos that were claimed while the task went forward, by step and attempt (P42, orders can go on after
	// failures)
	Alone    map[string]bool
	Reminded map[string]core.Time // times at which reminders were decided, by key
}

func newHistory() History {
	return History{
		Received: map[int]bool{}, Reported: map[int]string{}, Alerts: map[string]bool{},
		Requests: map[string]string{}, Meant: map[string]string{}, Holders: map[string]string{},
		Counted: map[string]int{}, Verdicts: map[string]bool{},
		Alone: map[string]bool{}, StopBy: map[string]core.Time{}, Done: map[string]core.Time{},
		Failed: map[string]bool{}, Passed: map[string]string{}, Carried: map[string]int{},
		Reminded: map[string]core.Time{},
	}
}

// Dirty marks an order. The next check then compares the effects of the order with its task.
func (w *Simulation) Dirty(id string) {
	if o := w.ByID[id]; o != nil {
		o.Seen.Dirty = true
	}
}

// Order is an order as the application and the operator see it.
type Order struct {
	Id       string
	Submit   message.SubmitOrder
	Api      bool // true if the application calls the Scheduler instead of sending a message
	Acked    bool // true if a response has confirmed that the order is stored
	Refused  bool
	Commands int
	Seen     History
}

// NewOrder adds an order. The zero SubmitOrder belongs to a child order, which has no submission.
func (w *Simulation) NewOrder(id string, submit message.SubmitOrder) *Order {
	submit.OrderID = id
	o := &Order{Id: id, Submit: submit, Seen: newHistory()}
	w.AllOrders = append(w.AllOrders, o)
	w.ByID[id] = o
	return o
}
