// Package dynamo implements port.Store, port.Definitions, port.Leases and port.Ledger on Amazon DynamoDB.
// docs/reference/aws-stack.md describes the tables.
//
// Authority: only this package accesses the table Orders, the table Definitions, and the ledgers of agents.
// The package uses the operations GetItem, PutItem and Query. If orders expire, the package also uses
// UpdateItem (rule 21 of docs/reference/aws-rules.md). One item contains an order with all of its steps, so
// that one conditional write changes all steps together. The package does not use transactions.
//
// States: the table Orders contains the following items.
//
//   - An order.
//   - The content of an order, if the content is stored separately. The key is "ORDER#HASH".
//   - The tombstone of an order that was at rest. The key is "ORDER#ended". See expiry.go.
//   - A lease, the incidents or a schedule. The key is "#lease/NAME", "#incidents" or "#schedule/NAME".
//
// The sparse index complete-by contains keys only. Its partitions are due#SHARD, attention#SHARD and
// finished#DAY#SHARD. The index may be stale: an entry may be outdated, or missing for a short time. Callers
// therefore load the task before they act on an entry (rule 11).
//
// Failures: each write of an order or of a ledger entry has a condition, and stores a token in the attribute
// Writer. The response to a refused write contains the stored item (rule 8). If this item has the token of
// the refused write, an earlier try of the write has succeeded, and its response was lost. The write then
// counts as stored (rules 9 and 23). Otherwise the write returns an error, usually port.ErrConflict. If a
// write gets no response, the caller loads the task to find out whether the write was stored.
package dynamo
