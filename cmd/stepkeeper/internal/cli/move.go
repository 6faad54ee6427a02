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
	seeds int // number of seeds for the simulation before the move; 0 means no simulation
}

func newMove(a *app.App) *cobra.Command {
	o := &moveOptions{orderCommand: orderCommand{app: a, action: bulk.Action{Command: "move"}, number: -1}}
	return o.orderCmd("move", app.Flags{
		"command": &o.number, "definition": &o.action.Definition,
		"dry-run": &o.dryRun, "simulate": &o.seeds,
	},
		func(ctx context.Context) error { return runMove(ctx, o) })
}

func runMove(ctx context.Context, o *moveOptions) error {
	if o.action.Definition == "" {
		return failure.New(failure.Usage, whichDefinition, "move has no definition")
	}
	if err := cmp.Or(o.checkDefinition(), o.checkSender(), o.checkOrders()); err != nil {
		return err
	}
	return o.each(ctx, o.one)
}

// one moves an order. If the user asked for a simulation and the simulation finds a problem, the order is not
// moved.
func (o *moveOptions) one(ctx context.Context, c *client.Client, id string) (line verdictLine, err error) {
	var report *author.Simulated
	if o.seeds > 0 {
		report, err = author.SimulateMove(ctx, o.app, c, id, o.action.Definition, o.seeds)
		var f *failure.Error
		if errors.As(err, &f) && f.Code == failure.NotProcessed {
			return verdictLine{
				Report: report, Exit: f.Code,
				Reason: "it is not moved, because its simulation found something wrong; correct that " +
					"first, or " +
					"move it without --simulate",
			}, nil
		}
		if err != nil {
			return line, err
		}
	}
	line, err = o.send(ctx, c, id)
	line.Report = report
	return line, err
}
