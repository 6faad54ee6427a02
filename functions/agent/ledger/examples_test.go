package ledger_test

import (
	"context"

	"github.com/stepkeeper/stepkeeper/functions/agent"
	"github.com/stepkeeper/stepkeeper/functions/agent/ledger"
)

// The agent of a plain service keeps its ledger in a folder that survives the process. Serve blocks until its
// context ends, so this example is compiled and not run.
func ExampleInFolder() {
	charge := func(context.Context, agent.Call) (any, error) { return nil, nil }
	operations := agent.Operations{"charge": {Run: charge}}
	keep := ledger.InFolder("/var/lib/payment")
	if err := agent.Serve(context.Background(), "payment", operations, keep); err != nil {
		panic(err)
	}
}
