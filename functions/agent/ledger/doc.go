// Package ledger keeps the ledger of an agent on the disk of the agent's machine. An agent of a plain
// service needs a ledger (P31, a plain service needs a ledger). On Lambda the ledger is a table. In a
// process it is an SQLite file:
//
//	err := agent.Serve(ctx, "payment", operations, ledger.InFolder(""))
//
// The package is separate so that agents without a ledger file do not depend on SQLite.
package ledger
