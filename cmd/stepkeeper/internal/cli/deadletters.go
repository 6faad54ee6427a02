package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/journal"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

type deadLetterOptions struct {
	app    *app.App
	action string // "redrive" or "discard"
	client.Handling
	limit int
	body  bool
	file  string
	yes   bool
}

var deadLettersText = app.Text{
	Use:   "dead-letters",
	Group: "operator",
	Short: "Inspect, redrive or discard messages that failed too often",
	Long: `A message that failed too often moves to the dead-letter queue beside its own queue. A message that cannot be
parsed, or was refused and names no reply-to, moves to the quarantine. The orders are safe: the Supervisor counts
the step as failed, or asks again. Redriving a message does no harm, however old it is.

Looking at a queue hides its messages from others for up to half a minute.`,
}

var deadLettersListText = app.Text{
	Use:   "list [QUEUE]",
	Short: "List the queues with their numbers of messages, or the messages of a queue",
	Examples: `  stepkeeper dead-letters list
  stepkeeper dead-letters list quarantine --limit 50 --body`,
	Long: `Without QUEUE it prints the number of messages in each queue, and when the oldest of ten was sent. Queues keep
messages for 14 days. With --output json each line is one queue.

With QUEUE it prints the order and step of each message, why it is in quarantine, and whether a redrive would work.
Bodies may hold the data of orders. With --output json each line is one message.`,
	Args:  app.Args{Most: 1, What: "one queue at most"},
	Reach: app.ServerOrStack,
}

func newDeadLetters(a *app.App) *cobra.Command {
	return a.Group(deadLettersText, newDeadLettersList(a), newHandling(a, "redrive"), newHandling(a, "discard"))
}

func newDeadLettersList(a *app.App) *cobra.Command {
	o := &deadLetterOptions{app: a, limit: 10}
	flags := []app.Flag{
		app.OutputFlags.Flag("body", &o.body, "print the bodies of the messages of QUEUE"),
		app.OutputFlags.Flag("limit", &o.limit,
			"print at most this `number` of messages of QUEUE").Within("1", "1000"),
	}
	return a.Command(deadLettersListText, flags, func(cmd *cobra.Command, given []string) error {
		if len(given) == 1 {
			o.Queue = given[0]
			return runDeadLettersLook(cmd.Context(), o)
		}
		if err := app.Foreign(cmd, flags, "the messages of one QUEUE"); err != nil {
			return err
		}
		return runDeadLettersList(cmd.Context(), a)
	})
}

var deadLettersRedriveText = app.Text{
	Use:   "redrive QUEUE [ID...] --reason TEXT",
	Short: "Send messages back to their queues",
	Examples: `  stepkeeper dead-letters redrive replies --all --reason "the table was throttled" --dry-run
  stepkeeper dead-letters redrive quarantine 5fea7756-0ea4-451a-a703-a558b933e274 --reason "the workflow was missing"`,
	Long: `A message returns to the queue that it came from, and is then deleted here. A quarantined message returns as it was
first sent, if its queue would accept it now; otherwise it stays, and the command prints the reason.
Find the cause first, and redrive slowly.`,
}

var deadLettersDiscardText = app.Text{
	Use:   "discard QUEUE [ID...] --reason TEXT",
	Short: "Delete messages",
	Examples: `  stepkeeper dead-letters discard replies --all --reason "the table was throttled" --dry-run
  stepkeeper dead-letters discard quarantine 5fea7756-0ea4-451a-a703-a558b933e274 --reason "the workflow was missing"`,
	Long: `Deleting cannot be undone. The file records each message first: who, why, when, its order and the hash of its body.`,
}

func (o *deadLetterOptions) flags() []app.Flag {
	flags := []app.Flag{
		app.WhichMessages.Flag("all", &o.All, "handle all messages of the queue instead of the IDs"),
		app.CommandFlags.Flag("dry-run", &o.DryRun,
			"change nothing and write no file; print what would happen to each message"),
		yesFlag(&o.yes),
		app.PaceFlags.Flag("rate", &o.Rate, "messages a `second`").Within("0.001", "1000"),
		app.RecordFlags.Flag("journal", &o.file, "`file` for the record of each action"),
	}
	return append(flags, recordFlags(&o.By, &o.Reason, "record")...)
}

