package cost

import "github.com/stepkeeper/stepkeeper/shared/view"

const messagesAtMost = 10

// PerMillion returns the cost in dollars of a million orders, from the measured usage of a stack. The result
// least assumes ten messages in each request to SQS, and most assumes one. PerMillion assumes the Scheduler's
// default memory. The number of orders in u must be at least 1.
func (p Prices) PerMillion(u view.Usage) (least, most float64) {
	t := Totals{WRU: u.WriteUnits / u.Orders, RRU: u.ReadUnits / u.Orders,
		Invocations: u.Invocations / u.Orders, SchedulerGBms: u.Milliseconds * schedulerGB / u.Orders}
	t.SQSRequests = u.Messages / u.Orders / messagesAtMost
	least = sum(entries(t, p))
	t.SQSRequests *= messagesAtMost
	return least, sum(entries(t, p))
}
