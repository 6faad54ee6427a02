package cli

import (
	"context"
	"fmt"
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
	yes    bool
	signed bool   // true if the command needs a sender and a reason
	doubt  string // question to the user; "%s" stands for the orders
	done   string // past participle of the command, for messages
}

func newUndo(a *app.App) *cobra.Command {
	return newAsked(a, "undo", askedOptions{doubt: "Give up %s and undo all that was done?", done: "undone"})
}

func newClose(a *app.App) *cobra.Command {
	return newAsked(a, "close", askedOptions{
		signed: true, doubt: "End %s as it stands, for good?",
		done: "closed",
	})
}

func newErase(a *app.App) *cobra.Command {
	return newAsked(a, "erase", askedOptions{
		signed: true,
		doubt:  "Remove the content, inputs and outputs of %s, for good?", done: "erased",
	})
}

func newAsked(a *app.App, name string, o askedOptions) *cobra.Command {
	o.orderCommand = orderCommand{app: a, action: bulk.Action{Command: name}, number: -1}
	return o.orderCmd(name, app.Flags{"command": &o.number, "yes": &o.yes},
		func(ctx context.Context) error { return runAsked(ctx, &o) })
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
	if err := confirm(o.app, o.yes, fmt.Sprintf(o.doubt, what), "nothing was "+o.done); err != nil {
		return err
	}
	return o.each(ctx, func(ctx context.Context, c *client.Client, id string) (verdictLine, error) {
		return o.send(ctx, c, id)
	})
}
