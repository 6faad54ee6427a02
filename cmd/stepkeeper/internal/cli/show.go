package cli

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

type showOptions struct {
	app      *app.App
	id       string
	messages bool
	raw      bool
}

// shown is the JSON output of `show`. It contains the task as GET /v1/orders/{id} returns it, the
// order, and the commands that the user can run next.
type shown struct {
	view.Task
	Order json.RawMessage `json:"order,omitempty"` // content of the order
	Next  []render.Advice `json:"next"`            // commands that are useful now; may be empty
	Later []render.Advice `json:"later,omitempty"` // commands that the order will accept at a later time
}

var showText = app.Text{
	Use:   "show ID",
	Group: "orders",
	Short: "Show an order and what to do next",
	Examples: `  stepkeeper show order-1001
  stepkeeper show order-1001 --messages
  stepkeeper show order-1001 --output json
  stepkeeper show order-1001 --raw`,
	Long: `It prints each step with attempts, times, errors, inputs and outputs; the history; the reason of a stop; and
the commands that the order accepts now, or from a printed time on. For an order on AWS it estimates the cost.`,
	Args:  app.Args{Least: 1, Most: 1, What: "the ID of an order"},
	Offer: app.Orders,
	Reach: app.ServerOrStack,
}

func newShow(a *app.App) *cobra.Command {
	o := &showOptions{app: a}
	return a.Command(showText, []app.Flag{
		app.OutputFlags.Flag("messages", &o.messages,
			"print only the messages of the history: what the order received and sent"),
		{
			Name: "raw", To: &o.raw,
			Text: "print only the stored document, as JSON; its members may change in any version",
		},
	},
		func(cmd *cobra.Command, given []string) error {
			o.id = given[0]
			if o.raw || a.JSON() {
				if err := app.Foreign(cmd, []app.Flag{{Name: "messages"}}, "the output as text"); err != nil {
					return err
				}
			}
			return runShow(cmd.Context(), o)
		})
}

func runShow(ctx context.Context, o *showOptions) error {
	if err := app.CheckID(o.id); err != nil {
		return err
	}
	if o.raw {
		document, err := app.Ask(ctx, o.app, "order "+o.id,
			func(c *client.Client, ctx context.Context) (json.RawMessage, error) { return c.Document(ctx, o.id) })
		if err != nil {
			return err
		}
		o.app.PrintJSON(document)
		return nil
	}
	var order json.RawMessage
	read, err := app.Ask(ctx, o.app, "order "+o.id, func(c *client.Client, ctx context.Context) (*view.Task, error) {
		task, err := c.Get(ctx, o.id)
		if err != nil {
			return nil, err
		}
		order, err = c.Submitted(ctx, o.id)
		// A cancel came before the order, it was erased or has expired, or its document is damaged.
		if errors.Is(err, client.ErrNotFound) || err != nil && task.Damaged != "" {
			order = nil
			err = nil
		}
		return task, err
	})
	if err != nil {
		return err
	}
	task := *read
	if !o.app.JSON() {
		page := o.app.Page()
		page.Order = order
		page.Messages = o.messages
		page.Task(o.app.Streams.Out, task)
		if task.Unchecked != "" {
			o.app.Warn(task.Unchecked)
		}
		return nil
	}
	doc := shown{
		Task: task, Order: order,
		Next: render.Next(task, o.app.Program()), Later: render.Later(task, o.app.Program()),
	}
	if doc.Next == nil {
		doc.Next = []render.Advice{}
	}
	o.app.PrintJSON(doc)
	return nil
}
