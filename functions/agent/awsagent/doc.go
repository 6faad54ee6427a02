// Package awsagent is the ready-made agent for services of AWS. The agent invokes functions, sends events and
// messages, and starts executions. An agents file configures the agent, and package worker runs the agent's
// operations.
//
// An entry of the agents file (see package settings) has a field aws. The field contains one call,
// for all operations of the agent or for one operation:
//
//	agents:
//	  stock:
//	    aws: {invoke: "arn:aws:lambda:eu-central-1:111122223333:function:reserve"}
//	    classify: {OutOfStock: permanent}  # a name of an error that the function reports
//	    operations:
//	      reserve: {}
//	      release: {aws: {invoke: "arn:aws:lambda:eu-central-1:111122223333:function:release"}}
//
// The payload is the step's input with the additional field idempotencyKey. The input must be a JSON object.
// The field in aws selects the call and the output of the step:
//
//	field           call                          output
//	invoke          Invoke, waits for the result  the function's result
//	putEvents       PutEvents with one event      {"eventId": …}
//	publish         Publish                       {"messageId": …}
//	send            SendMessage                   {"messageId": …}
//	startExecution  DescribeExecution; if it      the execution's output
//	                finds none, StartExecution
//	  express       StartSyncExecution            the execution's output
//
// A step is done when the function has returned, when the execution has succeeded, or when the service has the
// event or message. A step can declare these grades:
//
//	invoke, express         what the function or the execution keeps
//	startExecution          idempotent, with a keyRetention of 90 days or less
//	putEvents,              plain; idempotent with deduplicates: true, if every consumer acts once for each
//	publish, send           idempotencyKey; to a FIFO topic or queue idempotent with a keyRetention of 5
//	                        minutes or less
//
// The Region comes from the ARN. The SDK sends each request once, and package worker repeats calls.
//
// A function finds these values in its client context: the operation (do or undo), the name of the
// agent's operation, the task, run, step, attempt and deadline. The attributes of a message contain
// the same values for a subscriber or consumer. An event has the source stepkeeper.AGENT, and its
// detail-type is the operation's name. Rules of EventBridge can match these two fields.
//
// The name of an execution is derived from the key, so that a repeated call finds the execution. After
// the start of an execution, the agent returns the request to the queue. When the request comes again,
// the agent reads the state of the execution. While the execution runs, the agent replies "not yet"
// (P45, "not now" is not a failure). After the end of the execution, the agent replies with the
// result. An undo waits in the same way until the execution of its do has ended.
//
// In FIFO queues and topics, the deduplication ID is derived from the key, and the group from the order's ID.
package awsagent
