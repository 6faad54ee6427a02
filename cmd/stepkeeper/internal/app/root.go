package app

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

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
	global := root.PersistentFlags()
	a.addFlag(root, global, EveryCommand.Flag("output", &a.output,
		"`format` of the output: text, or json (JSON Lines for lists)").
		Offers(Offer{Suggest: []string{outputText, outputJSON}}))
	a.addFlag(root, global, EveryCommand.Flag("no-color", &a.noColour,
		"print no colours; only a terminal gets them"))
	root.AddGroup(groups...)
	root.SilenceUsage = true
	root.SilenceErrors = true
	version := false
	a.addFlag(root, root.Flags(), OutputFlags.Flag("version", &version,
		"print the version, the commit and the Go release"))
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

// Version is the JSON output of `stepkeeper --version`.
type Version struct {
	Version  string `json:"version"` // version of the Go module; "(devel)" if built from a working copy
	Commit   string `json:"commit,omitempty"`
	Time     string `json:"time,omitempty"` // time of the commit
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// ReadVersion reads the build information of the binary.
func ReadVersion() Version {
	v := Version{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// String returns the text that `stepkeeper --version` prints.
func (v Version) String() string {
	text := "stepkeeper " + v.Version + "\n"
	if v.Commit != "" {
		modified := ""
		if v.Modified {
			modified = ", modified"
		}
		text += fmt.Sprintf("commit %s (%s%s)\n", v.Commit, v.Time, modified)
	}
	return text + v.Go + " " + v.Platform + "\n"
}
