//go:build !lambda.norpc

package ledger

import (
	"context"

	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/functions/agent"
)

// InFolder keeps the ledger of an agent process in an SQLite file in that folder. The empty string stands
// for the folder that STEPKEEPER_LEDGER_FOLDER names; without the variable there is no ledger. The folder
// must survive the process, and one process may use it at a time. If STEPKEEPER_LEDGER names a table, as it
// does on Lambda, the agent uses the table instead, because a function's folders do not last.
func InFolder(folder string) agent.Option {
	return agent.WithLedgerFolder(folder, func(ctx context.Context, folder string) (agent.LedgerFile, error) {
		return sqlite.Open(ctx, folder, sqlite.Options{})
	})
}
