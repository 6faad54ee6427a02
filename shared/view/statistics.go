package view

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Statistics are figures of a deployment for its operator: the last hour at most, in intervals of equal
// length, and each agent as it is now. What is not measured is absent, and never zero.
type Statistics struct {
	From     core.Time         `json:"from" doc:"when the first interval began"`
	Interval core.Duration     `json:"intervalMs" doc:"the length of each interval, in milliseconds"`
	Series   []Series          `json:"series" nullable:"false"`
	Agents   []AgentStatistics `json:"agents" nullable:"false" doc:"by name"`
	Overdue  *Overdue          `json:"overdue,omitempty" doc:"absent where it could not be read"`
	Usage    *Usage            `json:"usage,omitempty" doc:"of a stack on AWS only"`
	Unknown  []string          `json:"unknown,omitempty" nullable:"false" doc:"what is not measured here, and why, for people"`
}

// Series is one figure over time.
type Series struct {
	Kind   string `json:"kind" enum:"received,ended,orders,waiting" doc:"received: orders taken in during each interval; ended: orders that came to the state 'of'; orders: those that were in flight or in Error at its end, as 'of' says; waiting: requests that waited for the agent 'of'"`
	Of     string `json:"of,omitempty" example:"Processed"`
	Values []*int `json:"values" nullable:"false" doc:"one of each interval, the earliest first; null where it was not measured"`
}

// Kinds of Series, and what those of orders are of beside the state Error.
const (
	SeriesReceived = "received"
	SeriesEnded    = "ended"
	SeriesOrders   = "orders"
	SeriesWaiting  = "waiting"
	OrdersInFlight = "in flight"
)

// AgentStatistics is an agent and the queue of its requests.
type AgentStatistics struct {
	Agent     string        `json:"agent"`
	Waiting   int           `json:"waiting" doc:"requests that nothing has taken yet"`
	InFlight  int           `json:"inFlight" doc:"requests that were taken and have not ended"`
	Oldest    core.Duration `json:"oldestMs" doc:"how long the oldest of those waiting has waited, in milliseconds"`
	Done      *int          `json:"done,omitempty" doc:"replies of the time that the statistics cover that said done; absent where they are not counted"`
	Failed    *int          `json:"failed,omitempty" doc:"likewise, those that said anything else: the attempt failed, or is to be made again"`
	NotCalled []NotCalled   `json:"notCalled,omitempty" nullable:"false" doc:"operations whose service is not called now"`
	Unknown   string        `json:"unknown,omitempty" doc:"why its queue could not be looked at"`
}

// NotCalled is an operation that its agent does not call: its circuit breaker is open, or the service does
// not accept the credentials.
type NotCalled struct {
	Operation string    `json:"operation,omitempty" doc:"absent where only the agent is known"`
	Code      string    `json:"code,omitempty" example:"breaker-open"`
	Since     core.Time `json:"since"`
}

// Overdue are the orders that a sweep of the Supervisor should have found already: past their complete-by
// time for longer than the interval of sweeps.
type Overdue struct {
	Orders int       `json:"orders" doc:"counted up to 1000"`
	Since  core.Time `json:"since,omitzero" doc:"the complete-by time of the most overdue one"`
}

// Add counts what an index lists, earliest first.
func (o *Overdue) Add(due []port.Due) {
	o.Orders += len(due)
	if len(due) > 0 && (o.Since == 0 || core.TimeOf(due[0].At) < o.Since) {
		o.Since = core.TimeOf(due[0].At)
	}
}

// Usage is what a stack consumed of what is billed, in the hour before it was read: for its orders, and with
// the sweeps. The agents' own functions and ledgers are not in it.
type Usage struct {
	Orders       float64 `json:"orders" doc:"messages of orders that were taken in"`
	WriteUnits   float64 `json:"writeUnits" doc:"write request units of DynamoDB"`
	ReadUnits    float64 `json:"readUnits" doc:"read request units of DynamoDB"`
	Messages     float64 `json:"messages" doc:"messages of SQS that were sent, received or deleted; a request carries 1 to 10 of them"`
	Invocations  float64 `json:"invocations" doc:"of the Scheduler's function"`
	Milliseconds float64 `json:"milliseconds" doc:"that those took"`
}

// MostOverdue is how far the overdue orders are counted.
const MostOverdue = 1000
