package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/author"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/bulk"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

type orderCommand struct {
	app    *app.App
	action bulk.Action
	ids    []string
	id     string // ID of the command; "" means a new ID
	number int    // command number to send; -1 means the order's present number
	dryRun bool
	yes    bool
	many   selection
}

// verdictLine is the JSON output for the verdict on one order.
type verdictLine struct {
	OrderID  string            `json:"orderId"`
	Command  string            `json:"command"`
	Accepted bool              `json:"accepted"`
	Reason   string            `json:"reason,omitempty"`
	DryRun   bool              `json:"dryRun,omitempty"` // true if nothing was sent
	Report   *author.Simulated `json:"simulated,omitempty"`
	Exit     failure.Code      `json:"exit"` // exit code for this order alone
}

// orderCmd returns the cobra command for a command to orders. The argument own holds the flags that only this
// command has. The argument noun is what keeps the sender's name and reason.
func (o *orderCommand) orderCmd(text app.Text, noun string, own []app.Flag,
	run func(context.Context) error,
) *cobra.Command {
	return o.app.Command(text, o.flags(noun, own), func(cmd *cobra.Command, given []string) error {
		o.ids = given
		return run(cmd.Context())
	})
}

// flags adds the flags of every command to orders.
func (o *orderCommand) flags(noun string, own []app.Flag) []app.Flag {
	return slices.Concat(own, []app.Flag{{
		In: app.CommandFlags, Name: "command-id", To: &o.id,
		Text: "send the command under this `ID`; one ID takes effect once and gets one verdict",
	}}, recordFlags(&o.action.By, &o.action.Reason, noun))
}

func (o *orderCommand) checkDefinition() error {
	if o.action.Definition == "" || message.IsDefinition(o.action.Definition) {
		return nil
	}
	return failure.New(failure.Usage, whichDefinition, "%q is not a definition", o.action.Definition)
}

const whichDefinition = "give --definition latest, or the hash that `show` and `workflow list` print: 32 " +
	"hexadecimal digits"

func (o *orderCommand) checkSender() error {
	if len(o.action.Reason) > core.MaxMessage {
		return failure.New(failure.Usage, fmt.Sprintf("write at most %d bytes", core.MaxMessage),
			"--reason has %d bytes", len(o.action.Reason))
	}
	o.action.By = sender(o.action.By)
	if len(o.action.By) > message.MaxBy {
		return o.noSender()
	}
	return checkTexts(o.action.By, o.action.Reason)
}

// checkTexts returns an error for a sender's name or a reason that no command may have.
func checkTexts(by, reason string) error {
	if err := message.CheckTexts(by, reason); err != nil {
		return failure.New(failure.Usage, "", "nothing was sent: %v", err)
	}
	return nil
}

func (o *orderCommand) noSender() error {
	return failure.New(failure.Usage, fmt.Sprintf("add --by NAME, of at most %d bytes", message.MaxBy),
		"the name of who sends the command has %d bytes", len(o.action.By))
}

func noReason(not string) error {
	return failure.New(failure.Usage, fmt.Sprintf("add --reason TEXT, of at most %d bytes: it says why",
		core.MaxMessage), "--reason is missing, and %s", not)
}

// sender returns the argument by, or the name of this computer's user if the argument is "".
func sender(by string) string {
	if u, err := user.Current(); by == "" && err == nil {
		return u.Username
	}
	return by
}

// checkOrders checks the IDs of the orders. It also returns an error if the user gave several orders and a
// flag that applies to only one order.
func (o *orderCommand) checkOrders() error {
	for _, id := range o.ids {
		if err := app.CheckID(id); err != nil {
			return err
		}
	}
	if o.number >= 0 && len(o.ids) > 1 {
		return failure.New(failure.Usage, "give one order, or leave --command out",
			"--command belongs to one order, not to %d", len(o.ids))
	}
	if o.id != "" && len(o.ids) != 1 {
		return failure.New(failure.Usage, "give one order, or leave --command-id out",
			"--command-id belongs to one command of one order")
	}
	return nil
}

// confirm asks the user before a command whose effect cannot be reverted. If yes is true, it does not ask.
// Without a terminal nobody can answer, so a script must give --yes. not is the text of the error if the user
// declines or cannot answer.
func confirm(a *app.App, yes bool, question, not string) error {
	if yes {
		return nil
	}
	if !a.Streams.Interactive() {
		return failure.New(failure.Usage, "add --yes: without a terminal nobody can confirm", "%s", not)
	}
	ok, err := a.Streams.Confirm(question)
	if err != nil {
		return failure.Wrap(err, failure.General, "", "%s", not)
	}
	if !ok {
		return failure.New(failure.General, "answer y, or give --yes", "%s", not)
	}
	return nil
}

// each calls send for each order and prints the verdict. It returns an error with the worst exit code of the
// orders. It stops at the first error with a code other than Refused and NotFound.
func (o *orderCommand) each(ctx context.Context,
	send func(ctx context.Context, c *client.Client, id string) (verdictLine, error),
) error {
	c, err := o.app.Client(ctx)
	if err != nil {
		return err
	}
	worst := failure.OK
	for _, id := range o.ids {
		line, err := send(ctx, c, id)
		if err != nil {
			f := o.app.Explain(err, "order "+id)
			if f.Code != failure.Refused && f.Code != failure.NotFound {
				return f
			}
			line.Exit = f.Code
			line.Reason = strings.TrimSuffix(f.Error()+"; "+f.Do, "; ")
		}
		if err := o.print(id, line); err != nil {
			return err
		}
		worst = failure.Worst(worst, line.Exit)
	}
	if worst != failure.OK {
		return failure.Silent(worst, o.action.Command+" was not accepted for every order")
	}
	return nil
}

