// Package agent is what the author of an agent imports. An agent wraps one remote service: it takes
// requests from its queue, calls the service, and answers.
//
//	err := agent.Serve(ctx, "payment", agent.Operations{
//		"charge": agent.Typed(charge),
//		"refund": agent.Typed(refund),
//	})
//
// The package reads the requests, keeps the deadline, retries, opens a circuit breaker, falls silent
// when it is too late, and keeps a ledger for services that know no idempotency keys. What an
// operation has to do:
//   - hand Call.Key to the service, so that it acts once however often it is asked;
//   - begin no side effect after its context has ended;
//   - as an undo, succeed where nothing was done: it names the key of the do that it reverses;
//   - say what an error means: Permanent, RetryAfter, NoEffect. Any other is tried again.
//
// On Lambda (AWS_LAMBDA_RUNTIME_API is set) the messages come with the invocation; everywhere else
// they are polled from SQS, or from `stepkeeper dev`, by these variables:
//
//	STEPKEEPER_ENDPOINT        the endpoint, as in http://127.0.0.1:8377; else AWS_ENDPOINT_URL_SQS
//	                           or AWS_ENDPOINT_URL; else AWS
//	STEPKEEPER_QUEUE_PREFIX    put before the names requests-<agent>, replies and quarantine
//	STEPKEEPER_REPLIES_URL     the addresses of the two queues, where a deployment knows them
//	STEPKEEPER_QUARANTINE_URL
//	STEPKEEPER_LEDGER          folder of the ledger for plain services (not on Lambda)
package agent
