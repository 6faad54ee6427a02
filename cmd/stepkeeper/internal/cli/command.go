package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os/user"
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
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// orderCommand holds the common parts of all commands to orders.
type orderCommand struct {
	app    *app.App
	action bulk.Action
	ids    []string
	id     string // ID of the command; "" makes one (P5)
	number int    // command number to send; -1 means the order's present number (P5)
	dryRun bool
}

// verdictLine is one verdict with --output json, one per line.
type verdictLine struct {
	OrderID  string            `json:"orderId"`
	Command  string            `json:"command"` // cancel, undo, resubmit, resolve, move, close, erase
	Accepted bool              `json:"accepted"`
	Reason   string            `json:"reason,omitempty"`
	DryRun   bool              `json:"dryRun,omitempty"` // nothing was sent
	Report   *author.Simulated `json:"simulated,omitempty"`
	Exit     failure.Code      `json:"exit"` // exit code that this order alone would cause
}

// orderCmd returns the cobra command of a command that takes the IDs of several orders.
func (o *orderCommand) orderCmd(name string, own app.Flags, run func(context.Context) error) *cobra.Command {
	flags := app.Flags{"by": &o.action.By, "reason": &o.action.Reason, "command-id": &o.id}
	maps.Copy(flags, own)
	return o.app.Command(name, flags, func(cmd *cobra.Command, given []string) error {
		o.ids = given
		return run(cmd.Context())
	})
}

// checkDefinition refuses a --definition that is neither latest nor a hash.
func (o *orderCommand) checkDefinition() error {
	if o.action.Definition == "" || message.IsDefinition(o.action.Definition) {
		return nil
	}
	return failure.New(failure.Usage, whichDefinition, "%q is not a definition", o.action.Definition)
}

const whichDefinition = "give --definition latest, or the hash that `show` and `workflow list` print: 32 " +
	"hexadecimal digits"

// checkSender checks the flags --by and --reason. Without --by it sets the user of this computer.
func (o *orderCommand) checkSender() error {
	if len(o.action.Reason) > core.MaxMessage {
		return failure.New(failure.Usage, fmt.Sprintf("write at most %d bytes", core.MaxMessage),
			"--reason has %d bytes", len(o.action.Reason))
	}
	if o.action.By = sender(o.action.By); len(o.action.By) > message.MaxBy {
		return o.noSender()
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

// sender returns the sender of a command: by, or the user of this computer.
func sender(by string) string {
	if u, err := user.Current(); by == "" && err == nil {
		return u.Username
	}
	return by
}

// checkOrders checks the orders' IDs, and the flags that belong to one order only.
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

// confirm asks the user to confirm a command. If the user declines, it returns an error with the text not.
func confirm(a *app.App, question, what, not string) (bool, error) {
	ok, err := a.Streams.Confirm(question)
	if err != nil {
		return false, failure.Wrap(err, failure.General, "", "%s", what)
	}
	if !ok {
		return false, failure.New(failure.General, "answer y, or give --yes", "%s", not)
	}
	return true, nil
}

// each sends the command to each order and prints its verdict. It returns the worst exit code.
func (o *orderCommand) each(ctx context.Context,
	send func(ctx context.Context, c *client.Client, id string) (verdictLine, error)) error {
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
			line.Exit, line.Reason = f.Code, strings.TrimSuffix(f.Error()+"; "+f.Do, "; ")
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

// send reads the order's command number, and sends the command with it (P5, commands have a number and an
// ID). A dry run sends nothing.
func (o *orderCommand) send(ctx context.Context, c *client.Client, id string,
	opts ...client.CommandOption) (verdictLine, error) {
	ctx, cancel := o.app.Bounded(ctx, app.DefaultTimeout)
	defer cancel()
	task, err := c.Get(ctx, id)
	if err != nil {
		return verdictLine{}, err
	}
	if o.action.Step != "" && o.action.Definition == "" { // another definition may have other steps
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

func verdictOf(v core.Verdict, err error) (verdictLine, error) {
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

// stepOf returns a step of an order, or nil.
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
	line.OrderID, line.Command, line.DryRun = id, o.action.Command, o.dryRun
	line.Accepted = line.Exit == failure.OK
	if a.JSON() {
		return a.PrintLine(line)
	}
	style, rest, name := a.Streams.Style(), "", line.Command
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
	unknown bool // cancel even an order that has not arrived
}

func newCancel(a *app.App) *cobra.Command {
	o := &cancelOptions{orderCommand: orderCommand{app: a, action: bulk.Action{Command: "cancel"},
		number: -1}}
	return o.orderCmd("cancel", app.Flags{"unknown": &o.unknown},
		func(ctx context.Context) error { return runCancel(ctx, o) })
}

func runCancel(ctx context.Context, o *cancelOptions) error {
	if err := cmp.Or(o.checkSender(), o.checkOrders()); err != nil {
		return err
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
