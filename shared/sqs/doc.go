// Package sqs is port.Queue and port.Queues on Amazon SQS, or on anything that speaks its JSON protocol, as
// `stepkeeper dev` does.
//
// Authority: it decides what a message is in SQS: its group (fair queues, rule 4), the queue beside it for
// high priority (P46, priority changes the order of requests only), and characters that SQS does not allow,
// written as JSON escapes. It never chooses a queue: names and addresses come from the deployment.
//
// States: none are kept but the addresses, and the replies that a Gatherer holds for some milliseconds to
// send them together. Standard queues: at least once, in any order; times are whole seconds, rounded up.
//
// Failures: port.ErrReceipt, the delivery is no longer this receiver's; port.ErrTooLarge, the message is
// refused for good; port.ErrNotFound, there is no such queue; anything else is port.ErrUnavailable: a message
// that was sent may be in the queue, and may be sent again. In a batch each message has its own error.
package sqs
