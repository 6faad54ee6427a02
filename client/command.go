package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
	"github.com/stepkeeper/stepkeeper/shared/token"
)

// CommandOption changes a command before it is sent.
type CommandOption func(*command)

type command struct {
	event    core.Event
	id       string
	from     core.Sender
	number   int // command number that the sender saw
	numbered bool
}

// CommandID sets the ID of the command. Without it the client makes one. A command that is sent again with
// the same ID, by any process, takes effect once and gets the same verdict.
func CommandID(id string) CommandOption {
	return func(c *command) { c.id = id }
}

// IfCommand sets the command number on which the decision was made, as seen in Task.Command. The command is
// refused if the number has changed. Without this option the client reads the number just before sending.
func IfCommand(number int) CommandOption {
	return func(c *command) { c.number, c.numbered = number, true }
}

// By sets the sender's name, in at most 128 bytes, and the reason, in at most 512. The verdict stores both.
// Close and Erase have both as arguments, and Answer has them in its Reply.
func By(name, reason string) CommandOption {
	return func(c *command) { c.from = core.Sender{By: name, Reason: reason} }
}

// NewDeadline sets the deadline of a resubmitted order. Without this option the order has no deadline.
func NewDeadline(t time.Time) CommandOption {
	return ofResubmit(func(e *core.Resubmit) { e.Deadline = core.TimeOf(t) })
}

// NewInput replaces the input of a step in a resubmitted order (P51, a call can get another input). It is any
// JSON value of at most 32 KiB. The command is refused if the step's agent got a request, unless that request
// is proven to have had no effect, because the service must not get two inputs under one key.
func NewInput(step string, input json.RawMessage) CommandOption {
	return ofResubmit(func(e *core.Resubmit) { e.Step, e.Input = step, input })
}

// ofResubmit makes an option that only a Resubmit has.
func ofResubmit(set func(*core.Resubmit)) CommandOption {
	return func(c *command) {
		if e, ok := c.event.(core.Resubmit); ok {
			set(&e)
			c.event = e
		}
	}
}

// StepOutput adds the output of a step to a Resolve, so that later steps can read it. It is any JSON value of
// at most 48 KiB. The step must have happened, in an order that was going forward.
func StepOutput(output json.RawMessage) CommandOption {
	return func(c *command) {
		if e, ok := c.event.(core.Resolve); ok {
			e.Output = output
			c.event = e
		}
	}
}

// Cancel stops an order and undoes its completed steps. An order that has not arrived yet will not run.
//
// The verdict states whether the command was accepted, and the reason if it was not. A refusal is not an
// error. The error of any command is an *Undecided if its verdict did not arrive.
func (c *Client) Cancel(ctx context.Context, id string, opts ...CommandOption) (Verdict, error) {
	t, err := c.Get(ctx, id)
	run := 0
	switch {
	case err == nil:
		run = t.Run
	case !errors.Is(err, ErrNotFound):
		return Verdict{}, err
	}
	return c.command(ctx, id, core.Cancel{Run: run}, opts)
}

// Undo undoes an order that stopped in Error.
func (c *Client) Undo(ctx context.Context, id string, opts ...CommandOption) (Verdict, error) {
	return c.command(ctx, id, core.UndoCommand{}, opts)
}

// Resubmit continues an order that stopped in Error, or runs an undone one again.
func (c *Client) Resubmit(ctx context.Context, id string, opts ...CommandOption) (Verdict, error) {
	return c.command(ctx, id, core.Resubmit{}, opts)
}

// Resolve states whether a step in doubt happened. The order stays in Error until Resubmit or Undo.
func (c *Client) Resolve(ctx context.Context, id, step string, fact Fact,
	opts ...CommandOption) (Verdict, error) {
	return c.command(ctx, id, core.Resolve{Step: step, Fact: fact}, opts)
}

// Reply is an answer to a step that waits for one.
type Reply struct {
	Step  string // step that gets the answer; set this or Event
	Event string // name of an event: the reply goes to every step that waits for it, now or later
	Value any    // value of the answer, encoded as JSON
	By    string // person or program that answers; required without a Token
	// Reason is a text for people in the history, of at most 512 bytes. Optional.
	Reason string
	// Token is a token of the order, from a link (P39, a token is an answer's permission). It states the
	// step, the run and the person, so leave out Step, Event, Run and By.
	Token string
	// Round is the step's round, as it was shown. 0 means the present one. It is unused with Event.
	Round int
	// Run is the order's run, as it was shown. -1 means the present one.
	Run int
}

