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
	action string // redrive or discard
	client.Handling
	number int  // look: of messages
	body   bool // look
	file   string
	yes    bool
}

func newDeadLetters(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dead-letters",
		Short: "Look at messages that were given up, redrive or discard them",
		Long: "Messages that were received too often without being handled are in the queue of dead " +
			"letters beside their\n" +
			"own queue, and those that could not be read, or were refused and name no reply-to, in the " +
			"quarantine. Their\n" +
			"orders are safe: the Supervisor counts the step as failed, or asks again. A redriven message " +
			"does no harm\n" +
			"however old it is, and neither does a copy of it.\n\n" +
			"A queue can only be looked at by receiving: meanwhile its messages are hidden from others, " +
			"for half a minute\n" +
			"at most. So one that another operator looks at is not found.",
		Args: cobra.ArbitraryArgs,
		RunE: app.Group,
	}
	cmd.AddCommand(newDeadLettersList(a), newDeadLettersLook(a),
		newHandling(a, "redrive", "Send messages back to the queue that they came from",
			"Send messages back to the queue that they were given up in, or quarantined from, and delete "+
				"each here when it\n"+
				"was sent. One that was quarantined goes back as it was sent first, if its queue would "+
				"accept "+
				"it now; else it\n"+
				"stays, and the reason is reported. Look at the cause first, and redrive slowly."),
		newHandling(a, "discard", "Delete messages",
			"Delete messages, which cannot be undone. Each stands in the file first: who, why, when, "+
				"which one, of which\n"+
				"order, and the hash of its body."))
	return cmd
}

func newDeadLettersList(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the queues, and how many messages each holds",
		Long: "List the queues of dead letters and the quarantine: how many messages each holds, and when " +
			"the oldest of ten\n" +
			"was sent. Messages are kept for 14 days. With --output json it writes JSON Lines: one queue " +
			"on each line.",
		Example: "  stepkeeper dead-letters list --stack shop",
		Args:    app.Args(cobra.NoArgs, "no arguments, only flags"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runDeadLettersList(cmd.Context(), a) },
	}
}

func newDeadLettersLook(a *app.App) *cobra.Command {
	o := &deadLetterOptions{app: a}
	cmd := &cobra.Command{
		Use:   "look QUEUE",
		Short: "Look at some messages of a queue",
		Long: "Look at some messages of a queue: which order and step each belongs to, why it is in " +
			"quarantine,\n" +
			"and whether a redrive would send it back. Bodies may hold the data of orders; --body shows " +
			"them.\n\n" +
			"With --output json it writes JSON Lines: one message on each line.",
		Example: "  stepkeeper dead-letters look requests-payment\n  stepkeeper dead-letters look " +
			"quarantine --number 50 --body",
		Args: app.Args(cobra.ExactArgs(1), "a queue"),
		RunE: func(cmd *cobra.Command, given []string) error {
			o.Queue = given[0]
			return runDeadLettersLook(cmd.Context(), o)
		},
	}
	cmd.Flags().IntVar(&o.number, "number", 10, "how many `messages` to look at, 1 to 1000")
	cmd.Flags().BoolVar(&o.body, "body", false, "show the bodies")
	return cmd
}

