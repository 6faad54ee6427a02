// Package dynamo is port.Store, port.Definitions, port.Leases and port.Ledger on Amazon DynamoDB.
//
// Three tables, and a small one for each agent of a plain service:
//
//   - Orders, by OrderID: the order as it was received. It never expires (P26).
//   - Tasks, by OrderID: one item for each task, the leases as items "#lease/<name>", the
//     open incidents as "#incidents", and schedules as "#schedule/<workflow>". The item
//     shows a person what the pattern names, as attributes of DynamoDB's own: OrderID,
//     ProcessState, LockedBy, CompleteBy, FailureCount, Version, and the middle four for each step in the
//     map Steps. One item for all steps, because one conditional write then moves "step 2 is done,
//     step 3 is claimed" together.
//   - Definitions, by Hash.
//   - a ledger, by Key (P31).
//
// Tasks has one sparse index, complete-by, that holds keys only. Its partition key, bucket, is
// due#<shard>, attention#<shard> or, only if asked for, finished#<day>#<shard>; its sort key, dueAt,
// is the time. A task at rest is in no bucket. The index is a hint: it may be stale in
// every direction, and it is never trusted without loading the task (rule 11 of docs/aws-rules.md, as
// all rules that the comments here cite).
//
// Every write states its condition, and carries a token of its own in the attribute Writer. A write
// that is refused is answered with the item that stands there (rule 8); if the token is its own, an
// earlier try of it has landed and its answer was lost, and it counts as stored (rules 9 and 23).
// The only operations used are GetItem, PutItem, TransactWriteItems and Query: never Scan,
// DeleteItem or BatchWriteItem (rules 10 and 21).
package dynamo
