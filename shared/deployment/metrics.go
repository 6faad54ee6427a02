package deployment

// Metrics that the functions write and the alarms read: namespace, dimensions, names.
const (
	MetricNamespace  = "Stepkeeper"
	MetricDeployment = "Deployment" // dimension
	MetricAgent      = "Agent"      // dimension of MetricNotCalled
	// MetricNotCalled counts requests that an agent returned to the queue instead of calling its service
	// (P45, "not now" is not a failure).
	MetricNotCalled     = "NotCalled"
	MetricOldestOverdue = "OldestOverdue" // seconds
	// MetricWorkflow is a dimension of the other metrics. The metrics of orders in Error are reported only
	// for workflows that have such orders.
	MetricWorkflow      = "Workflow"
	MetricInError       = "OrdersInError"
	MetricOldestInError = "OldestInError" // seconds
	MetricState         = "State"         // dimension of the next two metrics
	MetricEnded         = "OrdersEnded"   // orders that came to an end, or to Error
	MetricOrderDuration = "OrderDuration" // milliseconds from an order's receipt to its end
)
