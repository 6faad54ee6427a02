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

var moveText = app.Text{
	Use:   "move ID...|--where KEY=VALUE,... --definition latest|HASH",
	Group: "operator",
	Short: "Pin orders to another definition of their workflow",
	Examples: `  stepkeeper move order-1001 --definition latest --dry-run
  stepkeeper move order-1001 --definition latest --simulate
  stepkeeper move --where workflow=trip --definition latest --reason "the price was wrong" --dry-run`,
	Long: "An order runs the definition that was deployed when it arrived. If that definition has a bug, deploy a\n" +
		"corrected file and move the order. Completed steps must be the same in both definitions: --dry-run\n" +
		"prints the differences. An order in Error stays there; `resubmit --definition latest` moves and\n" +
		"continues it in one command.\n\n" +
		"--simulate first runs each order as the move would leave it, in virtual time and against every failure.\n" +
		"It moves the order only if it ends and breaks no invariant.\n\n" +
		"With --where the command goes to many orders: `stepkeeper continue --help` explains how.",
	Args:  app.Args{Any: true, What: "the ID of an order, or several"},
	Offer: app.Orders,
}

func newMove(a *app.App) *cobra.Command {
	o := &moveOptions{orderCommand: orderCommand{app: a, action: bulk.Action{Command: "move"}, number: -1}}
	single := []app.Flag{
		numberFlag(&o.number),
		{
			In: app.CommandFlags, Name: "simulate", To: &o.seeds, Bare: "2000", Least: "0",
			Text: "first simulate the moved order with this number of `seeds`; 2000 without a number",
		},
	}
	return o.selectable(moveText, single, []app.Flag{definitionFlag(&o.action.Definition)},
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