func newHandling(a *app.App, action string) *cobra.Command {
	o := &deadLetterOptions{
		app: a, action: action, Handling: client.Handling{Rate: client.RedriveRate},
		file: journal.Name,
	}
	text := deadLettersRedriveText
	if action == "discard" {
		text = deadLettersDiscardText
	}
	text.Long += `

Name the messages by their IDs, or give --all for those that are there when the command begins. The file gets a
line before each message is handled and one with the result. With --output json each line is one message.`
	text.Args = app.Args{Least: 1, Any: true, What: "a queue, and IDs of messages or --all"}
	text.Reach = app.Reach{Server: true, Stack: true}
	return a.Command(text, o.flags(),
		func(cmd *cobra.Command, given []string) error {
			o.Queue = given[0]
			o.IDs = given[1:]
			return runHandling(cmd.Context(), o)
		})
}

func explainQueue(a *app.App, err error, queue string) *failure.Error {
	if errors.Is(err, client.ErrNotFound) {
		return failure.Wrap(err, failure.NotFound, "list them with `"+a.Program()+" dead-letters list`",
			"queue %s", queue)
	}
	return a.Explain(err, "dead letters of "+queue)
}

func runDeadLettersList(ctx context.Context, a *app.App) error {
	all, err := app.Ask(ctx, a, "list of queues", (*client.Client).DeadLetterQueues)
	if err != nil {
		return err
	}
	app.PrintList(a, all, []string{"QUEUE", "MESSAGES", "OLDEST SEEN", "EXPIRES"},
		func(q *client.DeadLetterQueue) []string {
			name := render.Clean(q.Queue)
			switch {
			case q.Problem != "":
				return []string{name, "?", render.Clean(q.Problem), "-"}
			case q.Oldest.IsZero():
				return []string{name, fmt.Sprint(q.Messages), "-", "-"}
			}
			return []string{
				name, fmt.Sprint(q.Messages), render.Moment(core.TimeOf(q.Oldest)),
				render.Moment(core.TimeOf(q.Oldest.Add(client.KeptFor))),
			}
		})
	return nil
}

// deadLetterLine is the JSON output for one message.
type deadLetterLine struct {
	client.DeadLetter
	Body   *string `json:"body,omitempty"`       // body of the message if it is valid UTF-8
	Base64 []byte  `json:"bodyBase64,omitempty"` // body of the message if it is not valid UTF-8
}

func runDeadLettersLook(ctx context.Context, o *deadLetterOptions) error {
	a := o.app
	all, err := app.Ask(ctx, a, "", func(c *client.Client, ctx context.Context) ([]client.DeadLetter, error) {
		all, err := c.DeadLetters(ctx, o.Queue, o.limit)
		if err != nil {
			return nil, explainQueue(a, err, o.Queue)
		}
		return all, nil
	})
	if err != nil {
		return err
	}
	for i := range all {
		o.show(&all[i])
	}
	if len(all) == 0 && !a.JSON() {
		fmt.Fprintln(a.Streams.Err, "no message is visible")
	}
	return nil
}

func (o *deadLetterOptions) show(l *client.DeadLetter) {
	a := o.app
	body := core.RedactJSON(l.Body) // Hide the tokens of a request, which only the agent may see.
	if a.JSON() {
		line := deadLetterLine{DeadLetter: *l}
		if text := string(body); o.body && utf8.ValidString(text) {
			line.Body = &text
		} else if o.body {
			line.Base64 = body
		}
		a.PrintLine(line)
		return
	}
	out := a.Streams.Out
	fmt.Fprintf(out, "%s  %s\n", a.Streams.Style().Bold(render.Clean(l.ID)), whose(l))
	fmt.Fprintf(out, "    sent %s, received %d times, sha256 %s\n", render.Moment(core.TimeOf(l.Sent)),
		l.Received, l.SHA256)
	if l.Reason != "" {
		fmt.Fprintf(out, "    in quarantine: %s\n", render.Clean(l.Reason))
	}
	if l.Refused != "" {
		fmt.Fprintf(out, "    would not be redriven to %s: %s\n", render.Clean(l.Queue),
			render.Clean(l.Refused))
	} else {
		fmt.Fprintf(out, "    would be redriven to %s\n", render.Clean(l.Queue))
	}
	if o.body {
		fmt.Fprintf(out, "    %s\n", render.Clean(string(body)))
	}
}

