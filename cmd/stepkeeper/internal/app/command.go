package app

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
)

// Text is the help of a command. It also says which arguments the command takes.
type Text struct {
	Use, Group, Short, Examples, Long string

	Args        Args
	Offer       Offer
	Reach       Reach
	Environment map[string]string // environment variables that the command reads, beside those of every command
}

// Args says how many arguments a command takes. The zero value means none.
type Args struct {
	Least, Most int
	Any         bool   // true if the number of arguments has no upper limit
	What        string // names of the arguments for error texts
}

// Offer describes the completions that a shell offers for an argument or a flag's value. The zero value means
// that the shell offers files.
type Offer struct {
	Complete string   // "orders", "steps", "workflows", "none", or ""
	Files    []string // file extensions; "/" means folders
	Suggest  []string
}

// The offers that several commands make.
var (
	Orders    = Offer{Complete: "orders"}
	Steps     = Offer{Complete: "steps"}
	Workflows = Offer{Complete: "workflows"}
	Nothing   = Offer{Complete: "none"}
	Folders   = Offer{Files: []string{"/"}}
)

// Files returns the offer of files with one of the extensions.
func Files(extensions ...string) Offer { return Offer{Files: extensions} }

// Command returns a command. The current values of the flags' variables become the defaults of the flags.
func (a *App) Command(text Text, flags []Flag, run func(*cobra.Command, []string) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: text.Use, GroupID: text.Group, Short: text.Short, Example: text.Examples,
		Long: text.Long, RunE: run, ValidArgsFunction: a.complete(text.Offer, text.Args.Most),
	}
	cmd.Args = func(cmd *cobra.Command, given []string) error {
		if want := text.Args; len(given) < want.Least || len(given) > want.Most && !want.Any {
			return failure.New(failure.Usage, fmt.Sprintf("write `%s`; see `%s --help`", cmd.UseLine(),
				cmd.CommandPath()), "%s needs %s", cmd.CommandPath(),
				cmp.Or(want.What, "no arguments, only flags"))
		}
		return nil
	}
	byName := map[string]Flag{}
	for _, f := range append(flags, a.reachFlags(text.Reach)...) {
		a.addFlag(cmd, cmd.Flags(), f)
		byName[f.Name] = f
	}
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) (err error) {
		cmd.Flags().Visit(func(f *pflag.Flag) {
			if about, own := byName[f.Name]; own && err == nil {
				err = about.check(f)
			}
		})
		return err
	}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) { help(cmd, text.Reach, text.Environment) })
	return cmd
}

// Group returns a command that only has subcommands. Without arguments the command prints a help text.
func (a *App) Group(text Text, commands ...*cobra.Command) *cobra.Command {
	cmd := a.Command(text, nil, runGroup)
	cmd.Args = cobra.ArbitraryArgs
	cmd.ValidArgsFunction = nil
	cmd.AddCommand(commands...)
	return cmd
}

// runGroup runs a command that only has subcommands. Without arguments it prints a help text. Any argument is
// a mistake, because cobra would have found a subcommand of that name.
func runGroup(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0 && !cmd.HasParent():
		_, err := fmt.Fprintln(cmd.OutOrStdout(), beginnerText)
		return err
	case len(args) == 0:
		return cmd.Help()
	}
	do := fmt.Sprintf("see `%s --help`", cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = 2
	if s := cmd.SuggestionsFor(args[0]); len(s) > 0 {
		do = fmt.Sprintf("did you mean `%s %s`?", cmd.CommandPath(), s[0])
	}
	if cmd.HasParent() {
		var names []string
		for _, c := range cmd.Commands() {
			names = append(names, c.Name())
		}
		do += "\nits commands: " + strings.Join(names, ", ")
	}
	return failure.New(failure.Usage, do, "%s has no command %q", cmd.CommandPath(), args[0])
}

// Reach says what a command talks to. It decides which flags and environment variables select the server or the
// stack. The zero value means that the command talks to neither.
type Reach struct {
	Server, Stack bool
	Timeout       string // text of the flag --timeout; "" means that the command has no such flag
}

// Most commands for orders reach a server or a stack.
var (
	ServerOrStack = Reach{Server: true, Stack: true, Timeout: "how long to wait for an answer (default 30s)"}
	Untimed       = Reach{Server: true, Stack: true, Timeout: "how long the command may take (default: no limit)"}
)

func (a *App) reachFlags(r Reach) (flags []Flag) {
	if r.Server {
		flags = append(flags, Target.Flag("server", &a.server, "`URL` of the server (default "+DefaultServer+")"))
	}
	if r.Stack {
		text := "CloudFormation stack (`NAME`), with your AWS credentials"
		if r.Server {
			text = "CloudFormation stack (`NAME`) to use instead of a server, with your AWS credentials"
		}
		flags = append(flags, Target.Flag("stack", &a.Stack, text), Target.Flag("region", &a.region,
			"AWS `region` of the stack (default: that of your environment or profile)"))
	}
	if r.Timeout != "" {
		flags = append(flags, Target.Flag("timeout", &a.Timeout, r.Timeout).Within("1ms", ""))
	}
	return flags
}

// environment returns the environment variables that the command reads, with a text for each.
func (r Reach) environment() map[string]string {
	all := map[string]string{"NO_COLOR": "turns colours off"}
	if r.Server {
		all[ServerVariable] = "address of the server; --server wins"
	}
	if r.Stack {
		all["AWS_REGION, AWS_PROFILE"] = "Region and credentials for --stack"
	}
	return all
}
