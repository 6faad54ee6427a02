package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/bulk"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
	"github.com/stepkeeper/stepkeeper/shared/view"
	"github.com/stepkeeper/stepkeeper/simulate"
)

// commandOptions are those of resubmit, undo, cancel, resolve, move, close, erase and answer.
type commandOptions struct {
	app      *App
	name     string // "resubmit" …
	ids      []string
	id       string // of the command; "" makes one (P5)
	number   int    // command number to send; -1: the one that the order has now (P5)
	yes      bool   // undo, close, erase: do not ask
	unknown  bool   // cancel: also where no order is known yet
	deadline string
	step     string // resolve, answer
	fact     core.Fact
	event    bool   // answer: step is the name of an event
	value    string // answer
	round    int    // answer: 0: the present one
	token    string // answer: in place of the step and by
	to       string // move, resubmit: the definition
	by       string
	reason   string
	dryRun   bool
	seeds    int             // move: simulate it first, with so many
	report   *simulated      // of that
	given    string          // resubmit: STEP=FILE
	input    json.RawMessage // what stands in FILE
	stated   string          // resolve: the file with what the step returned
	output   json.RawMessage // what stands in that file
}

// verdictLine is one answer with --output json: one on each line.
type verdictLine struct {
	OrderID  string       `json:"orderId"`
	Command  string       `json:"command"` // cancel, undo, resubmit, resolve, move, close, erase
	Accepted bool         `json:"accepted"`
	Reason   string       `json:"reason,omitempty"`
	DryRun   bool         `json:"dryRun,omitempty"` // nothing was sent
	Report   *simulated   `json:"simulated,omitempty"`
	Exit     failure.Code `json:"exit"` // what the exit code would be for this order alone
}

