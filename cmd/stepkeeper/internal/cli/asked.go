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

// askedOptions are those of undo, close and erase, which cannot be taken back: they ask first, on a terminal.
type askedOptions struct {
	orderCommand
	yes    bool   // does not ask
	signed bool   // needs a sender and a reason, which are stored with what it does
	doubt  string // question before it; %s stands for the orders
	done   string // participle of the command
}

func newUndo(a *app.App) *cobra.Command {
	return newAsked(a, askedOptions{doubt: "Give up %s and undo all that was done?", done: "undone"},
		"undo", "", "Give up orders in Error and undo what they did",
		"Every step that was ever attempted is undone, in reverse order. An order past its point of no\n"+
			"return is refused.",
		"  stepkeeper undo order-1001\n  stepkeeper undo order-1001 order-1002 --yes")
}

func newClose(a *app.App) *cobra.Command {
	return newAsked(a, askedOptions{signed: true, doubt: "End %s as it stands, for good?", done: "closed"},
		"close", " --reason TEXT", "End orders in Error as they stand",
		"For an order that was settled by hand, or that nothing can go on with. Its steps keep their "+
			"states, and\n"+
			"what they did stays as you found it: nothing is undone. A Closed order is final: it takes no "+
			"command any\n"+
			"more. It is refused while a step is in flight, or a call of one may still take effect.",
		"  stepkeeper close order-1001 --reason \"refunded by hand, ticket 4711\"")
}

func newErase(a *app.App) *cobra.Command {
	return newAsked(a, askedOptions{signed: true,
		doubt: "Remove the content, inputs and outputs of %s, for good?", done: "erased"},
		"erase", " --reason TEXT", "Remove what ended orders hold of people's data",
		"The order's content, its inputs, outputs, answers, texts and notes are removed at once, for "+
			"good. States,\n"+
			"times, who gave which command, and the hash of the content stay, so that its ID never runs "+
			"again. An erased\n"+
			"order takes no further command. It is refused while the order, or one that it is a child of, "+
			"has not come to\n"+
			"rest. Its child orders are orders of their own: erase them too. Name no person in --reason, "+
			"which stays.",
		"  stepkeeper erase order-1001 --reason \"the customer asked for it, ticket 4711\"")
}

func newAsked(a *app.App, o askedOptions, name, rest, short, long, example string) *cobra.Command {
	o.app, o.action = a, bulk.Action{Command: name}
	cmd := o.orderCmd(name+" ID..."+rest, short, long, example,
		func(ctx context.Context) error { return runAsked(ctx, &o) })
	o.numberFlag(cmd)
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask first (it asks on a terminal only)")
	return cmd
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
	if !o.yes && o.app.Streams.Interactive() {
		what := o.ids[0]
		if len(o.ids) > 1 {
			what = fmt.Sprintf("%d orders (%s, …)", len(o.ids), what)
		}
		ok, err := confirm(o.app, fmt.Sprintf(o.doubt, what), o.action.Command, "nothing was "+o.done)
		if err != nil || !ok {
			return err
		}
	}
	return o.each(ctx, func(ctx context.Context, c *client.Client, id string) (verdictLine, error) {
		return o.send(ctx, c, id)
	})
}
