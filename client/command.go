package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
	"github.com/stepkeeper/stepkeeper/shared/token"
)

// CommandOption sets a field of a command before the client sends it.
type CommandOption func(*core.Command)

// CommandID sets the ID of the command. Without this option the client generates an ID. If any process sends
// the command again with the same ID, the command takes effect once and gets the same verdict.
func CommandID(id string) CommandOption {
	return func(c *core.Command) { c.ID = id }
}

// IfCommand sets the command number that the caller saw in Task.Command. The Scheduler refuses the command if
// the order has a different number by then. Without this option the client reads the number just before it
// sends the command.
func IfCommand(number int) CommandOption {
	return func(c *core.Command) { c.Number = number }
}

// By sets the sender's name, of at most 128 bytes, and the reason, of at most 512 bytes. The task stores name
// and reason with the verdict. Close, Erase and Answer have both as arguments.
func By(name, reason string) CommandOption {
	return func(c *core.Command) { c.Sender = core.Sender{By: name, Reason: reason} }
}

// NewDeadline sets the deadline of a resubmitted order. Without this option the order has no deadline.
func NewDeadline(t time.Time) CommandOption {
	return only(core.Resubmit, func(c *core.Command) { c.Deadline = core.TimeOf(t) })
}

// NewInput replaces the input of a step in a resubmitted order (P51, a call can get another input). The input
// is any JSON value of at most 32 KiB. A service must not get two inputs with the same key. The Scheduler
// therefore refuses the command if a request of the step may have had an effect.
func NewInput(step string, input json.RawMessage) CommandOption {
	return only(core.Resubmit, func(c *core.Command) {
		c.Step = step
		c.Input = input
	})
}

// StepOutput sets the output of the step in a Resolve, so that later steps can read the output. The output is
// any JSON value of at most 48 KiB. The fact must be Happened, and the order must have stopped in its forward
// phase.
func StepOutput(output json.RawMessage) CommandOption {
	return only(core.Resolve, func(c *core.Command) { c.Output = output })
}

// only returns an option that has no effect on commands of other names.
func only(name string, set CommandOption) CommandOption {
	return func(c *core.Command) {
		if c.Name == name {
			set(c)
		}
	}
}

// Cancel stops an order and undoes its completed steps. If the order has not arrived yet, the order will not
// run.
//
// The verdict states whether the Scheduler accepted the command, and the reason of a refusal. A refusal is
// not an error. If the verdict of a command does not arrive, the error is an *Undecided. These rules apply
// to all commands.
func (c *Client) Cancel(ctx context.Context, id string, opts ...CommandOption) (Verdict, error) {
	return c.Send(ctx, id, core.Command{Name: core.Cancel}, opts...)
}

// Undo undoes an order that has stopped in Error.
func (c *Client) Undo(ctx context.Context, id string, opts ...CommandOption) (Verdict, error) {
	return c.Send(ctx, id, core.Command{Name: core.UndoCommand}, opts...)
}

// Resubmit continues an order that has stopped in Error, or runs an undone order again.
func (c *Client) Resubmit(ctx context.Context, id string, opts ...CommandOption) (Verdict, error) {
	return c.Send(ctx, id, core.Command{Name: core.Resubmit}, opts...)
}

// Resolve states whether the call of a step in doubt had its effect. The order stays in Error until Resubmit
// or Undo.
func (c *Client) Resolve(ctx context.Context, id, step string, fact Fact,
	opts ...CommandOption,
) (Verdict, error) {
	return c.Send(ctx, id, core.Command{Name: core.Resolve, Step: step, Fact: fact}, opts...)
}

// Reply is an answer of a person or an application to a waiting step.
type Reply struct {
	Step  string // step that gets the answer; set Step or Event
	Event string // name of an event; each step that waits for the event gets the answer
	Value any    // value of the answer, encoded as JSON
	By    string // name of the person or program; required without a Token
	// Reason is an optional text of at most 512 bytes for people who read the order's history.
	Reason string
	// Token is the token from a link for an answer (P39, a token is an answer's permission). It contains the
	// step, the run and the person, so leave the fields Step, Event, Run and By empty.
	Token string
	// Round is the round that the person saw. 0 means the step's present round. Round has no effect with
	// Event.
	Round int
	// Run is the run that the person saw. -1 means the order's present run.
	Run int
}

// Answer sends an answer to a step that waits for a person or for an event. If the answer is sent again with
// the same CommandID, the repetition changes nothing.
func (c *Client) Answer(ctx context.Context, id string, r Reply, opts ...CommandOption) (Verdict, error) {
	value, err := rawjson.Marshal(r.Value)
	if err != nil {
		return Verdict{}, fmt.Errorf("the value of an answer cannot be encoded: %w", err)
	}
	if r.Token != "" && (r.Step != "" || r.Event != "" || r.By != "") {
		return Verdict{}, errors.New("leave Step, Event and By out of an answer by a token: the token has " +
			"them")
	}
	a := core.Answered{
		Run: r.Run, Step: r.Step, Name: r.Event, Round: r.Round, Value: value, By: r.By,
		Note: r.Reason, Token: r.Token,
	}
	if r.Run < 0 || r.Event == "" && r.Round == 0 {
		t, err := c.Get(ctx, id)
		if err != nil {
			return Verdict{}, err
		}
		present(&a, t)
	}
	cmd := core.Command{} // only its ID counts
	for _, set := range opts {
		set(&cmd)
	}
	a.ID = cmp.Or(cmd.ID, uuid.NewString())
	if err := checkEvent(id, a); err != nil {
		return Verdict{}, err
	}
	return c.control(ctx, message.Control{OrderID: id, Event: a})
}

