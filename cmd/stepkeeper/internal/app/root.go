package app

import "github.com/spf13/cobra"

var rootText = Text{
	Use:   "stepkeeper",
	Short: "Run multi-step work to one of two outcomes",
	Long: `Stepkeeper runs multi-step work (an order, a booking, a provisioning request) to one of two outcomes:
every step succeeds, or every completed step is undone.`,
}

// beginnerText is what `stepkeeper` prints without arguments.
const beginnerText = `Stepkeeper runs multi-step work to one of two outcomes: every step succeeds, or every completed step is undone.

Begin with these commands:

  stepkeeper demo          See it recover from a crash and failing services
  stepkeeper init shop     Write a small project
  stepkeeper dev           Run the project of this folder
  stepkeeper submit FILE   Submit orders
  stepkeeper show ID       Show an order and what to do next

` + "`stepkeeper help` lists all commands, `stepkeeper COMMAND --help` explains one."

// groups lists the groups of commands in the sequence of the program's help.
var groups = []*cobra.Group{
	{ID: "run", Title: "Start:"},
	{ID: "orders", Title: "Orders:"},
	{ID: "operator", Title: "Operate:"},
	{ID: "author", Title: "Develop:"},
}

// Root returns the root command with the global flags and the given subcommands.
func (a *App) Root(commands ...*cobra.Command) *cobra.Command {
	root := a.Group(rootText, commands...)
	for _, f := range a.globalFlags() {
		a.addFlag(root, root.PersistentFlags(), f)
	}
	root.AddGroup(groups...)
	root.SilenceUsage = true
	root.SilenceErrors = true
	version := false
	a.addFlag(root, root.Flags(), Flag{
		In: OutputFlags, Name: "version", To: &version, Text: "print the version, the commit and the Go release",
	})
	root.RunE = func(cmd *cobra.Command, given []string) error {
		if version {
			v := ReadVersion()
			a.Print(v, "%s", v)
			return nil
		}
		return runGroup(cmd, given)
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(a.completion())
	return root
}

func (a *App) globalFlags() []Flag {
	return []Flag{
		{
			In: EveryCommand, Name: "output", To: &a.output, Offer: Offer{Suggest: []string{outputText, outputJSON}},
			Text: "`format` of the output: text, or json (JSON Lines for lists)",
		},
		{In: EveryCommand, Name: "no-color", To: &a.noColour, Text: "print no colours; only a terminal gets them"},
	}
}
