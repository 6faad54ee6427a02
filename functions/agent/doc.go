// Package agent is for authors of agents. An agent wraps one remote service: it takes requests from its
// queue, calls the service, and sends replies.
//
//	err := agent.Serve(ctx, "payment", agent.Operations{
//		"charge": agent.Typed(charge),
//		"refund": agent.Typed(refund),
//	})
//
// The package reads the requests, enforces deadlines, retries calls and has a circuit breaker. It sends no
// reply after the deadline. It keeps a ledger for services that do not recognise idempotency keys.
//
// An operation has these duties:
//   - pass Call.Key to the service, so that repeated calls take effect once;
//   - begin no side effect after the context of the call has ended;
//   - as an undo, succeed even if nothing was done; the Call.Key of an undo is the key of its do;
//   - classify errors with Permanent, RetryAfter and NoEffect. Only a permanent error is not tried again.
//
// Package agenttest tests which grade the operations and their service earn together.
//
// The same program runs on Lambda and as a process elsewhere, for example beside `stepkeeper dev`. The
// program is on Lambda if AWS_LAMBDA_RUNTIME_API is set. On Lambda the messages come with the invocation, and
// the deployment sets the variables STEPKEEPER_AGENT, STEPKEEPER_QUEUES and STEPKEEPER_LEDGER.
//
// Elsewhere the process polls its queues, and these variables configure the process:
//
//	AWS_ENDPOINT_URL_SQS       endpoint of SQS, such as http://127.0.0.1:8377; default AWS. Every SDK
//	                           of AWS reads this variable.
//	STEPKEEPER_REQUESTS_URL    the addresses of the three queues, from the outputs of a deployed
//	STEPKEEPER_REPLIES_URL     stack, whose queues have names that cannot be guessed
//	STEPKEEPER_QUARANTINE_URL
//	STEPKEEPER_QUEUE_PREFIX    if no addresses are set: prefix of the names requests-<agent>, replies
//	                           and quarantine, by which the agent finds the queues
//	STEPKEEPER_LEDGER          table of the ledger for plain services, by name or ARN
//	STEPKEEPER_LEDGER_FOLDER   instead of a table: folder of the ledger on this machine; the program
//	                           needs the option ledger.InFolder of package ledger
//
// The build tag lambda.norpc leaves out code that Lambda does not need: the poller and the search for
// credentials. The tag comes from AWS's package aws-lambda-go, and the CDK construct sets it. A program that
// was built without the tag works on Lambda too, but is twice as large.
package agent
