package cli

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/author"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/bulk"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
)

type moveOptions struct {
	orderCommand
	seeds int // number of seeds to simulate it with first; 0 means no simulation
}

func newMove(a *app.App) *cobra.Command {
	o := &moveOptions{orderCommand: orderCommand{app: a, action: bulk.Action{Command: "move"}}}
	cmd := o.orderCmd("move ID... --definition latest|HASH",
		"Pin orders to another definition of their workflow",
		"An order runs the definition that was deployed when it came, so that a deploy disturbs none. "+
			"When that\n"+
			"definition has a bug, fix the file, deploy it, and move the order. What was done already "+
			"must be the same\n"+
			"in both: --dry-run names the differences, step by step, and sends nothing. An order in Error "+
			"stays there:\n"+
			"`resubmit --definition latest` moves it and goes on, in one command.\n"+
			"--simulate runs each order first as the move would leave it, in virtual time and against "+
			"every failure, and\n"+
			"moves it only where no invariant is broken and it ends; `simulate FILE --move ID` does so "+
			"before FILE is deployed.",
		"  stepkeeper move order-1001 --definition latest --dry-run\n  stepkeeper move order-1001 "+
			"--definition latest --simulate",
		func(ctx context.Context) error { return runMove(ctx, o) })
	o.numberFlag(cmd)
	o.definitionFlag(cmd, "the definition: latest, or its `hash`")
	f := cmd.Flags()
	f.BoolVar(&o.dryRun, "dry-run", false,
		"send nothing: name the differences, and report whether the order would be moved")
	f.IntVar(&o.seeds, "simulate", 0,
		"simulate the moved order first, with so many `seeds` (2000 where none are given)")
	f.Lookup("simulate").NoOptDefVal = "2000"
	return cmd
}

func runMove(ctx context.Context, o *moveOptions) error {
	if o.action.Definition == "" {
		return failure.New(failure.Usage, whichDefinition, "the definition to move to is missing")
	}
	if o.seeds < 0 {
		return failure.New(failure.Usage, "give a number from 1, --simulate=2000",
			"--simulate=%d is no number of seeds", o.seeds)
	}
	if err := cmp.Or(o.checkDefinition(), o.checkSender(), o.checkOrders()); err != nil {
		return err
	}
	return o.each(ctx, o.one)
}

// one moves an order, if the simulation that was asked for finds nothing wrong.
func (o *moveOptions) one(ctx context.Context, c *client.Client, id string) (line verdictLine, err error) {
	var report *author.Simulated
	if o.seeds > 0 {
		report, err = author.SimulateMove(ctx, o.app, c, id, o.action.Definition, o.seeds)
		var f *failure.Error
		if errors.As(err, &f) && f.Code == failure.NotProcessed {
			return verdictLine{Report: report, Exit: f.Code,
				Reason: "it is not moved, because its simulation found something wrong; correct that " +
					"first, or " +
					"move it without --simulate"}, nil
		}
		if err != nil {
			return line, err
		}
	}
	line, err = o.send(ctx, c, id)
	line.Report = report
	return line, err
}
