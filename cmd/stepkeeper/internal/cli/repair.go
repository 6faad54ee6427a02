package cli

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/author"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

var undoText = app.Text{
	Use:   "undo ID...|--where KEY=VALUE,...",
	Group: "operator",
	Short: "Give up orders in Error and undo what they did",
	Examples: `  stepkeeper undo order-1001
  stepkeeper undo order-1001 order-1002 --yes
  stepkeeper undo --where workflow=trip,older=7d --reason "the trips are over" --dry-run`,
	Long: "It undoes every step that was ever attempted, in reverse order. An order past its point of no return refuses it.",
}

func newUndo(a *app.App) *cobra.Command {
	o := newOrderCommand(a, "undo")
	o.doubt = "Give up %s and undo all that was done?"
	o.done = "undone"
	return o.selectable(undoText, []app.Flag{numberFlag(&o.number)}, nil)
}

var closeText = app.Text{
	Use:   "close ID...|--where KEY=VALUE,... --reason TEXT",
	Group: "operator",
	Short: "End orders in Error as they stand",
	Examples: `  stepkeeper close order-1001 --reason "refunded by hand, ticket 4711"
  stepkeeper close order-1001 order-1002 --reason "settled by hand" --yes
  stepkeeper close --where step=charge-payment,code=http-503 --reason "refunded by hand" --dry-run`,
	Long: `Use it for an order that you settled by hand. Its steps keep their states, without an undo. A Closed order
accepts no further command. The order refuses the command while a step is in flight, or a call may still take effect.
The application gets the reason.`,
}

func newClose(a *app.App) *cobra.Command {
	o := newOrderCommand(a, "close")
	o.signed = true
	o.doubt = "End %s as it stands, for good?"
	o.done = "closed"
	return o.selectable(closeText, []app.Flag{numberFlag(&o.number)}, nil)
}

var eraseText = app.Text{
	Use:   "erase ID... --reason TEXT",
	Group: "operator",
	Short: "Remove personal data from ended orders",
	Examples: `  stepkeeper erase order-1001 --reason "the customer asked for it, ticket 4711"
  stepkeeper erase order-1001 order-1002 --reason "ticket 4711" --yes`,
	Long: `It removes the content, inputs, outputs, answers, texts and notes at once, for good. States, times, the senders
of commands, and the hash of the content stay, so that the ID never runs again. Name no person in --reason.
The order refuses the command until it and its parent have ended. Erase its child orders too.`,
	Args:  app.Args{Least: 1, Any: true, What: "the ID of an order, or several"},
	Offer: app.Orders,
	Reach: app.ServerOrStack,
}

func newErase(a *app.App) *cobra.Command {
	o := newOrderCommand(a, "erase")
	o.signed = true
	o.doubt = "Remove the content, inputs and outputs of %s, for good?"
	o.done = "erased"
	flags := o.flags("command", []app.Flag{numberFlag(&o.number), yesFlag(&o.yes)})
	return a.Command(eraseText, flags, func(cmd *cobra.Command, given []string) error {
		o.ids = given
		return o.run(cmd.Context())
	})
}

var cancelText = app.Text{
	Use:   "cancel ID...|--where KEY=VALUE,...",
	Group: "operator",
	Short: "Stop orders and undo what they did",
	Examples: `  stepkeeper cancel order-1001
  stepkeeper cancel order-1001 --unknown
  stepkeeper cancel --where state=Processing,workflow=trip --reason "the season is over" --dry-run`,
	Long: "A Processed order, or one past its point of no return, refuses it. Nothing resubmits a cancelled order.",
}

func newCancel(a *app.App) *cobra.Command {
	o := newOrderCommand(a, "cancel")
	unknown := false
	o.prepare = func() ([]client.CommandOption, error) {
		if unknown && o.dryRun {
			return nil, failure.New(failure.Usage, "leave one of them out",
				"--dry-run asks the order, and --unknown is for one that has not arrived")
		}
		return nil, nil
	}
	o.one = func(ctx context.Context, c *client.Client, id string) (verdictLine, error) {
		if unknown {
			ctx, cancel := a.Bounded(ctx, app.DefaultTimeout)
			defer cancel()
			return verdictOf(o.Send(ctx, c, id, 0, o.id))
		}
		line, err := o.send(ctx, c, id)
		if errors.Is(err, client.ErrNotFound) {
			f := a.Explain(err, "order "+id)
			f.Do = "check the ID; to keep an order from running that has not arrived yet, add --unknown"
			return line, f
		}
		return line, err
	}
	return o.selectable(cancelText, []app.Flag{
		app.CommandFlags.Flag("unknown", &unknown,
			"cancel an order that has not arrived too; it will not run when it arrives"),
	}, nil)
}

var resubmitText = app.Text{
	Use:   "resubmit ID...|--where KEY=VALUE,...",
	Group: "operator",
	Short: "Continue orders in Error, or restart undone orders",
	Examples: `  stepkeeper resubmit order-1001
  stepkeeper resubmit order-1001 --deadline 2h
  stepkeeper resubmit --where step=charge-payment,code=http-503 --reason "the bank was down" --dry-run
  stepkeeper resubmit order-1001 --input charge-payment=corrected.json --reason "the currency was missing"`,
	Long: "Fix the cause first. An order in Error continues at the step that stopped it, forward or with its undo.\n" +
		"A Compensated order starts again from the beginning.\n\n" +
		"--input gives a step another input for this run. The step must not have been asked, or be resolved as\n" +
		"not-happened, because a service must not get two inputs under one key.",
}

