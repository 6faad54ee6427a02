package api

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/google/uuid"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
	"github.com/stepkeeper/stepkeeper/shared/token"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// maxCommand is the largest body of a command, in bytes.
const maxCommand = 8 << 10

// maxAnswer is the largest body of an answer, in bytes. It allows for white space around a value of the
// largest size.
const maxAnswer = rawjson.MaxGrowth*core.MaxAnswerValue + maxCommand

// QueueMembers are the members that only the message of a queue needs, because the path states them. A body with
// them is accepted if it states the same.
type QueueMembers struct {
	Schema int    `json:"schema,omitempty" enum:"1" doc:"may be present, as in a message of the queue"`
	Kind   string `json:"kind,omitempty" doc:"may be present, as in a message of the queue; it must name the command"`
	Task   string `json:"task,omitempty" doc:"may be present, as in a message of the queue; it must be the ID of the order"`
}

// Resolve implements huma.ResolverWithPath. It sets the members from the path, so that the body is a whole message of
// the queue.
func (m *QueueMembers) Resolve(ctx huma.Context, body *huma.PathBuffer) []error {
	var errs []error
	check := func(name string, is *string, must string) {
		if *is != "" && *is != must {
			errs = append(errs, &huma.ErrorDetail{
				Location: body.With(name), Value: *is,
				Message: "the path says " + strconv.Quote(must) + "; state the same, or leave it out",
			})
		}
		*is = must
	}
	m.Schema = message.Schema
	check("kind", &m.Kind, strings.TrimSuffix(ctx.Operation().OperationID, "-order"))
	check("task", &m.Task, ctx.Param("id"))
	return errs
}

// CommandID is a member of the body of each command.
type CommandID struct {
	ID string `json:"id,omitempty" pattern:"^[A-Za-z0-9._:-]{1,128}$" doc:"ID of the command; a command sent again with the same ID gets the same verdict; if absent, the server makes one"`
}

// Numbered holds the members of the body of each command that has a number.
type Numbered struct {
	QueueMembers
	CommandID
	Command int `json:"command" minimum:"0" doc:"the task's command number as last seen; any other number is refused, because another command came first"`
}

// commandInput is a command. The body has the members of a message.Control.
type commandInput[B any] struct {
	OrderPath
	Body B
}

type cancelInputBody struct {
	QueueMembers
	CommandID
	Run int `json:"run,omitempty" minimum:"0" doc:"run to cancel; a cancel of an older run changes nothing"`
	core.Sender
	ReplyTo string `json:"replyTo,omitempty" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$" doc:"reply-to of an order that has not arrived yet"`
}

type undoInputBody struct {
	Numbered
	core.Sender
}

type resubmitInputBody struct {
	Numbered
	Deadline   core.Time       `json:"deadline,omitzero" doc:"the new deadline; if absent, the order has none"`
	Definition string          `json:"definition,omitempty" pattern:"^(latest|[0-9a-f]{32})$" doc:"definition to move the order to first: the hash of one of its workflow, or latest; if absent, the order keeps its definition"`
	Step       string          `json:"step,omitempty" pattern:"^[a-z][a-z0-9-]{0,39}$" doc:"step that gets another input; refused if its agent got a request and no proof says that it had no effect"`
	Input      json.RawMessage `json:"input,omitempty" doc:"input of the step instead of its definition's; any JSON value except null, at most 32 KiB"`
	core.Sender
}

type resolveInputBody struct {
	Numbered
	Step   string          `json:"step" pattern:"^[a-z][a-z0-9-]{0,39}$" doc:"the step in doubt"`
	Fact   core.Fact       `json:"fact" enum:"happened,not-happened,undone"`
	Output json.RawMessage `json:"output,omitempty" doc:"output of the step, if it happened while the order was going forward; any JSON value except null, at most 48 KiB"`
	core.Sender
}

