// Package onlambda runs an agent on Lambda. Requests come as SQS events and are handled concurrently. Replies
// go to their queue, and a request without a reply comes again. A business failure is a reply, never a
// failure of the batch (rule 2 of docs/reference/aws-rules.md).
package onlambda