func newResubmit(a *app.App) *cobra.Command {
	o := newOrderCommand(a, "resubmit")
	deadline := ""
	input := ""
	o.prepare = func() ([]client.CommandOption, error) {
		value, err := o.readInput(input)
		if err != nil {
			return nil, err
		}
		at, err := until(deadline, a.Now())
		return []client.CommandOption{client.NewDeadline(at), client.NewInput(o.Step, value)}, err
	}
	return o.selectable(resubmitText, []app.Flag{
		app.OrderFlags.Flag("deadline", &deadline,
			"new deadline: a `time` in RFC 3339, or a duration from now (default: no deadline)"),
		app.OrderFlags.Flag("input", &input,
			"input of a step: `STEP=FILE` with a JSON value; FILE - reads standard input"),
		numberFlag(&o.number),
	}, []app.Flag{definitionFlag(&o.Definition)})
}

// until returns the new deadline. Without the flag --deadline, it is the zero time, which removes a
// deadline that the order had before.
func until(given string, now time.Time) (deadline time.Time, err error) {
	if given == "" {
		return deadline, nil
	}
	if d, ok := core.ParseDuration(given); ok && d > 0 {
		return now.Add(d.Std()), nil
	}
	deadline, err = core.ParseTime(given)
	if err != nil {
		return deadline, failure.New(failure.Usage,
			"write a time like 2026-11-21T10:00:00Z, or a duration like 2h or 3d",
			"--deadline %q is neither a time nor a duration", given)
	}
	return deadline, nil
}

// readInput reads the flag --input, in the form STEP=FILE.
func (o *orderCommand) readInput(given string) (json.RawMessage, error) {
	if given == "" {
		return nil, nil
	}
	step, file, found := strings.Cut(given, "=")
	o.Step = step
	if !found || step == "" || file == "" {
		return nil, failure.New(failure.Usage, "write --input STEP=FILE",
			"--input %.80q names no step and file", given)
	}
	if len(o.ids) > 1 {
		return nil, failure.New(failure.Usage, "give one order, or leave --input out",
			"--input belongs to one order, not to %d", len(o.ids))
	}
	return o.app.ReadJSON(file, "input of step "+step, core.MaxInput)
}

var resolveText = app.Text{
	Use:   "resolve [ID] STEP happened|not-happened|undone",
	Group: "operator",
	Short: "State what happened to a step in doubt, or end a wait",
	Examples: `  stepkeeper resolve order-1001 charge-payment happened
  stepkeeper resolve order-1001 charge-payment happened --step-output charged.json
  stepkeeper resolve order-1001 cool-off happened
  stepkeeper resolve charge-payment not-happened --where step=charge-payment --reason "the bank was down"`,
	Long: "Look at the remote service first. The order stays in Error; `resubmit` or `undo` continues it. The\n" +
		"command is refused while the last attempt may still take effect; `show` prints until when.\n\n" +
		"Give --step-output if later steps read what the step returned. A step or an order that is being undone\n" +
		"takes none. A step that waits for a time ends at once if it is stated to have happened, and the order\n" +
		"goes on.",
	Args:  app.Args{Least: 2, Most: 3, What: "an order, a step, and what happened"},
	Offer: app.Offer{Complete: "steps", Suggest: []string{"happened", "not-happened", "undone"}},
}

func newResolve(a *app.App) *cobra.Command {
	o := newOrderCommand(a, "resolve")
	file := ""
	o.prepare = func() ([]client.CommandOption, error) {
		if file == "" {
			return nil, nil
		}
		output, err := a.ReadJSON(file, "output of step "+o.Step, core.MaxOutput)
		return []client.CommandOption{client.StepOutput(output)}, err
	}
	return o.selectable(resolveText, []app.Flag{
		app.OrderFlags.Flag("step-output", &file,
			"`file` with the JSON value that the step returned; - reads standard input"),
		numberFlag(&o.number),
	}, nil)
}

var moveText = app.Text{
	Use:   "move ID...|--where KEY=VALUE,... --definition latest|HASH",
	Group: "operator",
	Short: "Pin orders to another definition of their workflow",
	Examples: `  stepkeeper move order-1001 --definition latest --dry-run
  stepkeeper move order-1001 --definition latest --simulate
  stepkeeper move --where workflow=trip --definition latest --reason "the price was wrong" --dry-run`,
	Long: "An order runs the definition that was deployed when it arrived. If that definition has a bug, deploy a\n" +
		"corrected file and move the order. Completed steps must be the same in both definitions: --dry-run\n" +
		"prints the differences. An order in Error stays there; `resubmit --definition latest` moves and\n" +
		"continues it in one command.\n\n" +
		"--simulate first runs each order as the move would leave it, in virtual time and against every failure.\n" +
		"It moves the order only if it ends and breaks no invariant.",
}

func newMove(a *app.App) *cobra.Command {
	o := newOrderCommand(a, "move")
	seeds := 0 // for the simulation before the move; 0 means no simulation
	o.one = func(ctx context.Context, c *client.Client, id string) (verdictLine, error) {
		if seeds == 0 {
			return o.send(ctx, c, id)
		}
		report, err := author.SimulateMove(ctx, a, c, id, o.Definition, seeds)
		var f *failure.Error
		if errors.As(err, &f) && f.Code == failure.NotProcessed {
			return verdictLine{Report: report, Exit: f.Code, Reason: "it is not moved, because its simulation found " +
				"something wrong; correct that first, or move it without --simulate"}, nil
		}
		if err != nil {
			return verdictLine{Report: report}, err
		}
		line, err := o.send(ctx, c, id)
		line.Report = report
		return line, err
	}
	return o.selectable(moveText, []app.Flag{
		numberFlag(&o.number),
		{
			In: app.CommandFlags, Name: "simulate", To: &seeds, Bare: "2000", Least: "0",
			Text: "first simulate the moved order with this number of `seeds`; 2000 without a number",
		},
	}, []app.Flag{definitionFlag(&o.Definition)})
}
