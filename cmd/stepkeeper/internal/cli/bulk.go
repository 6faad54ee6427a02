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

var bulkText = app.Text{
	Use:   "bulk",
	Group: "operator",
	Short: "Send one command to many orders",
	Long: "A bulk command first writes the list of orders into a file, with the command number of each. An order\n" +
		"that changes meanwhile refuses it. The command goes to a few orders first, the canary, and to the rest\n" +
		"when those are fixed: they have passed the step at which they stopped. It stops when too large a share\n" +
		"fails again. The file holds the result of each order; `stepkeeper bulk continue FILE` continues an\n" +
		"interrupted list and sends nothing twice. FILE.lock beside it keeps a second command from the list.\n" +
		"Delete both files together.\n\n" +
		"--where selects orders by state, workflow, step, code, id and older, and all of them must match. It\n" +
		"selects orders in Error unless it names another state.",
}

func newBulk(a *app.App) *cobra.Command {
	commands := []*cobra.Command{newBulkContinue(a)}
	for _, name := range bulk.Commands {
		commands = append(commands, newBulkCommand(a, name))
	}
	return a.Group(bulkText, commands...)
}

// bulkCommandText returns the help of a command to many orders.
func bulkCommandText(name string) app.Text {
	text := app.Text{
		Use: name + " --where KEY=VALUE,... --reason TEXT",
		Short: map[string]string{
			"resubmit": "Continue many orders in Error",
			"undo":     "Give up many orders and undo what they did",
			"cancel":   "Stop many orders and undo what they did",
			"resolve":  "State what happened to a step of many orders",
			"move":     "Pin many orders to another definition of their workflow",
			"close":    "End many orders in Error as they stand",
		}[name],
		Long:  "`stepkeeper bulk --help` explains the list, the canary and the pace.",
		Reach: app.Reach{Server: true, Stack: true},
	}
	args, flags := "", ""
	switch name {
	case "resolve":
		args = " charge-payment not-happened"
		text.Use = "resolve STEP happened|not-happened|undone --where KEY=VALUE,... --reason TEXT"
		text.Args = app.Args{Least: 2, Most: 2, What: "a step, and what happened"}
	case "move":
		flags = " --definition latest"
	}
	example := "  stepkeeper bulk " + name + args + " --where step=charge-payment,code=http-503" + flags +
		` --reason "the bank was down"`
	text.Examples = example + " --dry-run\n" + example + " --yes"
	return text
}

func newBulkCommand(a *app.App, name string) *cobra.Command {
	o := &bulkOptions{
		app: a, action: bulk.Action{Command: name}, patience: 5 * time.Minute,
		pace: bulk.Pace{Canary: 5, Rate: 10, StopAt: 0.2},
	}
	flags := o.flags()
	if name == "move" || name == "resubmit" {
		flags = append(flags, definitionFlag(&o.action.Definition))
	}
	return a.Command(bulkCommandText(name), flags, func(cmd *cobra.Command, given []string) error {
		if name == "resolve" {
			o.action.Step = given[0]
			o.action.Fact = core.Fact(given[1])
		}
		return runBulk(cmd.Context(), o)
	})
}

var bulkContinueText = app.Text{
	Use:      "continue FILE",
	Short:    "Continue an interrupted list",
	Examples: "  stepkeeper bulk continue bulk-20261124-101500-k3f9.jsonl",
	Long:     "It continues at the list's own pace. The canary comes first if it was not fixed.",
	Args:     app.Args{Least: 1, Most: 1, What: "the file of a list"},
	Reach:    app.Reach{Server: true, Stack: true},
}

func newBulkContinue(a *app.App) *cobra.Command {
	o := &bulkOptions{app: a}
	return a.Command(bulkContinueText, nil, func(cmd *cobra.Command, given []string) error {
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
		return failure.Wrap(err, failure.Usage, "choose another one with --journal",
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
