package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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

// effectTimeout is the default time after which an order that has not passed its step counts as unknown.
const effectTimeout = 5 * time.Minute

// eachOrder is the reach of the commands that take orders by their IDs or by --where.
var eachOrder = app.Reach{
	Server: true, Stack: true,
	Timeout: "how long to wait for each order (default 30s; with --where 5m, then it counts as unknown)",
}

func whereFlag(to *map[string]string, text string) app.Flag {
	words := make([]string, len(bulk.States))
	for i, state := range bulk.States {
		words[i] = "state=" + string(state)
	}
	return app.WhichOrders.Flag("where", to,
		"select orders by `KEY=VALUE,...`: "+strings.Join(bulk.Keys, ", ")+text).Offers(app.Offer{Suggest: words})
}

// paceFlags returns the flags for the orders that --where selects.
func (o *orderCommand) paceFlags() []app.Flag {
	pace := &o.Pace
	*pace = bulk.Pace{Canary: 5, Rate: 10, StopAt: 0.2}
	return []app.Flag{
		app.PaceFlags.Flag("canary", &pace.Canary,
			"first send to this `number` of orders; the rest follows when those pass the step; 0 means no canary").
			Within("0", ""),
		app.PaceFlags.Flag("rate", &pace.Rate, "commands a `second`").Within("0.001", "1000"),
		app.PaceFlags.Flag("stop-at", &pace.StopAt,
			"stop when a larger `share` of orders fails again, 0 to 1").Within("0", "1"),
		app.PaceFlags.Flag("journal", &o.journal,
			"`file` for the list of orders and their results (default: bulk-ID.jsonl in this folder)"),
	}
}

// selectable returns the cobra command. The flags in single belong to named orders, and those in both to either.
func (o *orderCommand) selectable(text app.Text, single, both []app.Flag) *cobra.Command {
	text.Reach = eachOrder
	text.Long += "\n\nWith --where the command goes to many orders: `stepkeeper continue --help` explains how."
	if text.Args.Least == 0 { // resolve has more arguments than orders
		text.Args = app.Args{Any: true, What: "the ID of an order, or several"}
		text.Offer = app.Orders
	}
	pace := o.paceFlags()
	flags := o.flags("command", slices.Concat(single, both, pace, []app.Flag{
		whereFlag((*map[string]string)(&o.Where), "; in Error unless it names a state"),
		app.CommandFlags.Flag("dry-run", &o.dryRun, "send nothing; print what would happen to each order"),
		yesFlag(&o.yes),
	}))
	single = append(single, app.Flag{Name: "command-id"})
	text.Args.What += ", or --where"
	return o.app.Command(text, flags, func(cmd *cobra.Command, given []string) error {
		orders := len(given) - text.Args.Least // The step and the fact of resolve follow the orders.
		o.ids = given[:orders]
		if orders < len(given) {
			o.Step = given[orders]
			o.Fact = core.Fact(given[orders+1])
		}
		many := cmd.Flags().Changed("where")
		if many == (orders > 0) {
			return o.whichOrders(cmd, text)
		}
		if many {
			if err := app.Foreign(cmd, single, "an order that is named by its ID"); err != nil {
				return err
			}
			return o.runMany(cmd.Context())
		}
		if err := app.Foreign(cmd, pace, "orders that --where selects"); err != nil {
			return err
		}
		return o.run(cmd.Context())
	})
}

// whichOrders returns the error for orders that are named and selected, or neither.
func (o *orderCommand) whichOrders(cmd *cobra.Command, text app.Text) error {
	if len(o.ids) > 0 {
		return failure.New(failure.Usage, "give the IDs of orders, or --where",
			"--where selects the orders, and order %.140s is named too", o.ids[0])
	}
	return failure.New(failure.Usage, fmt.Sprintf("write `%s`; see `%s --help`", cmd.UseLine(), cmd.CommandPath()),
		"%s needs %s", cmd.CommandPath(), text.Args.What)
}

var continueText = app.Text{
	Use:      "continue JOURNAL",
	Group:    "operator",
	Short:    "Continue an interrupted command to many orders",
	Examples: "  stepkeeper continue bulk-20261124-101500-k3f9.jsonl",
	Long: "A command with --where first prints what would happen to each order, and asks. Then it writes the list of\n" +
		"orders into a journal, with the command number of each. An order that changes meanwhile refuses the\n" +
		"command. The command goes to a few orders first, the canary, and to the rest when those are fixed: they\n" +
		"have passed the step at which they stopped. It stops when too large a share fails again. The journal\n" +
		"holds the result of each order.\n\n" +
		"`continue` continues such a list at its own pace, sends nothing twice, and refuses another server or\n" +
		"stack. The canary comes first if it was not fixed. JOURNAL.lock beside it keeps a second command from\n" +
		"the list on Windows.",
	Args:  app.Args{Least: 1, Most: 1, What: "the journal of a command with --where"},
	Offer: app.Files("jsonl"),
	Reach: app.Reach{Server: true, Stack: true},
}

func newContinue(a *app.App) *cobra.Command {
	return a.Command(continueText, nil, func(cmd *cobra.Command, given []string) error {
		c, err := a.Client(cmd.Context())
		if err != nil {
			return err
		}
		return work(cmd.Context(), a, c, given[0])
	})
}

