package deployment

// Metrics that the functions write and alarms look at: namespace, dimensions, names.
const (
	MetricNamespace  = "Stepkeeper"
	MetricDeployment = "Deployment" // dimension
	MetricAgent      = "Agent"      // dimension of MetricNotCalled
	// requests that an agent handed back because it does not call its service now (P45)
	MetricNotCalled     = "NotCalled"
	MetricOldestOverdue = "OldestOverdue" // seconds
	// dimension of the two below, which are reported of workflows with orders in Error
	MetricWorkflow      = "Workflow"
	MetricInError       = "OrdersInError"
	MetricOldestInError = "OldestInError" // seconds
)
