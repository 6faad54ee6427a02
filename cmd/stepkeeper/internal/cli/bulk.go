package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/bulk"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

type bulkOptions struct {
	app      *app.App
	where    map[string]string
	action   bulk.Action
	pace     bulk.Pace
	patience time.Duration
	file     string
	dryRun   bool
	yes      bool
}

func newBulk(a *app.App) *cobra.Command {
	commands := []*cobra.Command{newBulkContinue(a)}
	for _, name := range bulk.Commands {
		commands = append(commands, newBulkCommand(a, name))
	}
	return a.Group("bulk", commands...)
}

func newBulkCommand(a *app.App, name string) *cobra.Command {
	o := &bulkOptions{
		app: a, action: bulk.Action{Command: name}, patience: 5 * time.Minute,
		pace: bulk.Pace{Canary: 5, Rate: 10, StopAt: 0.2},
	}
	flags := app.Flags{
		"where": &o.where, "by": &o.action.By, "reason": &o.action.Reason,
		"canary": &o.pace.Canary, "rate": &o.pace.Rate, "stop-at": &o.pace.StopAt, "patience": &o.patience,
		"file": &o.file, "dry-run": &o.dryRun, "yes": &o.yes,
	}
	if name == "move" || name == "resubmit" {
		flags["definition"] = &o.action.Definition
	}
	return a.Command("bulk "+name, flags, func(cmd *cobra.Command, given []string) error {
		if name == "resolve" {
			o.action.Step = given[0]
			o.action.Fact = core.Fact(given[1])
		}
		return runBulk(cmd.Context(), o)
	})
}

func newBulkContinue(a *app.App) *cobra.Command {
	o := &bulkOptions{app: a}
	return a.Command("bulk continue", nil, func(cmd *cobra.Command, given []string) error {
		o.file = given[0]
		c, err := a.Client(cmd.Context())
		if err != nil {
			return err
		}
		return o.work(cmd.Context(), c)
	})
}

func runBulk(ctx context.Context, o *bulkOptions) error {
	if strings.TrimSpace(o.action.Reason) == "" {
		return noReason("nothing was sent")
	}
	o.action.By = sender(o.action.By)
	if err := checkTexts(o.action.By, o.action.Reason); err != nil {
		return err
	}
	o.pace.Patience = o.patience.Seconds()
	h := bulk.Header{Action: o.action, Where: o.where, Pace: o.pace}
	if err := h.Named(o.app.Now()); err != nil {
		return failure.Wrap(err, failure.Usage, "see `stepkeeper bulk "+o.action.Command+" --help`",
			"nothing was sent")
	}
	c, err := o.app.Client(ctx)
	if err != nil {
		return err
	}
	orders, err := bulk.Select(ctx, c, o.where, o.action)
	if err != nil {
		return o.app.Explain(err, "list of orders")
	}
	if len(orders) == 0 {
		if err := o.app.KnownWorkflow(ctx, c, o.where["workflow"]); err != nil {
			return err
		}
	}
	if o.dryRun {
		return o.printPlan(orders, true)
	}
	if len(orders) == 0 {
		return failure.New(failure.NotFound, "check the filters with `stepkeeper list`",
			"no order matches, so nothing was sent")
	}
	if err := o.confirm(orders); err != nil {
		return err
	}
	o.file = cmp.Or(o.file, h.File())
	if err := bulk.Create(o.file, h, orders); err != nil {
		return failure.Wrap(err, failure.Usage, "choose another one with --file",
			"the list cannot be written")
	}
	return o.work(ctx, c)
}

func (o *bulkOptions) work(ctx context.Context, c *client.Client) error {
	l, err := bulk.Open(o.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failure.Wrap(err, failure.NotFound, "name the file that `stepkeeper bulk` wrote",
			"the list %s", o.file)
	case errors.Is(err, bulk.ErrBusy):
		return failure.Wrap(err, failure.Refused,
			"wait until the other process ends, or end it; then continue the list", "the list %s", o.file)
	case err != nil:
		return failure.Wrap(err, failure.Usage,
			"name the file that `stepkeeper bulk` wrote, or make a new list", "the list %s", o.file)
	}
	if !o.app.JSON() {
		fmt.Fprintf(o.app.Streams.Err, "%s: %s %s, list in %s\n", l.Bulk, l.Command,
			view.Count(l.Orders, "order"), o.file)
	}
	bar := o.app.Streams.Progress(l.Command, int64(l.Orders))
	done := 0
	r, err := l.Run(ctx, c, func(n bulk.Report) {
		if now := len(n.Fixed) + len(n.Again) + len(n.Refused); now > done {
			bar.Add(now - done)
			done = now
		}
	})
	bar.Done()
	err = errors.Join(err, l.Close())
	if err != nil {
		return failure.Wrap(err, failure.General, "make room, then `stepkeeper bulk continue "+message.Quoted(o.file)+"`",
			"the list %s", o.file)
	}
	return o.report(&r)
}