func newHandling(a *app.App, action, short, long string) *cobra.Command {
	o := &deadLetterOptions{app: a, action: action}
	cmd := &cobra.Command{
		Use:   action + " QUEUE [ID...] --reason TEXT",
		Short: short,
		Long: long +
			"\n\nName the messages by their IDs, or give --all: those that were there when the command " +
			"began. What is done\n" +
			"with each is appended to a file of JSON Lines before, and what became of it after. --dry-run " +
			"reports what\n" +
			"would become of each. With --output json it writes JSON Lines: one message on each line.",
		Example: "  stepkeeper dead-letters " + action +
			" replies --all --reason \"the table was throttled\" --dry-run\n" +
			"  stepkeeper dead-letters " + action +
			" quarantine 5fea7756-0ea4-451a-a703-a558b933e274 --reason \"the workflow was missing\"",
		Args: app.Args(cobra.MinimumNArgs(1), "a queue, and IDs of messages or --all"),
		RunE: func(cmd *cobra.Command, given []string) error {
			o.Queue, o.IDs = given[0], given[1:]
			return runHandling(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.All, "all", false, "all messages of the queue, in place of IDs")
	f.StringVar(&o.By, "by", "", "who does it: kept in the file (`name`; default: the user of this computer)")
	f.StringVar(&o.Reason, "reason", "", "why: kept in the file (`text`)")
	f.Float64Var(&o.Rate, "rate", client.RedriveRate, "messages a `second`, 0.001 to 1000")
	f.StringVar(&o.file, "file", journal.Name, "the `file` that what is done is appended to")
	f.BoolVar(&o.DryRun, "dry-run", false,
		"do nothing and write no file: report what would become of each message")
	f.BoolVarP(&o.yes, "yes", "y", false,
		"do not ask first; required for --all where there is no terminal to ask on")
	return cmd
}

// explainQueue is explain for what is asked of a queue.
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
	return app.PrintList(a, all, []string{"QUEUE", "MESSAGES", "OLDEST SEEN", "DELETED"},
		func(q *client.DeadLetterQueue) []string {
			switch {
			case q.Problem != "":
				return []string{q.Queue, "?", render.Clean(q.Problem), "-"}
			case q.Oldest.IsZero():
				return []string{q.Queue, fmt.Sprint(q.Messages), "-", "-"}
			}
			return []string{q.Queue, fmt.Sprint(q.Messages), render.Moment(core.TimeOf(q.Oldest)),
				render.Moment(core.TimeOf(q.Oldest.Add(client.KeptFor)))}
		})
}

// deadLetterLine is a message with --output json.
type deadLetterLine struct {
	client.DeadLetter
	Body   *string `json:"body,omitempty"`       // body that is valid UTF-8
	Base64 []byte  `json:"bodyBase64,omitempty"` // any other body
}

func runDeadLettersLook(ctx context.Context, o *deadLetterOptions) error {
	a := o.app
	if o.number < 1 || o.number > 1000 {
		return failure.New(failure.Usage, "give a number of 1 to 1000", "--number %d is out of range",
			o.number)
	}
	ctx, cancel := a.Bounded(ctx, app.DefaultTimeout)
	defer cancel()
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	all, err := c.DeadLetters(ctx, o.Queue, o.number)
	if err != nil {
		return explainQueue(a, err, o.Queue)
	}
	for i := range all {
		if err := o.show(&all[i]); err != nil {
			return err
		}
	}
	if len(all) == 0 && !a.JSON() {
		fmt.Fprintln(a.Streams.Err, "no message is to be seen")
	}
	return nil
}

// show prints a message.
func (o *deadLetterOptions) show(l *client.DeadLetter) error {
	a, body := o.app, core.RedactJSON(l.Body) // only the agent may see the tokens of a request
	if a.JSON() {
		line := deadLetterLine{DeadLetter: *l}
		if text := string(body); o.body && utf8.ValidString(text) {
			line.Body = &text
		} else if o.body {
			line.Base64 = body
		}
		return a.PrintLine(line)
	}
	out := a.Streams.Out
	fmt.Fprintf(out, "%s  %s\n", a.Streams.Style().Bold(l.ID), whose(l))
	fmt.Fprintf(out, "    sent %s, received %d times, sha256 %s\n", render.Moment(core.TimeOf(l.Sent)),
		l.Received, l.SHA256)
	if l.Reason != "" {
		fmt.Fprintf(out, "    in quarantine: %s\n", render.Clean(l.Reason))
	}
	if l.Refused != "" {
		fmt.Fprintf(out, "    would not be redriven to %s: %s\n", render.Clean(l.Queue),
			render.Clean(l.Refused))
	} else {
		fmt.Fprintf(out, "    would be redriven to %s\n", l.Queue)
	}
	if o.body {
		fmt.Fprintf(out, "    %s\n", render.Clean(string(body)))
	}
	return nil
}

// whose describes a message and the order it belongs to.
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
		return failure.New(failure.Usage, "look at them with `"+a.Program()+" dead-letters look "+o.Queue+
			"`, then give IDs, or --all", "say which messages of %s are meant", o.Queue)
	}
	if strings.TrimSpace(o.Reason) == "" {
		return noReason("nothing was done")
	}
	if o.Rate == 0 { // which means the usual rate to the client
		return failure.New(failure.Usage, "give 0.001 to 1000, or leave it out",
			"--rate 0 handles no message, and nothing was done")
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	if ok, err := o.confirmed(ctx, c); err != nil || !ok {
		return err
	}
	code := failure.OK
	reported := 0
	o.Record = func(h client.Handled) error { return o.print(h, &reported, &code) }
	if !o.DryRun {
		file, err := journal.Open(o.file)
		if err != nil {
			return failure.Wrap(err, failure.Usage, "name another one with --file",
				"what is done cannot be recorded, and nothing was done")
		}
		defer func() { _ = file.Close() }() // each line is on the disk already
		o.Record = func(h client.Handled) error {
			return errors.Join(file.Record(h),
				o.print(h, &reported, &code))
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
		return failure.New(failure.NotFound, "look at it with `"+a.Program()+" dead-letters list`",
			"no message of %s is to be seen, and nothing was done", o.Queue)
	}
	if code != failure.OK {
		return failure.Silent(code, "not every message was handled")
	}
	return nil
}

// confirmed asks before all of a queue are handled, and before any is deleted.
func (o *deadLetterOptions) confirmed(ctx context.Context, c *client.Client) (bool, error) {
	a := o.app
	switch {
	case o.yes || o.DryRun || o.action == "redrive" && !o.All:
		return true, nil
	case !a.Streams.Interactive() && o.All:
		return false, failure.New(failure.Usage, "look with --dry-run, then add --yes",
			"--all needs --yes where there is no terminal, and nothing was done")
	case !a.Streams.Interactive():
		return true, nil
	}
	which := view.Count(len(o.IDs), "message")
	if o.All {
		all, err := c.DeadLetterQueues(ctx)
		if err != nil {
			return false, explainQueue(a, err, o.Queue)
		}
		which = "all messages"
		for _, q := range all {
			if q.Queue == o.Queue {
				which = fmt.Sprintf("all messages, %d now,", q.Messages)
			}
		}
	}
	return confirm(a, fmt.Sprintf("%s%s %s of %s?", strings.ToUpper(o.action[:1]), o.action[1:], which,
		o.Queue), "dead-letters "+o.action, "nothing was done")
}

// print writes what became of a message, and keeps the worst of the exit codes.
func (o *deadLetterOptions) print(h client.Handled, reported *int, code *failure.Code) error {
	if h.Result == client.Begun {
		return nil
	}
	*reported++
	switch h.Result {
	case client.Missing:
		*code = failure.Worst(*code, failure.NotFound)
	case client.NotTaken, client.Failed:
		*code = failure.Worst(*code, failure.Refused)
	}
	if o.app.JSON() {
		return o.app.PrintLine(h)
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
	_, err := fmt.Fprintf(o.app.Streams.Out, "%s: %s\n", h.ID, render.Clean(text))
	return app.Written(err)
}