// present completes an answer. If the caller has not set the run, present sets the order's present run. If
// the caller has not set the round, present sets the step's present round.
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
	if s := t.Step(step); s != nil && s.Answers != nil {
		a.Round = s.Answers.Round
	}
}

// Latest stands for the definition that new orders get.
const Latest = message.Latest

// ToDefinition makes Resubmit move the order to a definition of its workflow before the order continues. The
// argument definition is a hash or Latest.
func ToDefinition(definition string) CommandOption {
	return only(core.Resubmit, func(c *core.Command) { c.Definition = definition })
}

// Move pins an order to a different definition of its workflow. The argument definition is a hash or Latest.
// If the definition changes steps that have already run, the Scheduler refuses the command. The reason lists
// the differences.
func (c *Client) Move(ctx context.Context, id, definition string, opts ...CommandOption) (Verdict, error) {
	return c.Send(ctx, id, core.Command{Name: core.Move, Definition: definition}, opts...)
}

// PlanMove returns the effects of a Move on each step. It changes nothing. On AWS, the definition must be one
// that an order has used.
func (c *Client) PlanMove(ctx context.Context, id, definition string) (Plan, error) {
	return again(ctx, c, func(ctx context.Context) (Plan, error) {
		return c.via.Plan(ctx, id, definition, false)
	})
}

// PlanMoveDocuments is PlanMove with additional results: the stored task, the order's content, the present
// definition and the new definition. A program can test the Move with these documents.
func (c *Client) PlanMoveDocuments(ctx context.Context, id, definition string) (Plan, error) {
	return again(ctx, c, func(ctx context.Context) (Plan, error) {
		return c.via.Plan(ctx, id, definition, true)
	})
}

// Close ends an order in Error without further work. The steps keep their states. The argument by is the name
// of the sender. A Closed order accepts no further command.
func (c *Client) Close(ctx context.Context, id, by, reason string, opts ...CommandOption) (Verdict, error) {
	return c.Send(ctx, id, core.Command{Name: core.Close, Sender: core.Sender{By: by, Reason: reason}}, opts...)
}

// Erase removes content, inputs, outputs, answers, texts and notes from an order that has ended, because they
// may contain personal data. States, times and identity stay. The task stores the reason and the argument by,
// which is the name of the sender. After an Erase, an order accepts only a repeated Erase.
func (c *Client) Erase(ctx context.Context, id, by, reason string, opts ...CommandOption) (Verdict, error) {
	return c.Send(ctx, id, core.Command{Name: core.Erase, Sender: core.Sender{By: by, Reason: reason}}, opts...)
}

// Send sends a command. The methods for single commands call Send. The ID and the number of the command come
// from the options. Without these options, Send generates an ID and reads the order's present number.
func (c *Client) Send(ctx context.Context, order string, cmd core.Command,
	opts ...CommandOption,
) (Verdict, error) {
	cmd.Number = -1
	for _, set := range opts {
		set(&cmd)
	}
	cmd.ID = cmp.Or(cmd.ID, uuid.NewString())
	read := cmd.Number < 0 || cmd.Name == core.Cancel
	cmd.Number = max(cmd.Number, 0)
	if err := checkEvent(order, cmd); err != nil {
		return Verdict{}, err
	}
	if read {
		t, err := c.Get(ctx, order)
		switch {
		case err == nil && cmd.Name == core.Cancel:
			cmd.Run = t.Run
		case err == nil:
			cmd.Number = t.Command
		case cmd.Name != core.Cancel || !errors.Is(err, ErrNotFound):
			return Verdict{}, err
		}
	}
	return c.control(ctx, message.Control{OrderID: order, Event: cmd})
}

func checkEvent(order string, ev core.Event) error {
	ctl := message.Control{OrderID: order, Event: ev}
	if err := ctl.Check(); err != nil {
		return Errorf(http.StatusBadRequest, message.CodeInvalid, "%s", message.Reason(err))
	}
	return nil
}

// control sends a command or an answer. All attempts have the same ID, so that the Scheduler recognises a
// repetition (P5, commands have a number and an ID).
func (c *Client) control(ctx context.Context, ctl message.Control) (Verdict, error) {
	v, err := again(ctx, c, func(ctx context.Context) (Verdict, error) { return c.via.Command(ctx, ctl) })
	if u := (*Undecided)(nil); err != nil && !errors.As(err, &u) && doubtful(err) {
		err = &Undecided{OrderID: ctl.OrderID, ID: ctl.ID(), Err: err}
	}
	return v, err
}