type moveInputBody struct {
	Numbered
	Definition string `json:"definition" pattern:"^(latest|[0-9a-f]{32})$" doc:"the hash of a definition of the order's workflow, or latest"`
	core.Sender
}

// finalInputBody is the body of a command after which an order takes no further one.
type finalInputBody struct {
	Numbered
	By     string `json:"by" minLength:"1" maxLength:"128" doc:"name of the person who sends it"`
	Reason string `json:"reason" minLength:"1" maxLength:"512" doc:"reason; the order keeps it, so do not name a person"`
}

type answerInputBody struct {
	QueueMembers
	CommandID
	Step   string          `json:"step,omitempty" pattern:"^[a-z][a-z0-9-]{0,39}$" doc:"step to answer; give step or event"`
	Event  string          `json:"event,omitempty" pattern:"^[a-z][a-z0-9-]{0,39}$" doc:"event to answer: every step that waits or will wait for this name; give step or event"`
	Run    *int            `json:"run,omitempty" minimum:"0" doc:"run that was shown; if absent, the present one"`
	Round  int             `json:"round,omitempty" minimum:"1" doc:"round of the step that was shown; if absent, the present one"`
	Value  json.RawMessage `json:"value" doc:"one of the values of an approval, or the value of an event"`
	By     string          `json:"by,omitempty" maxLength:"128" doc:"name of the person who answers; if absent, local"`
	Reason string          `json:"reason,omitempty" maxLength:"512" doc:"reason, for the history"`
	Token  string          `json:"token,omitempty" maxLength:"512" doc:"token of the order, instead of step, run and by, which it states"`
}

type planInput struct {
	OrderPath
	Definition string `query:"definition" pattern:"^(latest|[0-9a-f]{32})$" default:"latest" doc:"the hash of a definition of the order's workflow, or latest"`
	Documents  bool   `query:"documents" doc:"also return the stored record of the order, and both definitions"`
}

type verdictOutput = output[protocol.Verdict]

func operation(name, summary, description string) huma.Operation {
	return huma.Operation{
		OperationID: name + "-order", Method: http.MethodPost, Path: "/v1/orders/{id}/" + name,
		Tags: []string{"commands"}, Summary: summary, MaxBodyBytes: maxCommand,
		Description: description + " The answer is the verdict; a refusal is a 409 that says why.",
		Errors:      []int{400, 403, 404, 409, 413, 415, 429, 503},
		Middlewares: huma.Middlewares{onlyJSON},
	}
}

// register registers a command. The Scheduler gets the same message as from the queue of commands.
func register[B any](e *edge, doc huma.API, o huma.Operation) {
	huma.Register(doc, o, func(ctx context.Context, in *commandInput[B]) (*verdictOutput, error) {
		c, err := controlOf(in.Body)
		if err != nil {
			return nil, problemOf(err)
		}
		return e.command(ctx, c)
	})
}

func controlOf(body any) (c message.Control, err error) {
	text, err := rawjson.Marshal(body)
	if err == nil {
		err = c.UnmarshalJSON(text)
	}
	return c, err
}

