package cost

import "github.com/stepkeeper/stepkeeper/shared/view"

// messagesAtMost is how many messages a request of SQS carries.
const messagesAtMost = 10

// PerMillion is what the consumption of a stack costs for a million of the orders that it took in meanwhile,
// in dollars: with as many messages in each request as it can carry, and with one. There must be an order.
// The Scheduler is taken to have the memory that it is deployed with by default.
func (p Prices) PerMillion(u view.Usage) (least, most float64) {
	t := Totals{WRU: u.WriteUnits / u.Orders, RRU: u.ReadUnits / u.Orders,
		Invocations: u.Invocations / u.Orders, SchedulerGBms: u.Milliseconds * schedulerGB / u.Orders}
	t.SQSRequests = u.Messages / u.Orders / messagesAtMost
	least = sum(entries(t, p))
	t.SQSRequests *= messagesAtMost
	return least, sum(entries(t, p))
}
