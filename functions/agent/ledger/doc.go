// Package ledger keeps the ledger of an agent on the disk of its machine. An agent of a plain service, which
// runs as a process and not on Lambda, needs one (P31, a plain service needs a ledger):
//
//	err := agent.Serve(ctx, "payment", operations, ledger.InFolder(""))
//
// It is a separate package so that other agents do not depend on SQLite.
package ledger