func (e *edge) registerCommands(doc huma.API) {
	register[cancelInputBody](e, doc, operation("cancel", "Stop an order and undo what was done",
		"Also before the order has come: then it will not run."))
	register[undoInputBody](e, doc, operation("undo", "Undo an order that stopped in Error", ""))
	resubmit := operation("resubmit", "Go on with an order that stopped in Error, or run an undone one again", "")
	resubmit.MaxBodyBytes += rawjson.MaxGrowth * core.MaxInput
	register[resubmitInputBody](e, doc, resubmit)
	resolve := operation("resolve", "State what happened to a step in doubt",
		"The order stays in Error; resubmit or undo goes on.")
	resolve.MaxBodyBytes += rawjson.MaxGrowth * core.MaxOutput
	register[resolveInputBody](e, doc, resolve)
	register[moveInputBody](e, doc, operation("move", "Pin an order to another definition of its workflow",
		"Refused, with the differences, where the definition changes what was done already."))
	read(doc, "commands", "plan-move", "/v1/orders/{id}/move",
		"What a move to another definition would mean; nothing is changed", []int{400, 403, 404, 503},
		func(ctx context.Context, in *planInput) (view.Plan, error) {
			p, err := view.ReadPlan(ctx, e.backend, in.ID, in.Definition, in.Documents, e.clock.Now())
			return p, ofOrder(in.ID, err)
		})
	answers := operation("answer", "Answer a step that waits for people, or for an event from outside",
		"An answer may come before its step; the same answer twice changes nothing, and another one after "+
			"the decision is refused.")
	answers.Path = "/v1/orders/{id}/answers"
	answers.MaxBodyBytes = maxAnswer
	huma.Register(doc, answers, e.answer)
	register[finalInputBody](e, doc, operation("close", "End an order that stopped in Error, as it stands",
		"What its steps did stays as the operator found it. A Closed order takes no further command."))
	register[finalInputBody](e, doc, operation("erase", "Remove what an order that has ended holds of people's data",
		"Its content, inputs, outputs, answers, texts and notes are removed at once; states, times and "+
			"identity stay. An erased order takes no further command."))
}

// answer passes an answer to the backend. If the sender has left out the run or the round, answer fills in
// the present one. For an event it fills in no round.
func (e *edge) answer(ctx context.Context, in *commandInput[answerInputBody]) (*verdictOutput, error) {
	b := &in.Body
	step := b.Step
	if b.Token != "" {
		if b.Step != "" || b.Event != "" || b.By != "" || b.Run != nil {
			return nil, problem(http.StatusBadRequest, CodeInvalid,
				"a token says the step, the run and who answers; leave step, event, run and by out")
		}
		step = token.StepOf(b.Token)
	} else {
		b.By = cmp.Or(b.By, "local")
	}
	t, _, err := e.backend.Task(ctx, in.ID)
	if err != nil {
		return nil, ofOrder(in.ID, err)
	}
	b.Run = cmp.Or(b.Run, &t.Run)
	if b.Event == "" && b.Round == 0 {
		b.Round = 1
		if s := t.Step(step); s != nil && s.Answers != nil {
			b.Round = max(1, s.Answers.Round)
		}
	}
	c, err := controlOf(b)
	if err != nil {
		return nil, problemOf(err)
	}
	return e.command(ctx, c)
}

// command passes a command to the backend and returns the verdict. It makes an ID for a command without an
// ID.
func (e *edge) command(ctx context.Context, c message.Control) (*verdictOutput, error) {
	if given := core.CommandOf(c.Event); given.ID == "" {
		c.Event = core.Stamped(c.Event, uuid.NewString(), given.Sender, given.Number)
	}
	if err := c.Check(); err != nil {
		return nil, problem(http.StatusBadRequest, CodeInvalid, "%s", message.Reason(err))
	}
	v, err := e.backend.Command(ctx, c)
	switch {
	case err != nil:
		return nil, ofOrder(c.OrderID, err)
	case !v.Accepted:
		p := problem(http.StatusConflict, CodeRefused, "%s", v.Reason)
		p.Verdict = &v
		return nil, p
	}
	return &verdictOutput{Body: v}, nil
}

// onlyJSON refuses a body that is not JSON. A web page of another site may send text/plain to any address,
// but not JSON.
func onlyJSON(ctx huma.Context, next func(huma.Context)) {
	if ctx.Method() == http.MethodPost && mediaType(ctx.Header("Content-Type")) != jsonType {
		h := ctx.Header("Content-Type")
		_, w := humago.Unwrap(ctx)
		writeProblem(w, problem(http.StatusUnsupportedMediaType, CodeMediaType,
			"Content-Type %.80q is not read here; send %s", h, jsonType))
		return
	}
	next(ctx)
}
