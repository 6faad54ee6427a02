// Package dynamo implements port.Store, port.Definitions, port.Leases and port.Ledger on Amazon DynamoDB.
// docs/reference/aws-stack.md describes the tables.
//
// Authority: only this package reads and writes the tables Orders and Definitions and an agent's ledger. It
// uses GetItem, PutItem and Query, and UpdateItem if orders expire (rule 21 of docs/reference/aws-rules.md).
// An order, with all of its steps, is one item, so that one conditional write changes all steps together.
// There are no transactions.
//
// States: an item of Orders is an order, an order's content that is stored apart ("ORDER#HASH"), the
// tombstone of an order that was at rest ("ORDER#ended", see expiry.go), or a lease, incident or schedule
// ("#lease/NAME"). The sparse index complete-by holds keys only, in due#SHARD, attention#SHARD or
// finished#DAY#SHARD. An entry may be missing, outdated or superfluous, so callers load the task first (rule
// 11).
//
// Failures: each write states its condition and has a token in the attribute Writer. The response to a
// refused write contains the stored item (rule 8). If that item has the write's own token, an earlier try was
// stored and its response was lost, so the write has succeeded (rules 9 and 23). Otherwise the write returns
// port.ErrConflict. A write without a response is in doubt: the caller loads the task.
package dynamo
