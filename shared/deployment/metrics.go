package deployment

// Names of the metrics, of their namespace and of their dimensions.
const (
	MetricNamespace  = "Stepkeeper"
	MetricDeployment = "Deployment" // dimension of all metrics
	MetricAgent      = "Agent"      // dimension of MetricNotCalled
	// MetricNotCalled counts retry-later replies of agents that did not call their service (P45, "not now" is
	// not a failure).
	MetricNotCalled = "NotCalled"
	MetricFunction  = "Function" // dimension of MetricReturned
	// MetricReturned counts messages that a function could not handle and returned to their queue, and orders
	// that a sweep of the Supervisor could not handle.
	MetricReturned     = "Returned"
	FunctionScheduler  = "scheduler"  // value of MetricFunction; an agent has its own name
	FunctionSupervisor = "supervisor" // value of MetricFunction
	MetricReplyTo      = "ReplyTo"    // dimension of MetricNotSent
	// MetricNotSent counts the statuses that a reply-to could not get (P12b, a status delays nothing else).
	MetricNotSent       = "StatusesNotSent"
	MetricOldestOverdue = "OldestOverdue" // seconds since the earliest due time of an overdue task
	// MetricWorkflow is a dimension of all metrics below. MetricInError and MetricOldestInError exist only
	// for workflows with orders in Error.
	MetricWorkflow      = "Workflow"
	MetricInError       = "OrdersInError"
	MetricOldestInError = "OldestInError" // longest time of an order in Error, in seconds
	MetricState         = "State"         // dimension of MetricEnded and MetricOrderDuration
	MetricEnded         = "OrdersEnded"   // number of orders that ended or stopped in Error
	MetricOrderDuration = "OrderDuration" // milliseconds from the creation of a task to its end
)
