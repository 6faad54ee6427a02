// Package cli is the tree of commands, and those for orders and operators. Each command is an options struct,
// a constructor that parses into it, and a run function that does the work. Packages author and local have
// the rest.
package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/author"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/local"
)

// Root returns the tree of commands.
func Root(a *app.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "stepkeeper",
		Short: "Carry multi-step work to done, or to undone",
		Long: "Stepkeeper carries multi-step work (an order, a booking, a provisioning request) to one of " +
			"two\n" +
			"ends: every step done, or everything that was done undone.\n\n" +
			"Begin with `stepkeeper demo`; then `stepkeeper init` writes a small project, which " +
			"`stepkeeper dev` runs.",
		Args:          cobra.ArbitraryArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          app.Group,
	}
	version := app.ReadVersion()
	root.Version = version.Version
	root.SetVersionTemplate(version.String())
	a.AddFlags(root)
	root.AddGroup(&cobra.Group{ID: "run", Title: "Run it:"}, &cobra.Group{ID: "orders", Title: "Orders:"},
		&cobra.Group{ID: "operator", Title: "For the operator:"},
		&cobra.Group{ID: "author", Title: "For authors:"})
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("run", author.NewInit(a), local.NewDev(a), local.NewDemo(a))
	add("orders", newSubmit(a), newShow(a), newList(a), newWatch(a), newAnswer(a), newSchedules(a))
	add("operator", local.NewConsole(a), newResubmit(a), newUndo(a), newCancel(a), newResolve(a), newMove(a),
		newClose(a), newErase(a), newBulk(a), newDeadLetters(a), local.NewBackup(a), local.NewTokenKey(a),
		newDoctor(a),
		newSmoke(a), author.NewCost(a))
	add("author", author.NewWorkflow(a), author.NewAgent(a), author.NewSimulate(a))
	root.AddCommand(app.NewVersion(a), exitCodesTopic())
	return root
}

// exitCodesTopic is a text for `stepkeeper help exit-codes`; it does nothing.
func exitCodesTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString("Exit codes, promised to scripts:\n\n")
	for _, m := range failure.Meanings() {
		fmt.Fprintf(&b, "  %d  %s\n", m.Code, m.Meaning)
	}
	b.WriteString("\nWith --output json an error is one JSON document on standard error:\n" +
		`  {"error":{"exit":4,"code":"not-found","message":"…","hint":"…"}}` + "\n")
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: b.String()}
}
