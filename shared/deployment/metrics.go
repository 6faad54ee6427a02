package deployment

// Names of the metrics that the functions write and the alarms read. The list includes the namespace and the
// dimensions.
const (
	MetricNamespace  = "Stepkeeper"
	MetricDeployment = "Deployment" // dimension of all metrics
	MetricAgent      = "Agent"      // dimension of MetricNotCalled
	// MetricNotCalled counts requests that an agent returned to the queue instead of calling its service
	// (P45, "not now" is not a failure).
	MetricNotCalled     = "NotCalled"
	MetricOldestOverdue = "OldestOverdue" // seconds since the earliest due time of an overdue task
	// MetricWorkflow is a dimension of the metrics below. The metrics of orders in Error exist only for
	// workflows with such orders.
	MetricWorkflow      = "Workflow"
	MetricInError       = "OrdersInError"
	MetricOldestInError = "OldestInError" // age of the oldest order in Error in seconds
	MetricState         = "State"         // dimension of the two metrics below
	MetricEnded         = "OrdersEnded"   // number of orders that ended or stopped in Error
	MetricOrderDuration = "OrderDuration" // milliseconds from the receipt of an order to its end
)