func whose(l *client.DeadLetter) string {
	if l.OrderID == "" {
		return "of no order that can be read"
	}
	text := strings.TrimSpace(l.Kind + " of order " + l.OrderID)
	if l.Step != "" {
		text += ", step " + l.Step
	}
	if l.Attempt > 0 {
		text += fmt.Sprintf(", attempt %d", l.Attempt)
	}
	return render.Clean(text)
}

func runHandling(ctx context.Context, o *deadLetterOptions) error {
	a := o.app
	o.By = sender(o.By)
	if o.All == (len(o.IDs) > 0) {
		return failure.New(failure.Usage, "look at them with `"+a.Program()+" dead-letters list "+o.Queue+
			"`, then give IDs, or --all", "say which messages of %s are meant", o.Queue)
	}
	if strings.TrimSpace(o.Reason) == "" {
		return noReason("nothing was done")
	}
	if err := checkTexts(o.By, o.Reason); err != nil {
		return err
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	if err := o.confirm(ctx, c); err != nil {
		return err
	}
	code := failure.OK
	reported := 0
	o.Record = func(h client.Handled) error { o.print(h, &reported, &code); return nil }
	if !o.DryRun {
		file, err := journal.Open(o.file)
		if err != nil {
			return failure.Wrap(err, failure.Usage, "name another one with --journal",
				"what is done cannot be recorded, and nothing was done")
		}
		defer func() { _ = file.Close() }() // Record has synced each line.
		o.Record = func(h client.Handled) error {
			err := file.Record(h)
			o.print(h, &reported, &code)
			return err
		}
	}
	do := c.Redrive
	if o.action == "discard" {
		do = c.Discard
	}
	if err := do(ctx, o.Handling); err != nil {
		return explainQueue(a, err, o.Queue)
	}
	if reported == 0 {
		return failure.New(failure.NotFound, "list its messages with `"+a.Program()+" dead-letters list`",
			"queue %s shows none of these messages, so nothing was done", o.Queue)
	}
	if code != failure.OK {
		return failure.Silent(code, "not every message was handled")
	}
	return nil
}

// confirm asks the user before the command handles all messages of a queue or discards any message.
func (o *deadLetterOptions) confirm(ctx context.Context, c *client.Client) error {
	a := o.app
	if o.yes || o.DryRun || o.action == "redrive" && !o.All {
		return nil
	}
	which := view.Count(len(o.IDs), "message")
	if o.All {
		all, err := c.DeadLetterQueues(ctx)
		if err != nil {
			return explainQueue(a, err, o.Queue)
		}
		which = "all messages"
		for _, q := range all {
			if q.Queue == o.Queue {
				which = fmt.Sprintf("all messages, %d now,", q.Messages)
			}
		}
	}
	return confirm(a, false, fmt.Sprintf("%s%s %s of %s?", strings.ToUpper(o.action[:1]), o.action[1:], which,
		o.Queue), "nothing was done")
}

// print prints the result for one message. It counts the message in reported, and stores the worst exit code
// in code.
func (o *deadLetterOptions) print(h client.Handled, reported *int, code *failure.Code) {
	if h.Result == client.Begun {
		return
	}
	*reported++
	switch h.Result {
	case client.Missing:
		*code = failure.Worst(*code, failure.NotFound)
	case client.NotTaken, client.Failed:
		*code = failure.Worst(*code, failure.Refused)
	}
	if o.app.JSON() {
		o.app.PrintLine(h)
		return
	}
	text := string(h.Result)
	if h.To != "" && h.Result == client.Redriven {
		text += " to " + h.To
	}
	if h.DryRun && h.Text == "" {
		text = "would be " + text
	}
	if h.OrderID != "" {
		text += " (order " + h.OrderID + ")"
	}
	if h.Text != "" {
		text += ": " + h.Text
	}
	fmt.Fprintf(o.app.Streams.Out, "%s: %s\n", render.Clean(h.ID), render.Clean(text))
}