func newResubmit(a *App) *cobra.Command {
	o := &commandOptions{app: a, name: "resubmit"}
	cmd := o.command("resubmit ID...", "Go on with orders in Error, or start undone ones again",
		"An order in Error goes on where it stopped: forward, or with its undo. A Compensated order starts\n"+
			"again from the beginning. Fix the cause first. `stepkeeper bulk resubmit` goes on with many.\n"+
			"Where a step failed because of its input, --input gives it another one for this run: only "+
			"where the step\n"+
			"was not asked, or is resolved as not-happened, since a service must not get two inputs under "+
			"one key.",
		"  stepkeeper resubmit order-1001\n  stepkeeper resubmit order-1001 --deadline 2h\n"+
			"  stepkeeper resubmit order-1001 --input charge-payment=corrected.json --reason \"the "+
			"currency was missing\"")
	o.numberFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&o.deadline, "deadline", "",
		"new deadline: a `time` in RFC 3339, or a duration from now; without it the order has none any more")
	f.BoolVar(&o.dryRun, "dry-run", false, "send nothing: report whether each order would be accepted")
	f.StringVar(&o.given, "input", "",
		"give a step another input: `STEP=FILE`, a JSON value; - for FILE reads standard input")
	f.StringVar(&o.to, "definition", "",
		"move them first to a definition of their workflow: latest, or a `hash`; see move")
	_ = cmd.RegisterFlagCompletionFunc("definition",
		cobra.FixedCompletions([]string{client.Latest}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func newUndo(a *App) *cobra.Command {
	o := &commandOptions{app: a, name: "undo"}
	cmd := o.command("undo ID...", "Give up orders in Error and undo what they did",
		"Every step that was ever attempted is undone, in reverse order. An order past its point of "+
			"no\nreturn is refused.",
		"  stepkeeper undo order-1001\n  stepkeeper undo order-1001 order-1002 --yes")
	o.numberFlag(cmd)
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask first (it asks on a terminal only)")
	return cmd
}

func newCancel(a *App) *cobra.Command {
	o := &commandOptions{app: a, name: "cancel", number: -1}
	cmd := o.command("cancel ID...", "Stop orders and undo what they did",
		"An order that is Processed, or past its point of no return, is refused. A cancelled order cannot "+
			"be\n"+
			"resubmitted.",
		"  stepkeeper cancel order-1001")
	cmd.Flags().BoolVar(&o.unknown, "unknown", false,
		"also where the order has not arrived yet: it will not run when it does")
	return cmd
}

// stepOutput is a flag of resolve; --output is the format of what a command prints.
const stepOutput = "step-output"

func newResolve(a *App) *cobra.Command {
	o := &commandOptions{app: a, name: "resolve"}
	cmd := &cobra.Command{
		Use:   "resolve ID STEP happened|not-happened|undone",
		Short: "State what happened to a step in doubt",
		Long: "After looking at the remote service, state what happened to a step of an order in Error. " +
			"The order\n" +
			"stays in Error; `resubmit` or `undo` goes on with it. It is refused while the step's last " +
			"attempt\n" +
			"might still take effect; `show` prints until when.\n" +
			"Where later steps read what the step returned, give it with --step-output: a step that " +
			"happened then has this\n" +
			"output. An order, or a step, that is being undone takes none.",
		Example: "  stepkeeper resolve order-1001 charge-payment happened\n" +
			"  stepkeeper resolve order-1001 charge-payment happened --step-output charged.json",
		Args: args(cobra.ExactArgs(3), "an order, a step, and what happened"),
		ValidArgsFunction: func(cmd *cobra.Command, given []string, prefix string) (
			[]string, cobra.ShellCompDirective) {
			switch len(given) {
			case 0:
				return a.completeOrders(1)(cmd, given, prefix)
			case 1:
				return a.completeSteps(cmd.Context(), given[0])
			case 2:
				return facts(), cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, given []string) error {
			o.ids, o.step, o.fact = given[:1], given[1], core.Fact(given[2])
			return runCommand(cmd.Context(), o)
		},
	}
	o.numberFlag(cmd)
	o.idFlag(cmd)
	cmd.Flags().StringVar(&o.stated, stepOutput, "",
		"what the step returned, where it happened: a `file` with a JSON value; - reads standard input")
	return cmd
}

func newMove(a *App) *cobra.Command {
	o := &commandOptions{app: a, name: "move"}
	cmd := o.command("move ID... --definition latest|HASH",
		"Pin orders to another definition of their workflow",
		"An order runs the definition that was deployed when it came, so that a deploy disturbs none. "+
			"When that\n"+
			"definition has a bug, fix the file, deploy it, and move the order. What was done already "+
			"must be the same\n"+
			"in both: --dry-run names the differences, step by step, and sends nothing. An order in Error "+
			"stays there:\n"+
			"`resubmit --definition latest` moves it and goes on, in one command.\n"+
			"--simulate runs each order first as the move would leave it, in virtual time and against "+
			"every failure, and\n"+
			"moves it only where no invariant is broken and it ends; `simulate FILE --move ID` does so "+
			"before FILE is deployed.",
		"  stepkeeper move order-1001 --definition latest --dry-run\n  stepkeeper move order-1001 "+
			"--definition latest --simulate")
	o.numberFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&o.to, "definition", "", "the definition: latest, or its `hash`")
	f.BoolVar(&o.dryRun, "dry-run", false,
		"send nothing: name the differences, and report whether the order would be moved")
	f.IntVar(&o.seeds, "simulate", 0,
		"simulate the moved order first, with so many `seeds` (2000 where none are given)")
	f.Lookup("simulate").NoOptDefVal = "2000"
	_ = cmd.RegisterFlagCompletionFunc("definition",
		cobra.FixedCompletions([]string{client.Latest}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func newClose(a *App) *cobra.Command {
	o := &commandOptions{app: a, name: "close"}
	cmd := o.command("close ID... --reason TEXT", "End orders in Error as they stand",
		"For an order that was settled by hand, or that nothing can go on with. Its steps keep their "+
			"states, and\n"+
			"what they did stays as you found it: nothing is undone. A Closed order is final: it takes no "+
			"command any\n"+
			"more. It is refused while a step is in flight, or a call of one may still take effect.",
		"  stepkeeper close order-1001 --reason \"refunded by hand, ticket 4711\"")
	o.numberFlag(cmd)
	f := cmd.Flags()
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask first (it asks on a terminal only)")
	return cmd
}

func newErase(a *App) *cobra.Command {
	o := &commandOptions{app: a, name: "erase"}
	cmd := o.command("erase ID... --reason TEXT", "Remove what ended orders hold of people's data",
		"The order's content, its inputs, outputs, answers, texts and notes are removed at once, for "+
			"good. States,\n"+
			"times, who gave which command, and the hash of the content stay, so that its ID never runs "+
			"again. An erased\n"+
			"order takes no further command. It is refused while the order, or one that it is a child of, "+
			"has not come to\n"+
			"rest. Its child orders are orders of their own: erase them too. Name no person in --reason, "+
			"which stays.",
		"  stepkeeper erase order-1001 --reason \"the customer asked for it, ticket 4711\"")
	o.numberFlag(cmd)
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask first (it asks on a terminal only)")
	return cmd
}

// signed reports a command that says who sends it and why: both are stored with what it does.
func (o *commandOptions) signed() bool { return o.name == "close" || o.name == "erase" }

// checkSender: a command says who sends it, and may say why; one that is signed says both.
func (o *commandOptions) checkSender() error {
	if o.signed() && strings.TrimSpace(o.reason) == "" {
		return noReason("nothing was " + map[string]string{"close": "closed", "erase": "erased"}[o.name])
	}
	if len(o.reason) > core.MaxMessage {
		return failure.New(failure.Usage, fmt.Sprintf("write at most %d bytes", core.MaxMessage),
			"--reason has %d bytes", len(o.reason))
	}
	o.by = sender(o.by)
	if o.signed() && strings.TrimSpace(o.by) == "" || len(o.by) > message.MaxBy {
		return failure.New(failure.Usage, fmt.Sprintf("add --by NAME, of at most %d bytes", message.MaxBy),
			"the name of who sends the command has %d bytes", len(o.by))
	}
	return nil
}

// noReason says that a command which needs a reason has none.
func noReason(not string) error {
	return failure.New(failure.Usage, fmt.Sprintf("add --reason TEXT, of at most %d bytes: it says why",
		core.MaxMessage), "--reason is missing, and %s", not)
}

// sender is who sends a command: by, or the user of this computer.
func sender(by string) string {
	if u, err := user.Current(); by == "" && err == nil {
		return u.Username
	}
	return by
}

func facts() []string {
	return []string{string(core.Happened), string(core.NotHappened), string(core.Undone)}
}

func (o *commandOptions) command(use, short, long, example string) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Example: example,
		Args:              args(cobra.MinimumNArgs(1), "the ID of an order, or several"),
		ValidArgsFunction: o.app.completeOrders(-1),
		RunE: func(cmd *cobra.Command, given []string) error {
			o.ids = given
			return runCommand(cmd.Context(), o)
		},
	}
	o.idFlag(cmd)
	return cmd
}

func (o *commandOptions) idFlag(cmd *cobra.Command) {
	if o.name != "answer" {
		cmd.Flags().StringVar(&o.by, "by", "",
			"who sends it: kept with its verdict (`name`; default: the user of this computer)")
		cmd.Flags().StringVar(&o.reason, "reason", "",
			"why: kept with its verdict (`text`); close and erase need it, and close sends it to the "+
				"application")
	}
	cmd.Flags().StringVar(&o.id, "command-id", "",
		"send the command under this `ID`: one that was sent before is carried out once, and answers its "+
			"verdict")
}

func (o *commandOptions) numberFlag(cmd *cobra.Command) {
	cmd.Flags().IntVar(&o.number, "command", -1,
		"refuse it unless the order has this command `number` (default: the number that it has now)")
}

func (o *commandOptions) check(now time.Time) (deadline time.Time, err error) {
	if o.name == "move" && o.to == "" {
		return deadline, failure.New(failure.Usage, whichDefinition, "the definition to move to is missing")
	}
	if o.seeds < 0 {
		return deadline, failure.New(failure.Usage, "give a number from 1, --simulate=2000",
			"--simulate=%d is no number of seeds", o.seeds)
	}
	if o.to != "" && !message.IsDefinition(o.to) {
		return deadline, failure.New(failure.Usage, whichDefinition, "%q is no definition", o.to)
	}
	if o.name != "answer" {
		if err := o.checkSender(); err != nil {
			return deadline, err
		}
	}
	if o.name == "answer" {
		if err := o.checkAnswer(); err != nil {
			return deadline, err
		}
	}
	for _, id := range o.ids {
		if err := checkID(id); err != nil {
			return deadline, err
		}
	}
	if o.number >= 0 && len(o.ids) > 1 {
		return deadline, failure.New(failure.Usage, "give one order, or leave --command out",
			"--command belongs to one order, not to %d", len(o.ids))
	}
	if err := o.readInput(); err != nil {
		return deadline, err
	}
	if o.id != "" && len(o.ids) != 1 {
		return deadline, failure.New(failure.Usage, "give one order, or leave --command-id out",
			"--command-id belongs to one command of one order")
	}
	if o.name == "resolve" && !slices.Contains(facts(), string(o.fact)) {
		return deadline, failure.New(failure.Usage, "say one of "+strings.Join(facts(), ", "),
			"%q is not what can happen to a step", o.fact)
	}
	if err := o.readOutput(); err != nil || o.deadline == "" {
		return deadline, err
	}
	if d, err := time.ParseDuration(o.deadline); err == nil && d > 0 {
		return now.Add(d), nil
	}
	deadline, err = time.Parse(time.RFC3339, o.deadline)
	if err != nil {
		return deadline, failure.New(failure.Usage,
			"write a time like 2026-11-21T10:00:00Z, or a duration like 2h",
			"--deadline %q is neither a time nor a duration", o.deadline)
	}
	return deadline, nil
}

// readInput reads the input that a resubmit gives to a step.
func (o *commandOptions) readInput() error {
	if o.given == "" {
		return nil
	}
	step, file, found := strings.Cut(o.given, "=")
	o.step = step
	if !found || step == "" || file == "" {
		return failure.New(failure.Usage, "write --input STEP=FILE", "--input %.80q names no step and file",
			o.given)
	}
	if len(o.ids) > 1 {
		return failure.New(failure.Usage, "give one order, or leave --input out",
			"--input belongs to one order, not to %d", len(o.ids))
	}
	var err error
	if o.input, err = o.readValue(file, "input of step "+step, core.MaxInput); err != nil {
		return err
	}
	return o.checkValue("input of step "+step, message.Control{Kind: message.Resubmit, Step: step,
		Input: o.input})
}

// readOutput reads what a step returned that a resolve states as happened.
func (o *commandOptions) readOutput() (err error) {
	if o.stated == "" {
		return nil
	}
	if o.output, err = o.readValue(o.stated, "output of step "+o.step, core.MaxOutput); err != nil {
		return err
	}
	return o.checkValue("output of step "+o.step, message.Control{Kind: message.Resolve, Step: o.step,
		Fact: o.fact, Output: o.output})
}

// readValue reads a JSON value from a file; "-" means standard input.
func (o *commandOptions) readValue(file, what string, limit int64) (json.RawMessage, error) {
	in := o.app.Streams.In
	if file != "-" {
		f, err := os.Open(file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, failure.Wrap(err, failure.NotFound, "", "the %s", what)
		}
		if err != nil {
			return nil, failure.Wrap(err, failure.Usage, "", "the %s", what)
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, 2*limit+1))
	if err != nil {
		return nil, failure.Wrap(err, failure.Usage, "", "the %s", what)
	}
	if len(text) > int(2*limit) {
		return nil, failure.New(failure.Usage, "store large data elsewhere and give a reference",
			"the %s is larger than %d bytes", what, limit)
	}
	if err := rawjson.Check(text, rawjson.MaxLevels); err != nil {
		return nil, failure.Wrap(err, failure.Usage, "write one JSON value, such as {\"amount\": 12}",
			"the %s", what)
	}
	var compact bytes.Buffer
	err = json.Compact(&compact, text)
	return compact.Bytes(), err
}

// checkValue holds the value that a command carries to the rules of its message.
func (o *commandOptions) checkValue(what string, c message.Control) error {
	c.Schema, c.OrderID, c.ID = message.Schema, o.ids[0], "x"
	if err := c.Check(); err != nil {
		return failure.New(failure.Usage, "", "the %s: %s", what, message.Reason(err))
	}
	return nil
}

func runCommand(ctx context.Context, o *commandOptions) error {
	deadline, err := o.check(o.app.Now())
	if err != nil {
		return err
	}
	if ok, err := o.confirmed(); err != nil || !ok {
		return err
	}
	c, err := o.app.client(ctx)
	if err != nil {
		return err
	}
	worst := failure.OK
	for _, id := range o.ids {
		code, err := o.one(ctx, c, id, deadline)
		if err != nil {
			return err
		}
		worst = failure.Worst(worst, code)
	}
	if worst != failure.OK {
		return failure.Silent(worst, o.name+" was not accepted for every order")
	}
	return nil
}

// confirmed asks before what cannot be taken back, on a terminal.
func (o *commandOptions) confirmed() (bool, error) {
	if o.name != "undo" && !o.signed() || o.yes || !o.app.Streams.Interactive() {
		return true, nil
	}
	what := o.ids[0]
	if len(o.ids) > 1 {
		what = fmt.Sprintf("%d orders (%s, …)", len(o.ids), what)
	}
	question, not := "Give up "+what+" and undo all that was done?", "nothing was undone"
	switch o.name {
	case "close":
		question, not = "End "+what+" as it stands, for good?", "nothing was closed"
	case "erase":
		question, not = "Remove the content, inputs and outputs of "+what+", for good?", "nothing was erased"
	}
	return o.app.confirm(question, o.name, not)
}

// confirm asks; what is not done is an error.
func (a *App) confirm(question, what, not string) (bool, error) {
	ok, err := a.Streams.Confirm(question)
	if err != nil {
		return false, failure.Wrap(err, failure.General, "", "%s", what)
	}
	if !ok {
		return false, failure.New(failure.General, "answer y, or give --yes", "%s", not)
	}
	return true, nil
}

// one sends the command for one order and prints the verdict. The error ends the whole command.
func (o *commandOptions) one(ctx context.Context, c *client.Client, id string,
	deadline time.Time) (failure.Code, error) {
	if o.seeds > 0 {
		if code, err := o.simulate(ctx, c, id); err != nil || code != failure.OK {
			return code, err
		}
	}
	ctx, cancel := o.app.bounded(ctx, defaultTimeout)
	defer cancel()
	verdict, err := o.send(ctx, c, id, deadline)
	var f *failure.Error
	switch {
	case err == nil && verdict.Accepted:
		return failure.OK, o.print(id, true, verdict.Reason, failure.OK)
	case err == nil:
		return failure.Refused, o.print(id, false, verdict.Reason, failure.Refused)
	case errors.As(err, &f):
	default:
		f = o.app.explain(err, "order "+id)
	}
	if f.Code != failure.Refused && f.Code != failure.NotFound {
		return f.Code, f
	}
	reason := f.Error()
	if f.Do != "" {
		reason += "; " + f.Do
	}
	return f.Code, o.print(id, false, reason, f.Code)
}

// simulate runs the order as the move would leave it. Any code but OK: it is not to be moved.
func (o *commandOptions) simulate(ctx context.Context, c *client.Client, id string) (failure.Code, error) {
	o.report = nil
	sim := &simulateOptions{app: o.app, tape: "counterexample.json"}
	sc, err := o.app.moved(ctx, c, id, o.to, nil)
	var r *simulate.Report
	if err == nil {
		r = sim.search(ctx, sc, simulate.Search{Seeds: o.seeds, First: 1})
		err = ctx.Err()
	}
	if err == nil && o.app.JSON() {
		o.report = sim.whole(r)
		if err = sim.keepTape(r); err == nil {
			err = sim.verdict(r)
		}
	} else if err == nil {
		err = sim.print(r, false)
	}
	var f *failure.Error
	switch {
	case err == nil:
		return failure.OK, nil
	case !errors.As(err, &f):
		return failure.General, failure.Wrap(err, failure.General, "", "order %s is not moved", id)
	case f.Code == failure.NotProcessed:
		return f.Code, o.print(id, false,
			"it is not moved, because its simulation found something wrong; correct that first, or move "+
				"it without --simulate", f.Code)
	case f.Code == failure.Refused:
		return f.Code, o.print(id, false, f.Error(), f.Code)
	}
	return f.Code, f
}

// send looks the order up, for its command number, and sends the command with it (P5).
func (o *commandOptions) send(ctx context.Context, c *client.Client, id string,
	deadline time.Time) (core.Verdict, error) {
	action := bulk.Action{Command: o.name, Definition: o.to, Step: o.step, Fact: o.fact, By: o.by,
		Reason: o.reason}
	if o.name == "cancel" && o.unknown {
		return action.Send(ctx, c, id, 0, o.id)
	}
	task, err := c.Get(ctx, id)
	if err != nil {
		f := o.app.explain(err, "order "+id)
		if o.name == "cancel" && f.Code == failure.NotFound {
			f.Do = "check the ID; to keep an order from running that has not arrived yet, add --unknown"
		}
		return core.Verdict{}, f
	}
	if o.name == "resolve" || o.given != "" && o.to == "" {
		if err := hasStep(task, o.step); err != nil {
			return core.Verdict{}, err
		}
	}
	if o.dryRun {
		v, err := bulk.Would(ctx, c, task, action)
		if err != nil {
			return core.Verdict{}, o.app.explain(err, "order "+id)
		}
		return v, nil
	}
	if o.name == "answer" {
		return o.answer(ctx, c, task, client.CommandID(o.id))
	}
	number := o.number
	if number < 0 {
		number = task.Command
	}
	return action.Send(ctx, c, id, number, o.id, client.NewDeadline(deadline),
		client.NewInput(o.step, o.input), client.StepOutput(o.output))
}

// whichDefinition is what to do where none, or a wrong one, is given.
const whichDefinition = "give --definition latest, or the hash that `show` and `workflow list` print: 32 " +
	"hexadecimal digits"

func hasStep(task *view.Task, step string) error {
	var names []string
	for _, s := range task.Steps {
		if s.Name == step {
			return nil
		}
		names = append(names, s.Name)
	}
	return failure.New(failure.NotFound, "its steps are "+strings.Join(names, ", "),
		"order %s has no step %.60q", task.OrderID, step)
}

func (o *commandOptions) print(id string, accepted bool, reason string, code failure.Code) error {
	a := o.app
	if a.JSON() {
		return a.printLine(verdictLine{OrderID: id, Command: o.name, Accepted: accepted, Reason: reason,
			DryRun: o.dryRun, Report: o.report, Exit: code})
	}
	style, rest, name := a.Streams.Style(), "", o.name
	if o.dryRun {
		name = "dry run: " + name
	}
	if reason != "" {
		rest = ": " + render.Clean(reason)
	}
	if !accepted {
		fmt.Fprintf(a.Streams.Err, "%s: %s %s%s\n", id, name, style.Bad("refused"), rest)
		return nil
	}
	fmt.Fprintf(a.Streams.Out, "%s: %s %s%s\n", id, name, style.Good("accepted"), rest)
	return nil
}
