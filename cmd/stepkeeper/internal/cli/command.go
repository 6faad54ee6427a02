package cli

import (
	"context"
	"fmt"
	"os/user"
	"slices"
	"strings"

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

// orderCommand is a command to orders that the user names by their IDs, or selects by --where.
type orderCommand struct {
	app         *app.App
	bulk.Header // the command, and the selection and pace of --where
	ids         []string
	id          string // ID of the command; "" means a new ID
	number      int    // command number to send; -1 means the order's present number
	dryRun      bool
	yes         bool
	journal     string // file for the list; "" means the default

	signed bool   // true if the command needs a sender and a reason
	doubt  string // question to the user, with "%s" for the orders, before a command that cannot be reverted; "" for none
	done   string // past participle of the command, for messages
	// prepare checks the flags of this command alone, and returns what they add to the command; may be nil.
	prepare func() ([]client.CommandOption, error)
	// one sends the command to one order; nil means the method send.
	one func(ctx context.Context, c *client.Client, id string) (verdictLine, error)
}

func newOrderCommand(a *app.App, name string) *orderCommand {
	return &orderCommand{app: a, Header: bulk.Header{Action: bulk.Action{Command: name}}, number: -1}
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

// flags adds the flags of every command to orders. The argument noun is what keeps the sender's name and reason.
func (o *orderCommand) flags(noun string, own []app.Flag) []app.Flag {
	id := app.CommandFlags.Flag("command-id", &o.id,
		"send the command under this `ID`; one ID takes effect once and gets one verdict")
	return slices.Concat(own, []app.Flag{id}, recordFlags(&o.By, &o.Reason, noun))
}

// run checks the command, asks the user if its effect cannot be reverted, and sends it to the named orders.
func (o *orderCommand) run(ctx context.Context) error {
	if o.signed && strings.TrimSpace(o.Reason) == "" {
		return noReason("nothing was " + o.done)
	}
	o.By = sender(o.By)
	if err := o.Action.Check(); err != nil {
		return failure.New(failure.Usage, "see `stepkeeper "+o.Command+" --help`", "nothing was sent: %v", err)
	}
	if err := o.checkOrders(); err != nil {
		return err
	}
	var opts []client.CommandOption
	if o.prepare != nil {
		var err error
		opts, err = o.prepare()
		if err != nil {
			return err
		}
	}
	if o.doubt != "" {
		what := o.ids[0]
		if len(o.ids) > 1 {
			what = fmt.Sprintf("%d orders (%s, …)", len(o.ids), what)
		}
		if err := confirm(o.app, o.yes || o.dryRun, fmt.Sprintf(o.doubt, what), "nothing was "+o.done); err != nil {
			return err
		}
	}
	if o.one != nil {
		return o.each(ctx, o.one)
	}
	return o.each(ctx, func(ctx context.Context, c *client.Client, id string) (verdictLine, error) {
		return o.send(ctx, c, id, opts...)
	})
}

// checkTexts returns an error for a sender's name or a reason that no command may have.
func checkTexts(by, reason string) error {
	if err := message.CheckTexts(by, reason); err != nil {
		return failure.New(failure.Usage, "", "nothing was sent: %s", message.Reason(err))
	}
	return nil
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
			line.Exit = f.Code
			line.Reason = strings.TrimSuffix(f.Error()+"; "+f.Do, "; ")
			if f.Code != failure.Refused && f.Code != failure.NotFound {
				if line.Report != nil {
					o.print(id, line)
				}
				return f
			}
		}
		o.print(id, line)
		worst = failure.Worst(worst, line.Exit)
	}
	return o.verdict(worst)
}

// verdict returns the error for the worst exit code of the orders, which are printed already.
func (o *orderCommand) verdict(worst failure.Code) error {
	if worst != failure.OK {
		return failure.Silent(worst, o.Command+" was not accepted for every order")
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
	if o.Step != "" && o.Definition == "" { // A new definition may have other steps.
		if err := hasStep(task, o.Step); err != nil {
			return verdictLine{}, err
		}
	}
	number := o.number
	if number < 0 {
		number = task.Command
	}
	switch {
	case o.dryRun && number != task.Command:
		return verdictLine{Exit: failure.Refused, Reason: fmt.Sprintf(
			"its command number is %d by now: load it again and repeat the command if it still applies", task.Command)}, nil
	case o.dryRun:
		return verdictOf(bulk.Would(ctx, c, task, o.Action))
	}
	return verdictOf(o.Send(ctx, c, id, number, o.id, opts...))
}

func verdictOf(v protocol.Verdict, err error) (verdictLine, error) {
	if !v.Accepted {
		return verdictLine{Reason: v.Reason, Exit: failure.Refused}, err
	}
	return verdictLine{Reason: v.Reason}, err
}

func hasStep(task *view.Task, step string) error {
	if task.Step(step) != nil {
		return nil
	}
	var names []string
	for _, s := range task.Steps {
		names = append(names, s.Name)
	}
	return failure.New(failure.NotFound, "its steps are "+strings.Join(names, ", "),
		"order %s has no step %.60q", task.OrderID, step)
}

func (o *orderCommand) print(id string, line verdictLine) {
	a := o.app
	line.OrderID = id
	line.Command = o.Command
	line.DryRun = o.dryRun
	line.Accepted = line.Exit == failure.OK
	if a.JSON() {
		a.PrintLine(line)
		return
	}
	rest := ""
	name := line.Command
	if o.dryRun {
		name = "dry run: " + name
	}
	if line.Reason != "" {
		rest = ": " + render.Clean(line.Reason)
	}
	if !line.Accepted {
		fmt.Fprintf(a.Streams.Err, "%s: %s %s%s\n", id, name, a.Streams.ErrStyle().Bad("refused"), rest)
		return
	}
	fmt.Fprintf(a.Streams.Out, "%s: %s %s%s\n", id, name, a.Streams.Style().Good("accepted"), rest)
}

// The flags that several commands have.

// recordFlags returns the flags of who did something and why. The parameter what keeps them.
func recordFlags(by, reason *string, what string) []app.Flag {
	return []app.Flag{
		app.RecordFlags.Flag("by", by,
			"your `name`, kept with the "+what+" (default: the user of this computer)"),
		app.RecordFlags.Flag("reason", reason, "your reason as `text`, kept with the "+what),
	}
}

func numberFlag(to *int) app.Flag {
	return app.CommandFlags.Flag("command", to,
		"refuse the command unless the order's command number is this `number` (default: the latest one)").
		Within("0", "")
}

func definitionFlag(to *string) app.Flag {
	return app.CommandFlags.Flag("definition", to,
		"definition of the workflow to move to: latest, or a `hash`").Offers(app.Offer{Suggest: []string{"latest"}})
}

func yesFlag(to *bool) app.Flag {
	return app.Flag{In: app.CommandFlags, Name: "yes", To: to, Short: "y", Text: "do not ask first"}
}
