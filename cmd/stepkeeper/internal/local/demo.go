package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/demo/runner"
	"github.com/stepkeeper/stepkeeper/workflows"
)

type demoOptions struct {
	app       *app.App
	orders    string
	workflows string
	report    string
	seed      uint64
	keep      bool
}

// NewDemo returns the command demo.
func NewDemo(a *app.App) *cobra.Command {
	o := &demoOptions{app: a}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See it at work: 1,000 orders, failing services, a crash, and an audit",
		Long: "Start four remote services that misbehave, and Stepkeeper as a process of its own; feed it " +
			"orders, kill\n" +
			"it in the middle and start it again; then read the services' ledgers and prove that every " +
			"processed\n" +
			"order has each effect exactly once and every undone order none. The exit code is 0 only if " +
			"that holds.\n\n" +
			"The same seed misbehaves in the same way. --report writes the figures as JSON.",
		Example: "  stepkeeper demo\n  stepkeeper demo --orders my-orders.jsonl --seed 7 " +
			"--report report.json",
		Args: app.Args(cobra.NoArgs, "no arguments, only flags"),
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.orders, "orders", "",
		"`file` with orders, JSON Lines (default: the 1,000 that are built in)")
	f.StringVar(&o.workflows, "workflows", "",
		"`folder` of workflow files (default: the one that is built in)")
	f.Uint64Var(&o.seed, "seed", 1,
		"`number` that the misbehaviour and the moment of the crash are drawn from")
	f.StringVar(&o.report, "report", "", "`file` for the report, JSON")
	f.BoolVar(&o.keep, "keep", false, "keep the services' ledgers, the data and the log")
	_ = cmd.MarkFlagFilename("orders", "jsonl", "ndjson", "json")
	_ = cmd.MarkFlagFilename("report", "json")
	_ = cmd.MarkFlagDirname("workflows")
	return cmd
}

func runDemo(ctx context.Context, o *demoOptions) error {
	if o.orders != "" {
		if _, err := os.Stat(o.orders); err != nil {
			return failure.Wrap(err, failure.NotFound, "give --orders a file with one order on each line",
				"the orders cannot be read")
		}
	}
	binary, err := os.Executable()
	if err != nil {
		return failure.Wrap(err, failure.General, "",
			"the demo needs the path of this program, to start it as a process of its own")
	}
	shipped, remove, err := o.workflowFolder()
	if err != nil {
		return failure.Wrap(err, failure.General, "check the space and the permissions of "+os.TempDir(),
			"the workflows cannot be written")
	}
	defer remove()
	options := runner.Options{
		Orders: o.orders, Seed: o.seed, Report: o.report, Binary: binary, Workflows: shipped,
		Out: o.app.Streams.Out, Terminal: o.app.Streams.IsTerminal(),
	}
	if o.app.JSON() { // the report alone goes to the output
		options.Out, options.Terminal = o.app.Streams.Err, o.app.Streams.ErrIsTerminal()
	}
	if o.keep {
		if options.Dir, err = os.MkdirTemp("", "stepkeeper-demo-"); err != nil {
			return failure.Wrap(err, failure.General, "", "no folder for the demo")
		}
	}
	report, err := o.app.Demo(ctx, options)
	return o.conclude(ctx, options, report, err)
}

func (o *demoOptions) conclude(ctx context.Context, options runner.Options, report runner.Report,
	err error) error {
	if options.Dir != "" {
		fmt.Fprintf(options.Out, "kept in %s\n", options.Dir)
	}
	if o.app.JSON() && (err == nil || errors.Is(err, runner.ErrNotProven)) {
		if err := o.app.PrintJSON(report); err != nil {
			return err
		}
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return failure.New(failure.General, "", "the demo was interrupted")
	}
	return failure.Wrap(err, failure.General,
		fmt.Sprintf("run it again with the same faults: stepkeeper demo --keep --seed %d", o.seed),
		"the demo failed")
}

// shippedWorkflow is the one that the demo's services have agents for.
const shippedWorkflow = "order.yaml"

// workflowFolder returns the folder of the workflows. Without --workflows it writes the built-in workflow.
func (o *demoOptions) workflowFolder() (dir string, remove func(), err error) {
	if o.workflows != "" {
		return o.workflows, func() {}, nil
	}
	dir, err = os.MkdirTemp("", "stepkeeper-workflows-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) } // one small file in the temporary folder
	if err := writeShipped(dir); err != nil {
		remove()
		return "", nil, err
	}
	return dir, remove, nil
}

// writeShipped writes the built-in workflow into a folder.
func writeShipped(dir string) error {
	text, err := workflows.Files.ReadFile(shippedWorkflow)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, shippedWorkflow), text, 0o600)
}
