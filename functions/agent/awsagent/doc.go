// Package awsagent is the ready-made agent for services of AWS. It invokes functions, sends events and
// messages, and starts executions. An agents file configures it, and package worker runs its operations.
//
// An entry of the agents file (see package httpagent) has aws: with one call, for all operations of the agent
// or for one of them:
//
//	agents:
//	  stock:
//	    aws: {invoke: "arn:aws:lambda:eu-central-1:111122223333:function:reserve"}
//	    classify: {OutOfStock: permanent}  # a name of an error that the function reports
//	    operations:
//	      reserve: {}
//	      release: {aws: {invoke: "arn:aws:lambda:eu-central-1:111122223333:function:release"}}
//
// The payload is the step's input, which must be an object, with one more field, idempotencyKey. The calls,
// and the outputs of the step:
//
//	entry           call                          output
//	invoke          Invoke, waits for the result  the function's result
//	putEvents       PutEvents with one event      {"eventId": …}
//	publish         Publish                       {"messageId": …}
//	send            SendMessage                   {"messageId": …}
//	startExecution  DescribeExecution; if it      the execution's output
//	                finds none, StartExecution
//	  express       StartSyncExecution            the execution's output
//
// The Region comes from the ARN. Each call is one request. The worker repeats it by the rules of its step. A
// function finds operation, name, task, run, step, attempt and deadline in its client context. A subscriber
// or consumer finds them in the attributes of its message. For rules, an event has the source
// stepkeeper.AGENT and the operation's name as detail-type.
//
// The key is the name of an execution, so that a repeated call finds it. A running execution is polled like a
// service that returns "not yet" (P45, "not now" is not a failure): the handling that starts it returns its
// request to the queue, and a later handling reports the result. An undo waits in the same way until the
// execution of its step's do has ended. FIFO queues and topics get the key as the deduplication ID, and the
// order as the group.
package awsagent