// Answer sends an answer to a step that waits for people, or for an event from outside. A repeated answer
// with the same ID (CommandID) changes nothing.
func (c *Client) Answer(ctx context.Context, id string, r Reply, opts ...CommandOption) (Verdict, error) {
	value, err := json.Marshal(r.Value)
	if err != nil {
		return Verdict{}, fmt.Errorf("the value of an answer cannot be encoded: %w", err)
	}
	if r.Token != "" && (r.Step != "" || r.Event != "" || r.By != "") {
		return Verdict{}, errors.New("leave Step, Event and By out of an answer by a token: the token has " +
			"them")
	}
	a := core.Answered{Run: r.Run, Step: r.Step, Name: r.Event, Round: r.Round, Value: value, By: r.By,
		Note: r.Reason, Token: r.Token}
	if r.Run < 0 || r.Event == "" && r.Round == 0 {
		t, err := c.Get(ctx, id)
		if err != nil {
			return Verdict{}, err
		}
		present(&a, t)
	}
	return c.command(ctx, id, a, signed(r.By, r.Reason, opts))
}

// present fills in the run and the round that the order is in.
func present(a *core.Answered, t *Task) {
	if a.Run < 0 {
		a.Run = t.Run
	}
	step := a.Step
	if a.Token != "" {
		step = token.StepOf(a.Token)
	}
	if step == "" || a.Round > 0 {
		return
	}
	a.Round = 1
	for i := range t.Steps {
		if s := &t.Steps[i]; s.Name == step && s.Answers != nil {
			a.Round = s.Answers.Round
		}
	}
}

// Latest stands for the definition that new orders get.
const Latest = message.Latest

// ToDefinition makes Resubmit first move the order to a definition of its workflow, in the same command.
// definition is a hash or Latest.
func ToDefinition(definition string) CommandOption {
	return ofResubmit(func(e *core.Resubmit) { e.Definition = definition })
}

// Move pins an order to another definition of its workflow. definition is a hash or Latest. If the definition
// changes steps that already ran, the command is refused, with the differences as the reason.
func (c *Client) Move(ctx context.Context, id, definition string, opts ...CommandOption) (Verdict, error) {
	return c.command(ctx, id, core.Move{Definition: definition}, opts)
}

// PlanMove returns the effects of a Move, step by step, and changes nothing. Stacks on AWS cannot resolve
// Latest.
func (c *Client) PlanMove(ctx context.Context, id, definition string) (Plan, error) {
	return again(ctx, c, func(ctx context.Context) (Plan, error) {
		return c.via.Plan(ctx, id, definition, false)
	})
}

// PlanMoveDocuments is PlanMove with the stored record of the order and both definitions, for a program that
// tries the move elsewhere.
func (c *Client) PlanMoveDocuments(ctx context.Context, id, definition string) (Plan, error) {
	return again(ctx, c, func(ctx context.Context) (Plan, error) {
		return c.via.Plan(ctx, id, definition, true)
	})
}

// Close ends an order in Error without further work: its steps keep their states. by is the name of the
// sender. A Closed order takes no further command.
func (c *Client) Close(ctx context.Context, id, by, reason string, opts ...CommandOption) (Verdict, error) {
	return c.command(ctx, id, core.Close{}, signed(by, reason, opts))
}

// Erase removes people's data from an order that has ended: content, inputs, outputs, answers, texts and
// notes. States, times and identity stay. The order keeps by, which is the name of the sender, and the
// reason. An erased order takes no further command, but accepts a repeated Erase.
func (c *Client) Erase(ctx context.Context, id, by, reason string, opts ...CommandOption) (Verdict, error) {
	return c.command(ctx, id, core.Erase{}, signed(by, reason, opts))
}

// signed adds the sender and the reason as the first option, so that a later option may replace them.
func signed(by, reason string, opts []CommandOption) []CommandOption {
	return append([]CommandOption{By(by, reason)}, opts...)
}

// command adds the ID and the number unless options set them, and sends the command. It makes the ID once for
// all attempts, so that a repetition is recognised (P5, commands have a number and an ID).
func (c *Client) command(ctx context.Context, order string, ev core.Event,
	opts []CommandOption) (Verdict, error) {
	number := core.CommandOf(ev).Number
	cmd := command{event: ev, numbered: number < 0} // a Cancel and an answer have no number
	for _, set := range opts {
		set(&cmd)
	}
	if err := message.CheckTexts(cmd.from.By, cmd.from.Reason); err != nil {
		return Verdict{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if e, ok := cmd.event.(core.Resubmit); ok && len(e.Input) > 0 {
		if err := rawjson.Check(e.Input, rawjson.MaxLevels); err != nil {
			return Verdict{}, fmt.Errorf("%w: the input for step %q: %w; write a JSON value, for instance "+
				"{\"amount\": 12}", ErrInvalid, e.Step, err)
		}
	}
	cmd.id = cmp.Or(cmd.id, uuid.NewString())
	if !cmd.numbered {
		t, err := c.Get(ctx, order)
		if err != nil {
			return Verdict{}, err
		}
		cmd.number = t.Command
	}
	ctl := message.Control{OrderID: order, Event: core.Stamped(cmd.event, cmd.id, cmd.from, cmd.number)}
	v, err := again(ctx, c, func(ctx context.Context) (Verdict, error) { return c.via.Command(ctx, ctl) })
	if u := (*Undecided)(nil); err != nil && !errors.As(err, &u) && doubtful(err) {
		err = &Undecided{OrderID: order, ID: cmd.id, Err: err}
	}
	return v, err
}
