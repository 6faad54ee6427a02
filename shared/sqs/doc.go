// Package sqs is port.Queue and port.Queues on Amazon SQS, or on anything that speaks its JSON
// protocol, as `stepkeeper dev` does. Standard queues: at least once, in any order. Times are whole
// seconds, rounded up.
package sqs
