// Package lambdaevent connects Lambda and the actors. It turns the records of an SQS event into deliveries of
// the port, and the deliveries that an actor returns into a partial batch response.
//
// It guarantees that the response's list is never nil (a nil list has made pollers fail the whole batch),
// that a bad record never fails the others, and that the handler's context ends Reserve before Lambda ends
// the process, so that unfinished messages can still be returned to the queue. (Rules 2 and 3 of
// docs/reference/aws-rules.md.)
package lambdaevent
