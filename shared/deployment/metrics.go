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
	// MetricWorkflow is the dimension of the next two metrics, reported for workflows with orders in Error.
	MetricWorkflow      = "Workflow"
	MetricInError       = "OrdersInError"
	MetricOldestInError = "OldestInError" // seconds
)
