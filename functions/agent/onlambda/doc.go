// Package onlambda runs an agent on Lambda. Requests come as SQS events, and the agent handles the requests
// of an event concurrently. Replies go to the queue of replies. If a reply cannot be sent, the request
// returns to its queue. A business failure is a reply, never a failure of the batch (rule 2 of
// docs/reference/aws-rules.md).
package onlambda
