package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/bulk"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/token"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

type answerOptions struct {
	orderCommand
	event bool // the step is the name of an event
	value string
	round int    // 0 means the present one
	token string // names the step and who answers
}

func newAnswer(a *app.App) *cobra.Command {
	o := &answerOptions{orderCommand: orderCommand{app: a, action: bulk.Action{Command: "answer"}}}
	cmd := &cobra.Command{
		Use:   "answer ID [STEP] VALUE",
		Short: "Answer a step that waits for people, or for an event",
		Long: "Answer a step that waits. The value of an approval is one of its words; that of an event " +
			"is JSON, or else\n" +
			"taken as a text. With --event the second argument is the name of an event, and every step " +
			"that waits for\n" +
			"it, or has yet to, is answered. `show` prints what a step waits for, who may answer, and who " +
			"has.\n" +
			"With --token, the last part of a link that a person was sent, there is no STEP: the token " +
			"says it, and who answers.\n\n" +
			"The same answer twice changes nothing; another one after the decision is refused, with who " +
			"decided what.",
		Example: "  stepkeeper answer order-1001 approve yes\n  stepkeeper answer order-1001 approve no " +
			"--by alice\n" +
			"  stepkeeper answer order-1001 customer-bought '{\"invoice\":4711}' --event",
		Args: func(cmd *cobra.Command, given []string) error {
			n, want := 3, "an order, a step, and the value"
			if o.token != "" {
				n, want = 2, "an order and the value, since the token says the step"
			}
			return app.Args(cobra.ExactArgs(n), want)(cmd, given)
		},
		ValidArgsFunction: a.CompleteStep(nil),
		RunE: func(cmd *cobra.Command, given []string) error {
			o.ids, o.value = given[:1], given[len(given)-1]
			if o.token == "" {
				o.action.Step = given[1]
			}
			return runAnswer(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.event, "event", false, "STEP is the name of an event")
	f.StringVar(&o.action.By, "by", "", "who answers (`name`; default: the user of this computer)")
	f.StringVar(&o.action.Reason, "reason", "", "why, for the history (`text`)")
	f.StringVar(&o.token, "token", "", "answer with a `token` of the order; it says the step and who answers")
	f.IntVar(&o.round, "round", 0,
		"the round that you saw (`number`); a decided step that is asked again is in the next one "+
			"(default: the present one)")
	o.idFlag(cmd)
	return cmd
}

func (o *answerOptions) check() error {
	if o.token != "" && (o.action.By != "" || o.event) {
		return failure.New(failure.Usage, "leave --by and --event out",
			"the token says the step and who answers")
	}
	o.action.By = sender(o.action.By)
	if !core.PersonName(o.action.By) {
		return failure.New(failure.Usage,
			fmt.Sprintf("add --by NAME, of at most %d bytes, without < > & \" \\ and control characters",
				core.MaxAnswerBy), "%.140q cannot be the name of who answers", o.action.By)
	}
	if o.round < 0 {
		return failure.New(failure.Usage, "leave --round out, or give the number that show prints",
			"--round %d is below 1", o.round)
	}
	return o.checkOrders()
}

func runAnswer(ctx context.Context, o *answerOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	return o.each(ctx, o.one)
}

// one sends the value: as a text to an approval, as JSON to an event if it is JSON.
func (o *answerOptions) one(ctx context.Context, c *client.Client, id string) (verdictLine, error) {
	ctx, cancel := o.app.Bounded(ctx, app.DefaultTimeout)
	defer cancel()
	task, err := c.Get(ctx, id)
	if err != nil {
		return verdictLine{}, err
	}
	step := o.action.Step
	r := client.Reply{By: o.action.By, Reason: o.action.Reason, Run: task.Run, Value: o.value}
	switch {
	case o.token != "":
		r.By, r.Token, r.Round = "", o.token, o.round
		step = token.StepOf(o.token)
	case o.event:
		r.Event = step
	default:
		if err := answered(task, step); err != nil {
			return verdictLine{}, err
		}
		r.Step, r.Round = step, o.round
	}
	if json.Valid([]byte(o.value)) && (o.event || kindOf(task, step) == view.KindEvent) {
		r.Value = json.RawMessage(o.value)
	}
	return verdictOf(c.Answer(ctx, id, r, client.CommandID(o.id)))
}

func kindOf(task *view.Task, step string) string {
	for _, s := range task.Steps {
		if s.Name == step {
			return s.Kind
		}
	}
	return ""
}

// answered refuses a step that does not exist, or takes no answer, and names those that do.
func answered(task *view.Task, step string) error {
	var names []string
	for _, s := range task.Steps {
		if s.Answers != nil {
			if s.Name == step {
				return nil
			}
			names = append(names, s.Name)
		}
	}
	if len(names) == 0 {
		return failure.New(failure.NotFound, "`show` lists its steps",
			"no step of order %s is answered from outside", task.OrderID)
	}
	return failure.New(failure.NotFound, "steps that are: "+strings.Join(names, ", "),
		"step %.60q of order %s is not one that is answered", step, task.OrderID)
}
