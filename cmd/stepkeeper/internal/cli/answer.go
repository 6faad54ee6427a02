package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
	"github.com/stepkeeper/stepkeeper/shared/token"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

type answerOptions struct {
	*orderCommand
	event bool // true if the argument names an event instead of a step
	value string
	round int    // round of the step; 0 means the present round
	token string // token that names the step and the person
}

var answerText = app.Text{
	Use:   "answer ID [STEP] VALUE",
	Group: "orders",
	Short: "Answer a step that waits for people or for an event",
	Examples: `  stepkeeper answer order-1001 approve approve
  stepkeeper answer order-1001 approve reject --by alice
  stepkeeper answer order-1001 customer-bought '{"invoice":4711}' --event`,
	Long: "The value of an approval is one of its words. The value of an event is JSON, or else a text. `stepkeeper\n" +
		"approvals` lists open approvals; `show` prints what a step waits for, who may answer, and who has\n" +
		"answered. The same answer twice changes nothing. After the decision the order refuses another answer.",
	Args:  app.Args{Least: 2, Most: 3, What: "an order, a step unless a token names it, and the value"},
	Offer: app.Steps,
	Reach: app.ServerOrStack,
}

func newAnswer(a *app.App) *cobra.Command {
	o := &answerOptions{orderCommand: newOrderCommand(a, "answer")}
	flags := []app.Flag{
		app.AnswerFlags.Flag("event", &o.event,
			"STEP is the name of an event: answer every step that waits for it, now or later"),
		app.AnswerFlags.Flag("round", &o.round,
			"`number` of the round that you saw (default: the latest one)").Within("0", ""),
		app.AnswerFlags.Flag("token", &o.token,
			"answer with a `token`, the last part of a link; it names the step and the person, so leave STEP out"),
	}
	return a.Command(answerText, o.flags("answer", flags), func(cmd *cobra.Command, given []string) error {
		o.ids = given
		if n := len(o.ids); o.token == "" && n == 3 {
			o.Step = o.ids[1]
		} else if o.token == "" || n == 3 {
			return failure.New(failure.Usage, "give ID STEP VALUE, or ID VALUE with --token",
				"an answer needs an order, a step and a value; a token names the step")
		}
		o.value = o.ids[len(o.ids)-1]
		o.ids = o.ids[:1]
		if err := o.check(); err != nil {
			return err
		}
		return o.each(cmd.Context(), o.send)
	})
}

func (o *answerOptions) check() error {
	if o.token != "" && (o.By != "" || o.event) {
		return failure.New(failure.Usage, "leave --by and --event out",
			"the token says the step and who answers")
	}
	o.By = sender(o.By)
	if !core.PersonName(o.By) {
		return failure.New(failure.Usage,
			fmt.Sprintf("add --by NAME, of at most %d bytes, without < > & \" \\ and control characters",
				core.MaxAnswerBy), "%.140q cannot be the name of who answers", o.By)
	}
	if err := checkTexts(o.By, o.Reason); err != nil {
		return err
	}
	return o.checkOrders()
}

// send sends the answer to an order.
func (o *answerOptions) send(ctx context.Context, c *client.Client, id string) (verdictLine, error) {
	ctx, cancel := o.app.Bounded(ctx, app.DefaultTimeout)
	defer cancel()
	task, err := c.Get(ctx, id)
	if err != nil {
		return verdictLine{}, err
	}
	step := o.Step
	r := client.Reply{By: o.By, Reason: o.Reason, Run: task.Run, Value: o.value}
	switch {
	case o.token != "":
		r.By = ""
		r.Token = o.token
		r.Round = o.round
		step = token.StepOf(o.token)
	case o.event:
		r.Event = step
	default:
		task, err = answered(ctx, c, task, step)
		if err != nil {
			return verdictLine{}, err
		}
		id = task.OrderID
		r.Run = task.Run
		r.Step = step
		r.Round = o.round
	}
	s := task.Step(step)
	if o.event || s != nil && s.Kind == view.KindEvent {
		r.Value, err = eventValue(o.value)
		if err != nil {
			return verdictLine{}, err
		}
	}
	return verdictOf(c.Answer(ctx, id, r, client.CommandID(o.id)))
}

// eventValue returns the value of an event: JSON, or else a text. Broken JSON is no text, because nobody can take an
// answer back.
func eventValue(text string) (any, error) {
	err := rawjson.Check([]byte(text), rawjson.MaxLevels)
	switch {
	case err == nil:
		return json.RawMessage(text), nil
	case json.Valid([]byte(text)), strings.HasPrefix(text, "{"), strings.HasPrefix(text, "["):
		return nil, failure.Wrap(err, failure.Usage, `write JSON like '{"amount": 12}', or a text that begins otherwise`,
			"the value of the event")
	}
	return text, nil
}

// answered returns the order with the step: the order itself, or the open child of one of its blocks (P56). It returns
// an error if there is no such step, or if it takes no answer. The error lists the steps that take answers.
func answered(ctx context.Context, c *client.Client, task *view.Task, step string) (*view.Task, error) {
	if s := task.Step(step); s != nil && s.Answers != nil {
		return task, nil
	}
	all, err := app.Below(ctx, c, task)
	if err != nil {
		return nil, err
	}
	var names, ids []string
	var found *view.Task
	for _, t := range all {
		for _, s := range t.Steps {
			if s.Answers == nil {
				continue
			}
			names = append(names, s.Name)
			if s.Name == step {
				ids = append(ids, t.OrderID)
				found = t
			}
		}
	}
	switch {
	case len(ids) == 1:
		return found, nil
	case len(ids) > 1:
		return nil, failure.New(failure.Usage, "answer one of them by its ID: "+strings.Join(ids, ", "),
			"%d child orders of %s have a step %s", len(ids), task.OrderID, step)
	case len(names) == 0:
		return nil, failure.New(failure.NotFound, "`show` lists its steps",
			"order %s has no approval or event that can be answered", task.OrderID)
	}
	return nil, failure.New(failure.NotFound, "its approvals and events: "+strings.Join(names, ", "),
		"step %.60q of order %s is not an approval or event", step, task.OrderID)
}
