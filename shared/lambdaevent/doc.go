// Package lambdaevent connects Lambda with the actors. It converts the records of an SQS event into
// deliveries for an actor. It converts the failed deliveries into a partial batch response.
//
// The package guarantees three properties. They follow rules 2 and 3 of docs/reference/aws-rules.md:
//
//   - The list in the response is never nil, because Lambda may read nil as a failure of the whole batch.
//   - A bad record does not affect the other records.
//   - The context of the handler ends Reserve before Lambda ends the process. The function can then still
//     return unfinished messages to the queue.
package lambdaevent
