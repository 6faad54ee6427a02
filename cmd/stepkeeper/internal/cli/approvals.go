package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
)

var approvalsText = app.Text{
	Use:   "approvals",
	Group: "orders",
	Short: "List open approvals",
	Examples: `  stepkeeper approvals
  stepkeeper approvals --workflow expense`,
	Long: "It lists the steps that wait for an approval, with the question, the words to choose from, and who may\n" +
		"answer. `stepkeeper answer` answers one. With --output json each line is one approval.",
	Reach: app.ServerOrStack,
}

func newApprovals(a *app.App) *cobra.Command {
	workflow := ""
	flags := []app.Flag{
		app.WhichOrders.Flag("workflow", &workflow, "orders of this workflow (`name`)").Offers(app.Workflows),
	}
	return a.Command(approvalsText, flags, func(cmd *cobra.Command, _ []string) error {
		open, err := app.Ask(cmd.Context(), a, "open approvals",
			func(c *client.Client, ctx context.Context) ([]client.Approval, error) {
				open, err := openApprovals(ctx, c, workflow)
				if err == nil && len(open) == 0 {
					err = a.KnownWorkflow(ctx, c, workflow)
				}
				return open, err
			})
		if err != nil {
			return err
		}
		if len(open) == 0 && !a.JSON() {
			fmt.Fprintln(a.Streams.Err, "no approval is open")
			return nil
		}
		app.PrintList(a, open, []string{
			"ORDER", "STEP", "ANSWERS", "WHO", "ASKED", "UNTIL",
			"QUESTION",
		},
			func(q *client.Approval) []string {
				order := q.OrderID
				if p := q.Parent; p != nil {
					order = fmt.Sprintf("%s / %s / %d", p.OrderID, p.Step, p.Index)
				}
				return []string{
					order, q.Step, strings.Join(q.Values, ", "),
					cmp.Or(render.Clean(strings.Join(q.Who, ", ")), "anyone"), render.Age(q.Since, a.Now()),
					render.Moment(q.Until), render.Cut(render.Clean(q.Question), 60),
				}
			})
		return nil
	})
}

// openApprovals returns the open approvals in the orders of a workflow. The name "" means all workflows.
func openApprovals(ctx context.Context, c *client.Client, workflow string) (all []client.Approval, err error) {
	q := client.Query{Workflow: workflow, PageSize: pageSize}
	for cursor := ""; ; {
		some, next, err := c.Approvals(ctx, q, cursor)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		cursor = next
		if cursor == "" {
			return all, nil
		}
	}
}