// report prints the results. If an order was not fixed, report returns an error with the code Refused.
func (o *bulkOptions) report(r *bulk.Report) error {
	a := o.app
	if a.JSON() {
		if err := a.PrintLine(r); err != nil {
			return err
		}
	} else {
		style := a.Streams.Style()
		line := func(what string, ids []string) {
			if len(ids) > 0 {
				fmt.Fprintf(a.Streams.Out, "%5d %s: %s\n", len(ids), what, some(ids))
			}
		}
		line(style.Good("fixed"), r.Fixed)
		line(style.Bad("failed again"), r.Again)
		for _, reason := range slices.Sorted(maps.Keys(r.RefusedFor)) {
			line(style.Warn("refused")+", "+render.Clean(reason), r.RefusedFor[reason])
		}
		line(style.Warn("unknown"), r.Unknown)
		line("not sent", r.NotSent)
		if r.Stopped != "" {
			fmt.Fprintf(a.Streams.Out, "stopped: %s\n", render.Clean(r.Stopped))
		}
		o.advise(r)
	}
	if len(r.Fixed) != r.Orders {
		return failure.Silent(failure.Refused, "not every order was fixed")
	}
	return nil
}

func (o *bulkOptions) advise(r *bulk.Report) {
	out := o.app.Streams.Out
	program := o.app.Program()
	if len(r.Again) > 0 {
		fmt.Fprintln(out, "fix the cause first")
	}
	if n := len(r.NotSent) + len(r.Unknown); n > 0 {
		fmt.Fprintf(out, "`%s bulk continue %s` sends to the %s not sent or unknown\n", program, message.Quoted(o.file),
			view.Count(n, "order"))
	}
	if n := len(r.Again); n > 0 {
		fmt.Fprintf(out, "for the %s that failed again, run the same `%s bulk %s …` once more: "+
			"bulk continue does not repeat them\n", view.Count(n, "order"), program, r.Command)
	}
}

const fewIDs = 10

func some(ids []string) string {
	if len(ids) > fewIDs {
		return strings.Join(ids[:fewIDs], " ") + " …"
	}
	return strings.Join(ids, " ")
}

// planLine is the JSON output of a dry run for one order.
type planLine struct {
	OrderID  string `json:"orderId"`
	Command  string `json:"command"`
	Accepted bool   `json:"accepted"`
	Reason   string `json:"reason"`
	DryRun   bool   `json:"dryRun"`
}

// printPlan prints how many orders have each expected effect. whole is true for a dry run. The JSON output of
// a dry run has one line for each order.
func (o *bulkOptions) printPlan(orders []bulk.Order, whole bool) error {
	a := o.app
	if a.JSON() {
		for i := 0; i < len(orders) && whole; i++ {
			d := &orders[i]
			if err := a.PrintLine(planLine{
				d.OrderID, o.action.Command, d.Result == "", d.Would,
				true,
			}); err != nil {
				return err
			}
		}
		return nil
	}
	out := a.Streams.Err
	if whole {
		out = a.Streams.Out
		fmt.Fprintf(out, "dry run: %s, nothing was sent\n", view.Count(len(orders), "order"))
	}
	for _, g := range bulk.Groups(orders) {
		if g.Refused {
			g.Would = "refused: " + g.Would
		}
		fmt.Fprintf(out, "%5d %s: %s\n", len(g.IDs), render.Clean(g.Would), some(g.IDs))
	}
	return nil
}

// confirm shows what would happen and asks the user. With --yes it does neither.
func (o *bulkOptions) confirm(orders []bulk.Order) error {
	if !o.yes {
		if err := o.printPlan(orders, false); err != nil {
			return err
		}
	}
	n := view.Count(len(orders), "order")
	return confirm(o.app, o.yes, fmt.Sprintf("Send %s to %s?", o.action.Command, n),
		"selected: "+n+", and nothing was sent")
}
