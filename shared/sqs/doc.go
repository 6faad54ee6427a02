// Package sqs implements port.Queue and port.Queues on Amazon SQS. It also works with servers that implement
// the SQS JSON protocol, such as `stepkeeper dev`.
//
// Authority: this package decides the form of a message in SQS:
//   - the message group, which makes the queue a fair queue (rule 4 in docs/reference/aws-rules.md)
//   - whether the message goes to the queue of high priority (P46, priority changes the order of requests
//     only)
//
// The deployment chooses the names and addresses of the queues.
//
// States: the package stores the addresses of the queues. SQS standard queues deliver each message at least
// once, in any order. All times are whole seconds, rounded up.
//
// Failures: each message of a batch has its own error. The errors mean:
//   - port.ErrReceipt: the delivery no longer belongs to this receiver
//   - port.ErrTooLarge: SQS will never accept the message
//   - port.ErrNotFound: the queue does not exist
//   - port.ErrUnavailable: the message may be in the queue, and the sender may send it again
//   - any other error: SQS has refused the request, for example because a permission is missing
package sqs
