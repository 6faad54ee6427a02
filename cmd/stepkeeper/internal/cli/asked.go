package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/bulk"
)

// askedOptions holds the options of undo, close and erase. These commands first ask for confirmation, because
// their effect cannot be reverted.
type askedOptions struct {
	orderCommand
	signed bool   // true if the command needs a sender and a reason
	doubt  string // question to the user; "%s" stands for the orders
	done   string // past participle of the command, for messages
}

var undoText = app.Text{
	Use:   "undo ID...|--where KEY=VALUE,...",
	Group: "operator",
	Short: "Give up orders in Error and undo what they did",
	Examples: `  stepkeeper undo order-1001
  stepkeeper undo order-1001 order-1002 --yes
  stepkeeper undo --where workflow=trip,older=7d --reason "the trips are over" --dry-run`,
	Long: "It undoes every step that was ever attempted, in reverse order. An order past its point of no return refuses it.\n\n" +
		"With --where the command goes to many orders: `stepkeeper continue --help` explains how.",
	Args:  app.Args{Any: true, What: "the ID of an order, or several"},
	Offer: app.Orders,
}

func newUndo(a *app.App) *cobra.Command {
	return newAsked(a, undoText, askedOptions{doubt: "Give up %s and undo all that was done?", done: "undone"})
}

var closeText = app.Text{
	Use:   "close ID...|--where KEY=VALUE,... --reason TEXT",
	Group: "operator",
	Short: "End orders in Error as they stand",
	Examples: `  stepkeeper close order-1001 --reason "refunded by hand, ticket 4711"
  stepkeeper close order-1001 order-1002 --reason "settled by hand" --yes
  stepkeeper close --where step=charge-payment,code=http-503 --reason "refunded by hand" --dry-run`,
	Long: `Use it for an order that you settled by hand. Its steps keep their states, without an undo. A Closed order
accepts no further command. The order refuses the command while a step is in flight, or a call may still take effect.
The application gets the reason.` +
		"\n\nWith --where the command goes to many orders: `stepkeeper continue --help` explains how.",
	Args:  app.Args{Any: true, What: "the ID of an order, or several"},
	Offer: app.Orders,
}

func newClose(a *app.App) *cobra.Command {
	return newAsked(a, closeText, askedOptions{
		signed: true, doubt: "End %s as it stands, for good?",
		done: "closed",
	})
}

var eraseText = app.Text{
	Use:   "erase ID... --reason TEXT",
	Group: "operator",
	Short: "Remove personal data from ended orders",
	Examples: `  stepkeeper erase order-1001 --reason "the customer asked for it, ticket 4711"
  stepkeeper erase order-1001 order-1002 --reason "ticket 4711" --yes`,
	Long: `It removes the content, inputs, outputs, answers, texts and notes at once, for good. States, times, the senders
of commands, and the hash of the content stay, so that the ID never runs again. Name no person in --reason.
The order refuses the command until it and its parent have ended. Erase its child orders too.`,
	Args:  app.Args{Least: 1, Any: true, What: "the ID of an order, or several"},
	Offer: app.Orders,
	Reach: app.ServerOrStack,
}

func newErase(a *app.App) *cobra.Command {
	return newAsked(a, eraseText, askedOptions{
		signed: true,
		doubt:  "Remove the content, inputs and outputs of %s, for good?", done: "erased",
	})
}

func newAsked(a *app.App, text app.Text, o askedOptions) *cobra.Command {
	name, _, _ := strings.Cut(text.Use, " ")
	o.orderCommand = orderCommand{app: a, action: bulk.Action{Command: name}, number: -1}
	single := []app.Flag{numberFlag(&o.number)}
	run := func(ctx context.Context) error { return runAsked(ctx, &o) }
	if !slices.Contains(bulk.Commands, name) {
		return o.orderCmd(text, "command", append(single, yesFlag(&o.yes)), run)
	}
	return o.selectable(text, single, nil, run)
}

func (o *askedOptions) check() error {
	if o.signed && strings.TrimSpace(o.action.Reason) == "" {
		return noReason("nothing was " + o.done)
	}
	if err := o.checkSender(); err != nil {
		return err
	}
	if o.signed && strings.TrimSpace(o.action.By) == "" {
		return o.noSender()
	}
	return o.checkOrders()
}

func runAsked(ctx context.Context, o *askedOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	what := o.ids[0]
	if len(o.ids) > 1 {
		what = fmt.Sprintf("%d orders (%s, …)", len(o.ids), what)
	}
	if err := confirm(o.app, o.yes || o.dryRun, fmt.Sprintf(o.doubt, what), "nothing was "+o.done); err != nil {
		return err
	}
	return o.each(ctx, func(ctx context.Context, c *client.Client, id string) (verdictLine, error) {
		return o.send(ctx, c, id)
	})
}
