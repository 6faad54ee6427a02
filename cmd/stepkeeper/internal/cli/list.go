package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/bulk"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

const pageSize = 1000 // size of the largest page that the server returns

type listOptions struct {
	app      *app.App
	where    map[string]string
	limit    int
	all      bool
	children bool
	damaged  bool
}

var listText = app.Text{
	Use:   "list",
	Group: "orders",
	Short: "List orders, newest first",
	Examples: `  stepkeeper list --where state=Error,step=charge-payment,code=declined
  stepkeeper list --where state=Processing,older=10m
  stepkeeper list --where late=2h
  stepkeeper list --where workflow=order --all --output json`,
	Long: "It prints one page of --limit orders. Child orders appear only with --children, --damaged or the key id.\n" +
		"With --output json each line is an order in the shape of GET /v1/orders.\n\n" +
		"All keys of --where must match: `step` is where an order stopped or waits, `code` that of its error, `id` the\n" +
		"beginning of its ID, `older` how long ago it was received, and `late` the time within which a deadline of it,\n" +
		"or of one of its steps, passes. The commands to many orders select with the same words, for example\n" +
		"`stepkeeper resubmit --where`.",
	Reach: app.Reach{Server: true, Stack: true, Timeout: "how long to wait for an answer (default 30s; with --all no limit)"},
}

func newList(a *app.App) *cobra.Command {
	o := &listOptions{app: a, limit: 50}
	return a.Command(listText, []app.Flag{
		whereFlag(&o.where, ""),
		app.WhichOrders.Flag("children", &o.children, "child orders too"),
		app.WhichOrders.Flag("damaged", &o.damaged,
			"only damaged orders that an actor has set aside, child orders too"),
		app.OutputFlags.Flag("all", &o.all, "print all pages, whatever --limit says"),
		app.OutputFlags.Flag("limit", &o.limit, "print at most this `number` of orders").Within("1", ""),
	}, func(cmd *cobra.Command, _ []string) error { return runList(cmd.Context(), o) })
}

func runList(ctx context.Context, o *listOptions) error {
	q, err := bulk.Where(o.where).Query("")
	if err != nil {
		return failure.Wrap(err, failure.Usage, "see `stepkeeper list --help`", "the orders cannot be listed")
	}
	patience := app.DefaultTimeout
	if o.all { // reading many pages may take long
		patience = 0
	}
	ctx, cancel := o.app.Bounded(ctx, patience)
	defer cancel()
	c, err := o.app.Client(ctx)
	if err != nil {
		return err
	}
	q.Damaged = o.damaged
	children := o.children || o.damaged || q.IDPrefix != ""
	if !o.all && q.Step+q.Code+q.IDPrefix == "" { // The client applies these filters after it has read a page.
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
		if o.app.JSON() {
			o.app.PrintLine(s)
		} else {
			shown = append(shown, s)
		}
	}
	if count == 0 {
		if err := o.app.KnownWorkflow(ctx, c, q.Workflow); err != nil {
			return err
		}
	}
	if !o.app.JSON() {
		o.show(shown, left, more)
	}
	o.app.WarnUnattended(o.app.Unattended(ctx, c, ""))
	if left := c.Unlisted(); left != "" && q.State == "" && !o.app.JSON() {
		fmt.Fprintln(o.app.Streams.Err, left)
	}
	return nil
}

// show prints orders. It has left out some child orders, and there are more orders than the limit permits if more is
// true.
func (o *listOptions) show(orders []view.Summary, left int, more bool) {
	a := o.app
	switch {
	case len(orders) > 0:
		header, rows := summary(a, orders)
		render.Table(a.Streams.Out, a.Streams.Style(), "", header, rows)
	case o.damaged: // nothing needs an order at rest, so that nothing has found its damage
		fmt.Fprintf(a.Streams.Err, "no order was set aside; `%s list --all` reads every order, and marks the damaged ones\n",
			a.Program())
	default:
		fmt.Fprintln(a.Streams.Err, "no such orders")
	}
	if more {
		fmt.Fprintf(a.Streams.Err, "%d shown, there are more: add --all, or a higher --limit\n", len(orders))
	}
	if left > 0 {
		fmt.Fprintf(a.Streams.Err, "%s left out; --children lists them\n", view.Count(left, "child order"))
	}
}

// summary returns the table of orders, whose rows are one line each.
func summary(a *app.App, orders []view.Summary) (header []string, rows [][]string) {
	style := a.Streams.Style()
	now := a.Now()
	rows = make([][]string, len(orders))
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
		if s.LateAt != 0 {
			why = strings.TrimPrefix(why+"; late "+render.Age(s.LateAt, now), "; ")
		}
		if s.Damaged != "" {
			state = state + " (damaged)"
			why = "its document cannot be read; restore it from a backup"
		}
		rows[i] = []string{
			s.OrderID, s.Workflow, style.State(s.State, state), render.Age(s.Created, now),
			took, strconv.Itoa(s.Run), why,
		}
	}
	header = []string{"ORDER", "WORKFLOW", "STATE", "RECEIVED", "TOOK", "RUN", "WHY"}
	return render.OneLine(style, header, rows, "RUN", "TOOK", "WORKFLOW"), rows
}
