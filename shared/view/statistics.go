package view

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Statistics holds figures about a deployment. Series covers at most the last hour, in equal intervals. The
// field Agents shows the present state of each agent. A figure that is not measured is absent, not zero.
type Statistics struct {
	From     core.Time         `json:"from" doc:"start of the first interval"`
	Interval core.Duration     `json:"intervalMs" doc:"length of each interval, in milliseconds"`
	Series   []Series          `json:"series" nullable:"false"`
	Agents   []AgentStatistics `json:"agents" nullable:"false" doc:"agents, sorted by name"`
	Overdue  *Overdue          `json:"overdue,omitempty" doc:"absent if it could not be read"`
	Unknown  []string          `json:"unknown,omitempty" nullable:"false" doc:"figures that are not measured here, with the reason, for people"`
}

// Series is one figure over time.
type Series struct {
	Kind   string `json:"kind" enum:"received,ended,orders,waiting" doc:"received: orders accepted during each interval; ended: orders that entered the state in of; orders: orders in flight or in Error, as of says, at the end of each interval; waiting: requests that waited for the agent in of"`
	Of     string `json:"of,omitempty" example:"Processed"`
	Values []*int `json:"values" nullable:"false" doc:"one value for each interval, earliest first; null if it was not measured"`
}

// Kinds of Series. OrdersInFlight is a value of Series.Of instead.
const (
	SeriesReceived = "received"
	SeriesEnded    = "ended"
	SeriesOrders   = "orders"
	SeriesWaiting  = "waiting"
	OrdersInFlight = "in flight"
)

// AgentStatistics holds the figures of an agent and of the queue of its requests.
type AgentStatistics struct {
	Agent     string        `json:"agent"`
	Waiting   int           `json:"waiting" doc:"number of requests that no consumer has received yet"`
	InFlight  int           `json:"inFlight" doc:"number of requests that were received and have not ended"`
	Oldest    core.Duration `json:"oldestMs" doc:"age of the oldest waiting request, in milliseconds"`
	Done      *int          `json:"done,omitempty" doc:"number of replies with the outcome done in the time that the statistics cover; absent if replies are not counted"`
	Failed    *int          `json:"failed,omitempty" doc:"number of replies with another outcome: the attempt failed, or is repeated; absent if replies are not counted"`
	NotCalled []NotCalled   `json:"notCalled,omitempty" nullable:"false" doc:"operations whose service is not called now"`
	Unknown   string        `json:"unknown,omitempty" doc:"why the agent's queue could not be read"`
}

// NotCalled is an operation that its agent does not call now. The agent's circuit breaker is open, the service
// does not accept the agent's credentials, the agent is not deployed, or it does not receive its requests.
type NotCalled struct {
	Operation string    `json:"operation,omitempty" doc:"absent if only the agent is known"`
	Code      string    `json:"code,omitempty" example:"breaker-open"`
	Since     core.Time `json:"since"`
}

// Overdue counts the orders that a sweep of the Supervisor should have handled already. Their due time
// passed longer ago than the interval between sweeps.
type Overdue struct {
	Orders int       `json:"orders" doc:"number of overdue orders, counted up to 1000"`
	Since  core.Time `json:"since,omitzero" doc:"time at which the most overdue order was due"`
}

// Add counts entries of an index, up to MostOverdue. The entries are sorted by time, earliest first.
func (o *Overdue) Add(due []port.Due) {
	o.Orders = min(o.Orders+len(due), MostOverdue)
	if len(due) > 0 && (o.Since == 0 || core.TimeOf(due[0].At) < o.Since) {
		o.Since = core.TimeOf(due[0].At)
	}
}

// MostOverdue is the largest number of overdue orders that is counted.
const MostOverdue = 1000
