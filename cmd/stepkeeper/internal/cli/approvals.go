package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// approval is the JSON output for an open approval.
type approval struct {
	OrderID  string    `json:"orderId"`
	Workflow string    `json:"workflow"`
	Step     string    `json:"step"`
	Round    int       `json:"round"`
	Question string    `json:"question,omitempty"`
	Values   []string  `json:"values"`
	Who      []string  `json:"who,omitempty"` // empty if anyone may answer
	Since    core.Time `json:"since"`
	Until    core.Time `json:"until"`
	// Show holds the fields that help to decide.
	Show json.RawMessage `json:"show,omitempty"`
}

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
	flags := []app.Flag{{
		In: app.WhichOrders, Name: "workflow", To: &workflow, Offer: app.Workflows,
		Text: "orders of this workflow (`name`)",
	}}
	return a.Command(approvalsText, flags, func(cmd *cobra.Command, _ []string) error {
		open, err := app.Ask(cmd.Context(), a, "open approvals",
			func(c *client.Client, ctx context.Context) ([]approval, error) {
				open, err := openApprovals(ctx, c, workflow)
				if err == nil && len(open) == 0 {
					err = a.KnownWorkflow(ctx, c, workflow)
				}
				return open, err
			})
		if err == nil && len(open) == 0 && !a.JSON() {
			fmt.Fprintln(a.Streams.Err, "no approval is open")
			return nil
		}
		if err != nil {
			return err
		}
		return app.PrintList(a, open, []string{
			"ORDER", "STEP", "ANSWERS", "WHO", "ASKED", "UNTIL",
			"QUESTION",
		},
			func(q *approval) []string {
				return []string{
					q.OrderID, q.Step, strings.Join(q.Values, ", "),
					cmp.Or(render.Clean(strings.Join(q.Who, ", ")), "anyone"), render.Age(q.Since, a.Now()),
					render.Moment(q.Until), render.Cut(render.Clean(q.Question), 60),
				}
			})
	})
}

// openApprovals returns the open approvals in the orders of a workflow. The name "" means all workflows.
func openApprovals(ctx context.Context, c *client.Client, workflow string) (all []approval, err error) {
	q := client.Query{State: core.Processing, Workflow: workflow, PageSize: pageSize}
	for s, err := range c.List(ctx, q) {
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(s.Waits, func(w view.Wait) bool { return w.For == view.WaitAnswer }) {
			continue
		}
		task, err := c.Get(ctx, s.OrderID)
		if err != nil {
			return nil, err
		}
		for _, st := range task.Steps {
			if st.Kind != view.KindApproval || st.State != core.Waiting || st.Answers == nil {
				continue
			}
			q := approval{
				OrderID: task.OrderID, Workflow: task.Workflow, Step: st.Name,
				Round: max(1, st.Answers.Round), Values: st.Answers.Values, Who: st.Answers.Who,
				Since: st.ClaimedAt, Until: st.WakeAt,
			}
			var asked core.Question
			if json.Unmarshal(st.Input, &asked) == nil {
				q.Question = asked.Question
				q.Show = asked.Show
			}
			all = append(all, q)
		}
	}
	return all, nil
}
