//go:build lambda.norpc

package ledger

import "github.com/stepkeeper/stepkeeper/functions/agent"

// InFolder has no effect in a program that was built for Lambda, because the ledger of an agent on Lambda is
// a table.
func InFolder(folder string) agent.Option { return agent.WithLedgerFolder(folder, nil) }
