// Package lambdaevent is between Lambda and the actors: it turns the records of an SQS event into
// deliveries of the port, and what an actor returns to the queue into the answer of a partial batch.
//
// What it promises: the answer's list is never nil (a nil one has made pollers fail the whole
// batch), one bad record never fails the others, and the handler's context ends Reserve before
// Lambda ends the process, so that unfinished messages can still be returned to the queue. (Rules 2 and 3 of
// docs/reference/aws-rules.md.)
package lambdaevent
