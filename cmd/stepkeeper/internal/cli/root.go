// Package cli implements the commands for orders and operators, and assembles all commands. Each command has
// an options struct, a constructor that parses flags into the struct, and a run function. The packages author
// and local implement the other commands.
package cli

import (
	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/author"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/local"
)

var exitCodesText = app.Text{
	Use:   "exit-codes",
	Short: "Explain the exit codes",
	Long: `Exit codes, promised to scripts:

  0  done
  1  failed; the message says why
  2  wrong flags or arguments, or input that cannot be read
  3  refused by the server; the message says why
  4  no such order, step or file
  5  the server cannot be reached
  6  an order ended otherwise than Processed (submit --wait, watch ID), or an invariant is broken (simulate)

With --output json an error is one JSON document on standard error:
  {"error":{"exit":4,"code":"not-found","message":"…","hint":"…"}}`,
}

// Root returns the root command with all commands.
func Root(a *app.App) *cobra.Command {
	return a.Root(author.NewInit(a), local.NewDev(a), local.NewDemo(a), newSubmit(a), newShow(a), newList(a),
		newWatch(a), newAnswer(a), newApprovals(a), newSchedules(a), local.NewConsole(a), newResubmit(a),
		newUndo(a), newCancel(a), newResolve(a), newMove(a), newClose(a), newErase(a), newContinue(a),
		newDeadLetters(a), local.NewBackup(a), newDoctor(a),
		author.NewWorkflow(a), author.NewAgent(a), author.NewAWS(a), author.NewSimulate(a),
		a.Command(exitCodesText, nil, nil))
}
