package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

const pageSize = 1000 // size of the largest page that the server returns

type listOptions struct {
	app       *app.App
	state     string
	workflow  string
	step      string
	code      string
	prefix    string
	olderThan time.Duration
	limit     int
	all       bool
	children  bool
	damaged   bool
}

var listText = app.Text{
	Use:   "list",
	Group: "orders",
	Short: "List orders, newest first",
	Examples: `  stepkeeper list --state Error --step charge-payment --code declined
  stepkeeper list --state Processing --older-than 10m
  stepkeeper list --workflow order --all --output json`,
	Long: `It prints one page of --limit orders. Child orders appear only with --children, --damaged or --id.
With --output json each line is an order in the shape of GET /v1/orders.`,
	Reach: app.Reach{Server: true, Stack: true, Timeout: "how long to wait for an answer (default 30s; with --all no limit)"},
}

func newList(a *app.App) *cobra.Command {
	o := &listOptions{app: a, limit: 50}
	return a.Command(listText, []app.Flag{
		{In: app.WhichOrders, Name: "children", To: &o.children, Text: "child orders too"},
		{In: app.WhichOrders, Name: "code", To: &o.code, Text: "orders with an error of this `code`"},
		{
			In: app.WhichOrders, Name: "damaged", To: &o.damaged,
			Text: "only orders that were set aside because they cannot be read, child orders too",
		},
		{In: app.WhichOrders, Name: "id", To: &o.prefix, Text: "orders whose ID begins with this `text`"},
		{
			In: app.WhichOrders, Name: "older-than", To: &o.olderThan, Least: "0s",
			Text: "orders received longer ago than this",
		},
		{
			In: app.WhichOrders, Name: "state", To: &o.state, Of: render.States,
			Text: "orders in this `state`: " + strings.Join(render.States, ", "),
		},
		{
			In: app.WhichOrders, Name: "step", To: &o.step,
			Text: "orders that stopped at this step (`name`), or wait in it",
		},
		{
			In: app.WhichOrders, Name: "workflow", To: &o.workflow, Offer: app.Workflows,
			Text: "orders of this workflow (`name`)",
		},
		{In: app.OutputFlags, Name: "all", To: &o.all, Text: "print all pages, whatever --limit says"},
		{
			In: app.OutputFlags, Name: "limit", To: &o.limit, Least: "1",
			Text: "print at most this `number` of orders",
		},
	},
		func(cmd *cobra.Command, _ []string) error { return runList(cmd.Context(), o) })
}

func runList(ctx context.Context, o *listOptions) error {
	ctx, cancel := o.app.Bounded(ctx, o.patience())
	defer cancel()
	c, err := o.app.Client(ctx)
	if err != nil {
		return err
	}
	q := client.Query{
		State: core.State(o.state), Workflow: o.workflow, Step: o.step, Code: o.code,
		IDPrefix: o.prefix, OlderThan: o.olderThan, Damaged: o.damaged, PageSize: pageSize,
	}
	children := o.children || o.damaged || o.prefix != ""
	if !o.all && o.step+o.code+o.prefix == "" { // The client applies these filters after it has read a page.
		// One order more than the limit shows whether there are more orders.
		q.PageSize = min(o.limit, pageSize-1) + 1
	}
	var shown []view.Summary
	count := 0
	left := 0
	more := false
	for s, err := range c.List(ctx, q) {
		if err != nil {
			return o.app.Explain(err, "list of orders")
		}
		if !children && strings.Contains(s.OrderID, core.ChildMark) {
			left++
			continue
		}
		more = !o.all && count == o.limit
		if more {
			break
		}
		count++
		if !o.app.JSON() {
			shown = append(shown, s)
		} else if err := o.app.PrintLine(s); err != nil {
			return err
		}
	}
	if count == 0 {
		if err := o.app.KnownWorkflow(ctx, c, o.workflow); err != nil {
			return err
		}
	}
	if !o.app.JSON() {
		o.show(shown, more)
	}
	if left > 0 && !o.app.JSON() {
		fmt.Fprintf(o.app.Streams.Err, "%s left out; --children lists them\n",
			view.Count(left, "child order"))
	}
	o.app.WarnUnattended(o.app.Unattended(ctx, c, ""))
	if left := c.Unlisted(); left != "" && o.state == "" && !o.app.JSON() {
		fmt.Fprintln(o.app.Streams.Err, left)
	}
	return nil
}

// patience returns the time limit. With --all there is no limit, because reading many pages may take long.
func (o *listOptions) patience() time.Duration {
	if o.all {
		return 0
	}
	return app.DefaultTimeout
}

func (o *listOptions) show(orders []view.Summary, more bool) {
	a := o.app
	if len(orders) == 0 {
		fmt.Fprintln(a.Streams.Err, "no such orders")
		return
	}
	render.Table(a.Streams.Out, a.Streams.Style(), "", summaryHeader, summaryRows(a, orders))
	if more {
		fmt.Fprintf(a.Streams.Err, "%d shown, there are more: add --all, or a higher --limit\n", len(orders))
	}
}

var summaryHeader = []string{"ORDER", "WORKFLOW", "STATE", "RECEIVED", "TOOK", "RUN", "WHY"}

func summaryRows(a *app.App, orders []view.Summary) [][]string {
	style := a.Streams.Style()
	now := a.Now()
	rows := make([][]string, len(orders))
	for i, s := range render.Cleaned(orders) {
		state := string(s.State)
		if s.Phase == core.Undoing {
			state += " (undo)"
		}
		took := "-"
		if s.EndedAt != 0 {
			took = render.Span(s.EndedAt.Sub(s.Created).Std())
		}
		why := ""
		if s.Error != nil {
			why = strings.TrimSpace(s.Error.Step + " " + s.Error.Code)
			if s.Error.Message != "" { // An erased order has only the code.
				why = strings.TrimPrefix(why+": "+s.Error.Message, ": ")
			}
		}
		if why == "" {
			why = render.Wait(s.Waits, now)
		}
		if s.Damaged != "" {
			state = state + " (damaged)"
			why = "its document cannot be read; restore it from a backup"
		}
		rows[i] = []string{
			s.OrderID, s.Workflow, style.State(s.State, state), render.Age(s.Created, now),
			took, strconv.Itoa(s.Run), why,
		}
		if a.Streams.IsTerminal() {
			rows[i][6] = render.Cut(why, 60)
		}
	}
	return rows
}
