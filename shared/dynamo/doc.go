// Package dynamo is port.Store, port.Definitions, port.Leases and port.Ledger on Amazon DynamoDB;
// docs/reference/aws-stack.md describes the tables.
//
// Authority: it alone reads and writes the tables Orders and Definitions and an agent's ledger, by GetItem,
// PutItem and Query, and by UpdateItem if orders expire (rule 21 of docs/reference/aws-rules.md). An order,
// with all of its steps, is one item, because one conditional write then moves all of them together. There
// are no transactions.
//
// States: an item of Orders is an order, the content of one that is kept apart ("ORDER#HASH"), the tombstone
// of one that was at rest ("ORDER#ended", see expiry.go), or a lease, incident or schedule ("#lease/NAME").
// The sparse index complete-by holds keys only, in due#SHARD, attention#SHARD or finished#DAY#SHARD; it may
// be stale in every direction, and the task is loaded before it is trusted (rule 11).
//
// Failures: each write states its condition and has a token in the attribute Writer. A refused write is
// answered with the item as it is (rule 8): where the token is its own, an earlier try was stored and its
// answer lost, and it counts as stored (rules 9 and 23); else port.ErrConflict. A write without an answer is
// in doubt: the caller loads the task.
package dynamo