// send sends the command to an order with a command number (P5, commands have a number and an ID). If the
// user gave no number, send uses the order's present number. A dry run sends nothing.
func (o *orderCommand) send(ctx context.Context, c *client.Client, id string,
	opts ...client.CommandOption,
) (verdictLine, error) {
	ctx, cancel := o.app.Bounded(ctx, app.DefaultTimeout)
	defer cancel()
	task, err := c.Get(ctx, id)
	if err != nil {
		return verdictLine{}, err
	}
	if o.action.Step != "" && o.action.Definition == "" { // A new definition may have other steps.
		if err := hasStep(task, o.action.Step); err != nil {
			return verdictLine{}, err
		}
	}
	if o.dryRun {
		return verdictOf(bulk.Would(ctx, c, task, o.action))
	}
	number := o.number
	if number < 0 {
		number = task.Command
	}
	return verdictOf(o.action.Send(ctx, c, id, number, o.id, opts...))
}

func verdictOf(v protocol.Verdict, err error) (verdictLine, error) {
	if !v.Accepted {
		return verdictLine{Reason: v.Reason, Exit: failure.Refused}, err
	}
	return verdictLine{Reason: v.Reason}, err
}

func hasStep(task *view.Task, step string) error {
	if stepOf(task, step) != nil {
		return nil
	}
	var names []string
	for _, s := range task.Steps {
		names = append(names, s.Name)
	}
	return failure.New(failure.NotFound, "its steps are "+strings.Join(names, ", "),
		"order %s has no step %.60q", task.OrderID, step)
}

func stepOf(task *view.Task, name string) *view.Step {
	for i := range task.Steps {
		if task.Steps[i].Name == name {
			return &task.Steps[i]
		}
	}
	return nil
}

func (o *orderCommand) print(id string, line verdictLine) error {
	a := o.app
	line.OrderID = id
	line.Command = o.action.Command
	line.DryRun = o.dryRun
	line.Accepted = line.Exit == failure.OK
	if a.JSON() {
		return a.PrintLine(line)
	}
	style := a.Streams.Style()
	rest := ""
	name := line.Command
	if o.dryRun {
		name = "dry run: " + name
	}
	if line.Reason != "" {
		rest = ": " + render.Clean(line.Reason)
	}
	if !line.Accepted {
		fmt.Fprintf(a.Streams.Err, "%s: %s %s%s\n", id, name, style.Bad("refused"), rest)
		return nil
	}
	fmt.Fprintf(a.Streams.Out, "%s: %s %s%s\n", id, name, style.Good("accepted"), rest)
	return nil
}

type cancelOptions struct {
	orderCommand
	unknown bool // true to cancel an order that may not have arrived yet
}

var cancelText = app.Text{
	Use:   "cancel ID...|--where KEY=VALUE,...",
	Group: "operator",
	Short: "Stop orders and undo what they did",
	Examples: `  stepkeeper cancel order-1001
  stepkeeper cancel order-1001 --unknown
  stepkeeper cancel --where state=Processing,workflow=trip --reason "the season is over" --dry-run`,
	Long: "A Processed order, or one past its point of no return, refuses it. Nothing resubmits a cancelled order.\n\n" +
		"With --where the command goes to many orders: `stepkeeper continue --help` explains how.",
	Args:  app.Args{Any: true, What: "the ID of an order, or several"},
	Offer: app.Orders,
}

func newCancel(a *app.App) *cobra.Command {
	o := &cancelOptions{orderCommand: orderCommand{
		app: a, action: bulk.Action{Command: "cancel"},
		number: -1,
	}}
	return o.selectable(cancelText, []app.Flag{
		{
			In: app.CommandFlags, Name: "unknown", To: &o.unknown,
			Text: "cancel an order that has not arrived too; it will not run when it arrives",
		},
	}, nil,
		func(ctx context.Context) error { return runCancel(ctx, o) })
}

func runCancel(ctx context.Context, o *cancelOptions) error {
	if err := cmp.Or(o.checkSender(), o.checkOrders()); err != nil {
		return err
	}
	if o.unknown && o.dryRun {
		return failure.New(failure.Usage, "leave one of them out",
			"--dry-run asks the order, and --unknown is for one that has not arrived")
	}
	return o.each(ctx, func(ctx context.Context, c *client.Client, id string) (verdictLine, error) {
		if o.unknown {
			ctx, cancel := o.app.Bounded(ctx, app.DefaultTimeout)
			defer cancel()
			return verdictOf(o.action.Send(ctx, c, id, 0, o.id))
		}
		line, err := o.send(ctx, c, id)
		if errors.Is(err, client.ErrNotFound) {
			f := o.app.Explain(err, "order "+id)
			f.Do = "check the ID; to keep an order from running that has not arrived yet, add --unknown"
			return line, f
		}
		return line, err
	})
}
