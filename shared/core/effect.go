package core

import (
	"encoding/json"
)

// Effect is an action to carry out after the commit of a decision. Only this package declares effects.
type Effect interface{ effect() }

// SendRequest is a request to an agent. The message to the agent contains these fields (P3, a reply names
// request and sender).
type SendRequest struct {
	Agent           string          `json:"agent"`
	OrderID         string          `json:"task" pattern:"^[A-Za-z0-9._:~-]{1,128}$" doc:"ID of the order"`
	Run             int             `json:"run" minimum:"0" doc:"how often the order was started from the beginning: 0, and one more each time it is resubmitted after its undo"`
	Step            string          `json:"step" pattern:"^[a-z][a-z0-9-]{0,39}$"`
	Attempt         int             `json:"attempt" minimum:"0" doc:"number of the claim; 0 for a reminder, whose reply changes nothing"`
	Operation       Operation       `json:"operation" enum:"do,undo"`
	Name            string          `json:"name" minLength:"1" doc:"the agent's operation, such as charge"`
	Grade           Grade           `json:"grade" required:"false" enum:"fenced,idempotent,plain" doc:"what the remote service promises"`
	Key             string          `json:"key" minLength:"1" doc:"idempotency key, the same for every attempt of a run (P2); an undo has the key of its do, and each reminder its own"`
	Timeout         Duration        `json:"timeout" minimum:"1" doc:"time for one attempt, in milliseconds"`
	MaxDuration     Duration        `json:"maxDuration,omitempty" minimum:"1" doc:"longest time of an attempt that reports progress at least every timeout, in milliseconds (P43)"`
	ClaimedAt       Time            `json:"claimedAt" required:"false"`
	CompleteBy      Time            `json:"completeBy" required:"false" doc:"from then on the attempt may count as failed (P6)"`
	StopBy          Time            `json:"stopBy" doc:"no side effect may begin, and no reply be sent, after this time less clockSkew (P6)"`
	ClockSkew       Duration        `json:"clockSkew,omitempty" minimum:"0" doc:"largest difference between the clocks of Scheduler and agent, in milliseconds"`
	Input           json.RawMessage `json:"input,omitempty" doc:"any JSON"`
	Resolved        *Resolved       `json:"resolved,omitempty" doc:"fact that the operator stated about this step"`
	PointOfNoReturn bool            `json:"pointOfNoReturn,omitempty" doc:"the agent keeps a ledger of the key, so that it can prove a refusal with noEffect (P22a)"`
	Trace           string          `json:"trace" required:"false" doc:"W3C traceparent, derived from task, run, step and attempt"`
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