func (o *orderCommand) runMany(ctx context.Context) error {
	if strings.TrimSpace(o.Reason) == "" {
		return noReason("nothing was sent")
	}
	o.By = sender(o.By)
	h := o.Header
	h.Patience = cmp.Or(o.app.Timeout, effectTimeout).Seconds()
	if err := h.Named(o.app.Now()); err != nil {
		return failure.Wrap(err, failure.Usage, "see `stepkeeper "+o.Command+" --help`",
			"nothing was sent")
	}
	c, err := o.app.Client(ctx)
	if err != nil {
		return err
	}
	bar := o.app.Streams.Progress("reading", 0)
	orders, err := bulk.Select(ctx, c, h.Where, h.Action, bar.Set)
	bar.Done()
	if err != nil {
		return o.app.Explain(err, "list of orders")
	}
	if len(orders) == 0 {
		if err := o.app.KnownWorkflow(ctx, c, h.Where["workflow"]); err != nil {
			return err
		}
		return failure.New(failure.NotFound, "check the selection with `stepkeeper list --where`; a command "+
			"selects orders in Error unless it names a state", "no order matches, so nothing was sent")
	}
	if o.dryRun {
		return o.printPlan(orders)
	}
	if err := o.confirmMany(orders); err != nil {
		return err
	}
	journal := cmp.Or(o.journal, h.File())
	if err := bulk.Create(journal, h, orders); err != nil {
		return failure.Wrap(err, failure.Usage, "choose another one with --journal",
			"the journal cannot be written")
	}
	return work(ctx, o.app, c, journal)
}

// work sends the commands of a journal and prints the results.
func work(ctx context.Context, a *app.App, c *client.Client, journal string) error {
	l, err := bulk.Open(journal)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return app.Unread(err, "name the file that a command with --where wrote", "journal")
	case errors.Is(err, bulk.ErrBusy):
		return failure.Wrap(err, failure.Refused,
			"wait until the other process ends, or end it; then continue it", "the journal %s", journal)
	case err != nil:
		return failure.Wrap(err, failure.Usage,
			"name the file that a command with --where wrote, or make a new list", "the journal %s", journal)
	}
	if err := l.Belongs(ctx, c); err != nil {
		err = errors.Join(err, l.Close())
		if errors.Is(err, bulk.ErrElsewhere) {
			return failure.Wrap(err, failure.Refused, "name the one that it was made for with --server or --stack",
				"nothing was sent for the journal %s", journal)
		}
		return a.Explain(err, "orders of the journal "+journal)
	}
	if !a.JSON() {
		fmt.Fprintf(a.Streams.Err, "%s: %s %s, journal %s\n", l.Bulk, l.Command,
			view.Count(l.Orders, "order"), journal)
	}
	bar := a.Streams.Progress(l.Command, int64(l.Orders))
	r, err := l.Run(ctx, c, func(n bulk.Report) {
		bar.Set(len(n.Fixed)+len(n.Again)+len(n.Refused), l.Orders)
	})
	bar.Done()
	err = errors.Join(err, l.Close())
	if err != nil {
		return failure.Wrap(err, failure.General, "make room, then `stepkeeper continue "+message.Quoted(journal)+"`",
			"the journal %s", journal)
	}
	return reportMany(a, journal, &r)
}

// reportMany prints the results. If an order was not fixed, reportMany returns an error with the code Refused.
func reportMany(a *app.App, journal string, r *bulk.Report) error {
	if a.JSON() {
		a.PrintLine(r)
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
		advise(a, journal, r)
	}
	if len(r.Fixed) != r.Orders {
		return failure.Silent(failure.Refused, "not every order was fixed")
	}
	return nil
}

func advise(a *app.App, journal string, r *bulk.Report) {
	out := a.Streams.Out
	program := a.Program()
	if len(r.Again) > 0 {
		fmt.Fprintln(out, "fix the cause first")
	}
	if n := len(r.NotSent) + len(r.Unknown); n > 0 {
		fmt.Fprintf(out, "`%s continue %s` sends to the %s not sent or unknown\n", program, message.Quoted(journal),
			view.Count(n, "order"))
	}
	if n := len(r.Again); n > 0 {
		fmt.Fprintf(out, "for the %s that failed again, run the same `%s %s --where …` once more: "+
			"continue does not repeat them\n", view.Count(n, "order"), program, r.Command)
	}
}

const fewIDs = 10

func some(ids []string) string {
	if len(ids) > fewIDs {
		return strings.Join(ids[:fewIDs], " ") + " …"
	}
	return strings.Join(ids, " ")
}

// printPlan prints what would happen to each order of a dry run. Like each, it returns an error with the code Refused
// if an order would refuse the command.
func (o *orderCommand) printPlan(orders []bulk.Order) error {
	a := o.app
	if !a.JSON() {
		fmt.Fprintf(a.Streams.Out, "dry run: %s, nothing was sent\n", view.Count(len(orders), "order"))
		printGroups(a.Streams.Out, orders)
	}
	worst := failure.OK
	for i := range orders {
		line := verdictLine{Reason: orders[i].Would}
		if orders[i].Result != "" {
			line.Exit = failure.Refused
		}
		worst = failure.Worst(worst, line.Exit)
		if a.JSON() {
			o.print(orders[i].OrderID, line)
		}
	}
	return o.verdict(worst)
}

// printGroups prints how many orders have each expected effect.
func printGroups(out io.Writer, orders []bulk.Order) {
	for _, g := range bulk.Groups(orders) {
		if g.Refused {
			g.Would = "refused: " + g.Would
		}
		fmt.Fprintf(out, "%5d %s: %s\n", len(g.IDs), render.Clean(g.Would), some(g.IDs))
	}
}

// confirmMany shows what would happen and asks the user. With --yes it does neither.
func (o *orderCommand) confirmMany(orders []bulk.Order) error {
	if !o.yes && !o.app.JSON() {
		printGroups(o.app.Streams.Err, orders)
	}
	n := view.Count(len(orders), "order")
	return confirm(o.app, o.yes, fmt.Sprintf("Send %s to %s?", o.Command, n),
		"selected: "+n+", and nothing was sent")
}
