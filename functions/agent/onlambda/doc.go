// Package onlambda runs an agent on Lambda: requests come as SQS events and are worked on at the
// same time, replies go to their queue, and what cannot be answered comes again. A business failure
// is a reply, never a failure of the batch (rule 2 of docs/reference/aws-rules.md).
package onlambda
