//go:build !lambda.norpc

package ledger

import (
	"context"

	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/functions/agent"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// InFolder keeps the ledger of an agent process in an SQLite file in the folder. If folder is empty, the
// agent uses the folder in STEPKEEPER_LEDGER_FOLDER. If this variable is empty too, the agent has no ledger.
// The folder must survive the process, and only one process may use the folder at a time. If
// STEPKEEPER_LEDGER names a table, the agent uses the table instead of the folder.
func InFolder(folder string) agent.Option {
	return agent.WithLedgerFolder(folder, open)
}

func open(ctx context.Context, folder string) (l port.Ledger, closeIt func() error, err error) {
	store, err := sqlite.Open(ctx, folder, sqlite.Options{})
	if err != nil {
		return nil, nil, err
	}
	return store, store.Close, nil
}
