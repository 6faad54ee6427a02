package cost

import "github.com/stepkeeper/stepkeeper/shared/view"

// messagesAtMost is the largest number of messages in a request of SQS.
const messagesAtMost = 10

// PerMillion returns a stack's cost in dollars for a million of its new orders: with full requests, and with
// one message in each request. u must have at least one order. It assumes the Scheduler's default memory.
func (p Prices) PerMillion(u view.Usage) (least, most float64) {
	t := Totals{WRU: u.WriteUnits / u.Orders, RRU: u.ReadUnits / u.Orders,
		Invocations: u.Invocations / u.Orders, SchedulerGBms: u.Milliseconds * schedulerGB / u.Orders}
	t.SQSRequests = u.Messages / u.Orders / messagesAtMost
	least = sum(entries(t, p))
	t.SQSRequests *= messagesAtMost
	return least, sum(entries(t, p))
}
