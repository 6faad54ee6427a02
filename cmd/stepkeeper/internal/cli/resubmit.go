package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/bulk"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

type resubmitOptions struct {
	orderCommand
	deadline string
	input    string // new input of a step, in the form STEP=FILE
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
		"not-happened, because a service must not get two inputs under one key.\n\n" +
		"With --where the command goes to many orders: `stepkeeper continue --help` explains how.",
	Args:  app.Args{Any: true, What: "the ID of an order, or several"},
	Offer: app.Orders,
}

func newResubmit(a *app.App) *cobra.Command {
	o := &resubmitOptions{orderCommand: orderCommand{
		app: a, action: bulk.Action{Command: "resubmit"},
		number: -1,
	}}
	single := []app.Flag{
		{
			In: app.OrderFlags, Name: "deadline", To: &o.deadline,
			Text: "new deadline: a `time` in RFC 3339, or a duration from now (default: no deadline)",
		},
		{
			In: app.OrderFlags, Name: "input", To: &o.input,
			Text: "input of a step: `STEP=FILE` with a JSON value; FILE - reads standard input",
		},
		numberFlag(&o.number),
	}
	return o.selectable(resubmitText, single, []app.Flag{definitionFlag(&o.action.Definition)},
		func(ctx context.Context) error { return runResubmit(ctx, o) })
}

func runResubmit(ctx context.Context, o *resubmitOptions) error {
	if err := cmp.Or(o.checkDefinition(), o.checkSender(), o.checkOrders()); err != nil {
		return err
	}
	input, err := o.readInput()
	if err != nil {
		return err
	}
	deadline, err := o.until(o.app.Now())
	if err != nil {
		return err
	}
	return o.each(ctx, func(ctx context.Context, c *client.Client, id string) (verdictLine, error) {
		return o.send(ctx, c, id, client.NewDeadline(deadline), client.NewInput(o.action.Step, input))
	})
}

// until returns the new deadline. Without the flag --deadline it returns the zero time, which removes a
// deadline that the order had before.
func (o *resubmitOptions) until(now time.Time) (deadline time.Time, err error) {
	if o.deadline == "" {
		return deadline, nil
	}
	if d, ok := core.ParseDuration(o.deadline); ok && d > 0 {
		return now.Add(d.Std()), nil
	}
	deadline, err = core.ParseTime(o.deadline)
	if err != nil {
		return deadline, failure.New(failure.Usage,
			"write a time like 2026-11-21T10:00:00Z, or a duration like 2h or 3d",
			"--deadline %q is neither a time nor a duration", o.deadline)
	}
	return deadline, nil
}

func (o *resubmitOptions) readInput() (json.RawMessage, error) {
	if o.input == "" {
		return nil, nil
	}
	step, file, found := strings.Cut(o.input, "=")
	o.action.Step = step
	if !found || step == "" || file == "" {
		return nil, failure.New(failure.Usage, "write --input STEP=FILE",
			"--input %.80q names no step and file", o.input)
	}
	if len(o.ids) > 1 {
		return nil, failure.New(failure.Usage, "give one order, or leave --input out",
			"--input belongs to one order, not to %d", len(o.ids))
	}
	input, err := o.app.ReadJSON(file, "input of step "+step, core.MaxInput)
	if err != nil {
		return nil, err
	}
	return input, o.checkValue("input of step "+step, core.Command{Name: core.Resubmit, Step: step, Input: input})
}

type resolveOptions struct {
	orderCommand
	output string
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
		"goes on.\n\n" +
		"With --where the command goes to many orders: `stepkeeper continue --help` explains how.",
	Args:  app.Args{Least: 2, Most: 3, What: "an order, a step, and what happened"},
	Offer: app.Offer{Complete: "steps", Suggest: []string{"happened", "not-happened", "undone"}},
}

func newResolve(a *app.App) *cobra.Command {
	o := &resolveOptions{orderCommand: orderCommand{
		app: a, action: bulk.Action{Command: "resolve"},
		number: -1,
	}}
	single := []app.Flag{
		{
			In: app.OrderFlags, Name: "step-output", To: &o.output,
			Text: "`file` with the JSON value that the step returned; - reads standard input",
		},
		numberFlag(&o.number),
	}
	return o.selectable(resolveText, single, nil, func(ctx context.Context) error { return runResolve(ctx, o) })
}

func facts() []string {
	return []string{string(core.Happened), string(core.NotHappened), string(core.Undone)}
}

func runResolve(ctx context.Context, o *resolveOptions) error {
	if err := cmp.Or(o.checkSender(), o.checkOrders()); err != nil {
		return err
	}
	if !slices.Contains(facts(), string(o.action.Fact)) {
		return failure.New(failure.Usage, "say one of "+strings.Join(facts(), ", "),
			"%q is not what can happen to a step", o.action.Fact)
	}
	var output json.RawMessage
	if o.output != "" {
		what := "output of step " + o.action.Step
		var err error
		output, err = o.app.ReadJSON(o.output, what, core.MaxOutput)
		if err != nil {
			return err
		}
		if err := o.checkValue(what, core.Command{
			Name: core.Resolve,
			Step: o.action.Step, Fact: o.action.Fact,
			Output: output,
		}); err != nil {
			return err
		}
	}
	return o.each(ctx, func(ctx context.Context, c *client.Client, id string) (verdictLine, error) {
		return o.send(ctx, c, id, client.StepOutput(output))
	})
}

// checkValue returns an error if the server would refuse the command because of the input or output in the
// command. The parameter what describes the input or output.
func (o *orderCommand) checkValue(what string, ev core.Event) error {
	c := message.Control{OrderID: o.ids[0], Event: core.Stamped(ev, "x", core.Sender{}, 0)}
	if err := c.Check(); err != nil {
		return failure.New(failure.Usage, "", "the %s: %s", what, message.Reason(err))
	}
	return nil
}
