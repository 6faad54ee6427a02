package local

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/demo/runner"
	"github.com/stepkeeper/stepkeeper/examples"
)

var demoText = app.Text{
	Use:   "demo",
	Group: "run",
	Short: "Run 1,000 orders through failing services and a crash, and audit the result",
	Examples: `  stepkeeper demo
  stepkeeper demo --seed 7 --report report.json`,
	Long: `The demo starts four services that misbehave, and Stepkeeper as a process of its own. It submits orders, kills
Stepkeeper in the middle, and starts it again. Then it reads the services' ledgers: every processed order must
have each effect exactly once, and every undone order none. The exit code is 0 only if that holds.
The same seed misbehaves in the same way.`,
}

// NewDemo returns the command `demo`.
func NewDemo(a *app.App) *cobra.Command {
	o := runner.Defaults()
	keep := false
	return a.Command(demoText, []app.Flag{
		app.RunFlags.Flag("seed", &o.Seed, "`number` that decides the misbehaviour and the moment of the crash"),
		app.FileFlags.Flag("keep-files", &keep, "keep the services' ledgers, the data and the log"),
		app.FileFlags.Flag("report", &o.Report, "`file` for the figures, JSON").Offers(app.Files("json")),
	},
		func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), a, o, keep) })
}

func runDemo(ctx context.Context, a *app.App, o runner.Options, keep bool) error {
	var err error
	o.Binary, err = os.Executable() // The demo starts it as a second process.
	if err == nil && keep {
		o.Dir, err = os.MkdirTemp("", "stepkeeper-demo-")
	}
	if err != nil {
		return failure.Wrap(err, failure.General, "", "the demo cannot begin")
	}
	o.Workflow = shippedWorkflow()
	o.Out = a.Streams.Out
	o.Terminal = a.Streams.IsTerminal()
	if a.JSON() { // Only the report goes to the output.
		o.Out = a.Streams.Err
		o.Terminal = a.Streams.ErrIsTerminal()
	}
	report, err := a.Demo(ctx, o)
	if o.Dir != "" {
		fmt.Fprintf(o.Out, "kept in %s\n", o.Dir)
	}
	if a.JSON() && (err == nil || errors.Is(err, runner.ErrNotProven)) {
		a.PrintJSON(report)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return failure.New(failure.General, "", "the demo was interrupted")
	}
	return failure.Wrap(err, failure.General, fmt.Sprintf("run it again with the same faults: stepkeeper "+
		"demo --keep-files --seed %d", o.Seed), "the demo failed")
}

// shippedWorkflow returns the text of the built-in workflow. The services of the demo belong to this workflow.
func shippedWorkflow() []byte {
	text, err := examples.Files.ReadFile(exampleOrder + "/order.yaml")
	if err != nil { // The file is part of the program.
		panic(err)
	}
	return text
}
