package cost

import "github.com/stepkeeper/stepkeeper/shared/view"

const messagesAtMost = 10

// PerMillion returns a stack's cost in dollars for a million of its new orders. The result least assumes full
// requests, and most assumes one message in each request. PerMillion assumes the Scheduler's default memory.
// The number of orders in u must be 1 or more.
func (p Prices) PerMillion(u view.Usage) (least, most float64) {
	t := Totals{WRU: u.WriteUnits / u.Orders, RRU: u.ReadUnits / u.Orders,
		Invocations: u.Invocations / u.Orders, SchedulerGBms: u.Milliseconds * schedulerGB / u.Orders}
	t.SQSRequests = u.Messages / u.Orders / messagesAtMost
	least = sum(entries(t, p))
	t.SQSRequests *= messagesAtMost
	return least, sum(entries(t, p))
}
