// Package sqs implements port.Queue and port.Queues on Amazon SQS, or on any server of its JSON protocol,
// such as `stepkeeper dev`.
//
// Authority: it decides the form of a message in SQS: its group (fair queues, rule 4), whether it goes to the
// second queue for high priority (P46, priority changes the order of requests only), and JSON escapes for
// characters that SQS does not allow. It never chooses a queue: names and addresses come from the deployment.
//
// States: it keeps only the addresses, and the replies that a Gatherer holds for some milliseconds to send
// them together. Standard queues: at least once, in any order; times are whole seconds, rounded up.
//
// Failures: port.ErrReceipt means that the delivery no longer belongs to this receiver; port.ErrTooLarge,
// that SQS will never accept the message; port.ErrNotFound, that the queue does not exist. Any other error is
// port.ErrUnavailable: the message may be in the queue, and may be sent again. Each message of a batch has
// its own error.
package sqs
