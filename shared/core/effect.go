package core

import (
	"encoding/json"
)

// Effect is an action to carry out after the commit of a decision. Only this package declares effects.
type Effect interface{ effect() }

// SendRequest is a request to an agent. The message to the agent contains these fields (P3, a reply names
// request and sender).
type SendRequest struct {
	Agent     string    `json:"agent"`
	OrderID   string    `json:"task"`
	Run       int       `json:"run"`
	Step      string    `json:"step"`
	Attempt   int       `json:"attempt"` // 0 for a reminder, whose reply changes nothing
	Operation Operation `json:"operation"`
	Name      string    `json:"name"` // the agent's operation, such as "charge"
	Grade     Grade     `json:"grade"`
	// Key is the idempotency key (P2, attempts of a run share a key). An undo has the key of the do that it
	// reverses. Each reminder of a step has its own key.
	Key     string   `json:"key"`
	Timeout Duration `json:"timeout"`
	// MaxDuration is the longest time of an attempt that reports progress at least every Timeout (P43, long
	// work reports progress).
	MaxDuration Duration        `json:"maxDuration,omitempty"`
	ClaimedAt   Time            `json:"claimedAt"`
	CompleteBy  Time            `json:"completeBy"`
	StopBy      Time            `json:"stopBy"`
	ClockSkew   Duration        `json:"clockSkew,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`
	Resolved    *Resolved       `json:"resolved,omitempty"`
	// PointOfNoReturn makes the agent keep a ledger of the key, so that the agent can prove a refusal (P22a,
	// a proven refusal permits undo).
	PointOfNoReturn bool   `json:"pointOfNoReturn,omitempty"`
	Trace           string `json:"trace"` // W3C traceparent, derived from task, run, step and attempt
}

// SendWake wakes the Scheduler for a step at a time (P9a, a waiting step has two times).
type SendWake struct {
	OrderID string
	Run     int
	Step    string
	Attempt int
	WakeAt  Time // time of the Wake; zero means at once
	Early   bool // true for a Wake that ends the wait for an agent early, see Wake.Early
}

// SendSettle asks the Scheduler to send the final status (P11, an end is reported until settled).
type SendSettle struct{ OrderID string }

// RaiseAlert alerts the operator to a task. The task has stopped in Error, or was undone after a step failed.
type RaiseAlert struct {
	OrderID  string   `json:"orderId"`
	Workflow string   `json:"workflow"`
	Run      int      `json:"run"`
	Command  int      `json:"command"` // command number that Resubmit, Undo or Resolve must state
	Phase    Phase    `json:"phase"`
	Undone   bool     `json:"undone,omitempty"` // true if the order was undone, and needs no command
	Step     string   `json:"step,omitempty"`
	Attempts int      `json:"attempts,omitempty"`
	FirstTry Time     `json:"firstTry,omitzero"` // time of the step's first claim in this run
	LastTry  Time     `json:"lastTry,omitzero"`  // time of the step's last claim
	Key      string   `json:"key,omitempty"`     // idempotency key of the step (P2)
	Code     string   `json:"code,omitempty"`
	Message  string   `json:"message"`
	At       Time     `json:"at"`
	Accepts  Accepted `json:"accepts"`
}

// EraseContent removes an order's content from the state store (P52, erase removes content, not identity). It
// applies only to content that has an item or row of its own.
type EraseContent struct{ OrderID, Hash string }

// Accepted lists the commands that a task accepts after it has stopped in Error or was undone.
type Accepted struct {
	Resubmit bool `json:"resubmit"`
	Undo     bool `json:"undo"`
	Resolve  bool `json:"resolve"` // Resolve of the step that caused the Error
	// ResolveFrom is the time from which a Resolve is accepted. Before, a call may still take effect. The zero
	// value means that it is accepted at once.
	ResolveFrom Time `json:"resolveFrom,omitzero"`
	// Close is set only for a damaged order, which accepts no other command (P60, a damaged order is set aside).
	Close bool `json:"close,omitempty"`
}

func (SendRequest) effect()  {}
func (SendWake) effect()     {}
func (SendSettle) effect()   {}
func (RaiseAlert) effect()   {}
func (AskChild) effect()     {}
func (ChildEnded) effect()   {}
func (EraseContent) effect() {}
