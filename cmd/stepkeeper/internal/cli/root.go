package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
)

// Execute runs the command that args name and returns the exit code. Errors go to standard error,
// with what to do; a usage text appears only where it was asked for.
func (a *App) Execute(ctx context.Context, args []string) failure.Code {
	out := &output{w: a.Streams.Out}
	a.Streams.Out = out
	root := a.Root()
	root.SetArgs(args)
	started := false
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		started = true
		return a.setUp(cmd)
	}
	cmd, err := root.ExecuteContextC(ctx)
	if out.err != nil && cmd.Annotations[serves] == "" {
		err = a.unwritten(out.err, err)
	}
	if err == nil {
		return failure.OK
	}
	if !started && wantsJSON(args) {
		a.output = outputJSON // flags after a wrong one are not parsed
	}
	reported := asFailure(ctx, err, started, cmd)
	a.printError(a.Streams.Err, reported)
	return reported.Code
}

// output remembers the first write that failed. Commands that print text do not check each write.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// serves annotates commands whose output is only the line that says that they are ready: they serve on
// without a reader.
const serves = "serves"

// unwritten is the error of a command whose output was not written, and that failed with err or not.
func (a *App) unwritten(cause, err error) error {
	var f *failure.Error
	if errors.As(err, &f) && !f.Quiet && !errors.Is(err, cause) {
		a.printError(a.Streams.Err, f)
	}
	return written(cause)
}

// wantsJSON reports whether the arguments ask for JSON.
func wantsJSON(args []string) bool {
	for i, arg := range args {
		switch {
		case arg == "--":
			return false
		case arg == "--output="+outputJSON, arg == "--output" && i+1 < len(args) && args[i+1] == outputJSON:
			return true
		}
	}
	return false
}

// asFailure gives every error its exit code and its advice. What fails before a command has
// started is the caller's: flags and arguments.
func asFailure(ctx context.Context, err error, started bool, cmd *cobra.Command) *failure.Error {
	var f *failure.Error
	switch {
	case errors.As(err, &f):
		return f
	case !started:
		what, rest, _ := strings.Cut(err.Error(), "\n")
		do := fmt.Sprintf("see `%s --help`", cmd.CommandPath())
		if rest = strings.TrimSpace(rest); rest != "" { // cobra's suggestions
			do = strings.Join(strings.Fields(rest), " ") + "\n" + do
		}
		return failure.New(failure.Usage, do, "%s", what)
	case ctx.Err() != nil:
		return failure.New(failure.General, "", "interrupted")
	}
	return failure.Wrap(err, failure.General, "", "%s failed", cmd.CommandPath())
}

// Root builds the tree of commands.
func (a *App) Root() *cobra.Command {
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
		RunE:          group,
	}
	version := ReadVersion()
	root.Version = version.Version
	root.SetVersionTemplate(version.String())
	root.SetIn(a.Streams.In)
	root.SetOut(a.Streams.Out)
	root.SetErr(a.Streams.Err)
	flags := root.PersistentFlags()
	flags.StringVar(&a.server, "server", "", "`URL` of the server (environment: "+ServerVariable+"; default "+
		DefaultServer+")")
	flags.StringVar(&a.stack, "stack", "",
		"`NAME` of a CloudFormation stack that Stepkeeper is deployed in, instead of a server; uses your "+
			"AWS credentials")
	flags.StringVar(&a.region, "region", "",
		"AWS `region` of the stack (default: that of your environment or profile)")
	flags.StringVar(&a.output, "output", outputText,
		"`format` of the output: text, or json (JSON Lines where there are many)")
	flags.BoolVar(&a.noColour, "no-color", false,
		"no colours (environment: NO_COLOR); there are none anyway unless the output is a terminal")
	flags.DurationVar(&a.timeout, "timeout", 0, "how long to wait for an answer (default "+
		defaultTimeout.String()+"; submit and watch: no limit)")
	_ = root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{outputText, outputJSON},
		cobra.ShellCompDirectiveNoFileComp))

	root.AddGroup(&cobra.Group{ID: "run", Title: "Run it:"}, &cobra.Group{ID: "orders", Title: "Orders:"},
		&cobra.Group{ID: "operator", Title: "For the operator:"},
		&cobra.Group{ID: "author", Title: "For authors:"})
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("run", newInit(a), newDev(a), newDemo(a))
	add("orders", newSubmit(a), newShow(a), newList(a), newWatch(a), newAnswer(a), newSchedules(a))
	add("operator", newConsole(a), newResubmit(a), newUndo(a), newCancel(a), newResolve(a), newMove(a),
		newClose(a), newErase(a), newBulk(a), newDeadLetters(a), newBackup(a), newTokenKey(a), newDoctor(a),
		newSmoke(a), newCost(a))
	add("author", newWorkflow(a), newAgent(a), newSimulate(a))
	root.AddCommand(newVersion(a), exitCodesTopic())
	return root
}

// group is what a command does that only holds others: without arguments it explains itself.
func group(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	do := fmt.Sprintf("see `%s --help`", cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = 2
	if s := cmd.SuggestionsFor(args[0]); len(s) > 0 {
		do = fmt.Sprintf("did you mean `%s %s`?", cmd.CommandPath(), s[0])
	}
	return failure.New(failure.Usage, do, "%s has no command %q", cmd.CommandPath(), args[0])
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
