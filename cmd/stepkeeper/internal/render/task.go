package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/streams"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// Page holds the settings for printing a task.
type Page struct {
	Style   streams.Style
	Now     time.Time
	Program string          // start of each advised command line
	Order   json.RawMessage // content of the order; nil if unknown
	// Messages is true to show only the messages and plans of the order's history.
	Messages bool
}

// Task prints a task for an operator: the state and its reason, the steps, the history, and the next
// commands.
func (p Page) Task(w io.Writer, t view.Task) {
	t = Cleaned(t)
	p.head(w, t)
	for _, u := range t.Unattended {
		fmt.Fprintf(w, "  %s\n", p.Style.Warn(Unattended(u, p.Now)))
	}
	if t.Deployed != "" {
		fmt.Fprintf(w, "  %s\n", p.Style.Warn("it is pinned to an older definition of its workflow, "+
			t.Definition+", and "+t.Deployed+" is deployed"))
	}
	p.reason(w, t)
	p.steps(w, t)
	p.data(w, t)
	p.history(w, t)
	p.verdicts(w, t)
	p.next(w, t)
}

func (p Page) head(w io.Writer, t view.Task) {
	fmt.Fprintf(w, "%s  %s%s\n", p.Style.Bold(t.OrderID), p.Style.State(t.State, string(t.State)),
		p.direction(t))
	about := []string{}
	if t.Workflow != "" {
		about = append(about, "workflow "+t.Workflow)
	}
	about = append(about, "run "+strconv.Itoa(t.Run), "command "+strconv.Itoa(t.Command))
	if t.Priority != "" && t.Priority != "normal" {
		about = append(about, t.Priority+" priority")
	}
	if t.ReplyTo != "" {
		about = append(about, "status messages to "+t.ReplyTo)
	}
	fmt.Fprintf(w, "  %s\n", strings.Join(about, ", "))
	fmt.Fprintf(w, "  received %s (%s)", Moment(t.Created), Age(t.Created, p.Now))
	if t.EndedAt != 0 {
		word := "ended"
		if t.State == core.Error {
			word = "stopped"
		}
		fmt.Fprintf(w, ", %s after %s (%s)", word, Span(t.EndedAt.Sub(t.Created).Std()),
			Age(t.EndedAt, p.Now))
	}
	fmt.Fprintln(w)
	if t.Parent != nil {
		fmt.Fprintf(w, "  child %d of step %s of %s\n", t.Parent.Index, t.Parent.Step, t.Parent.OrderID)
	}
	if t.UndoWait != nil {
		p.sentence(w, "  ", UndoWait(t, p.Now))
	}
}

// UndoWait describes why the undo of an order waits, and how long.
func UndoWait(t view.Task, now time.Time) string {
	u := t.UndoWait
	at := fmt.Sprintf("%s (%s)", clock(u.Until), Age(u.Until, now))
	until := "until " + at
	switch u.For {
	case "quiet":
		return fmt.Sprintf("%s is undone from %s on (%s), when no call of it can take effect any more",
			u.Step, clock(u.Until), Age(u.Until, now))
	case "reply":
		return fmt.Sprintf("its undo waits %s at most: %s is still being done", until, u.Step)
	case "retry":
		return fmt.Sprintf("its undo waits %s: then the undo of %s is asked for again", until, u.Step)
	case "children":
		return fmt.Sprintf(
			"its undo waits for the children of %s; those that do not answer are asked again at %s", u.Step,
			at)
	}
	return fmt.Sprintf("its undo waits %s at most: %s is being undone", until, u.Step)
}

// Unattended describes a queue without a consumer. If the reason is unknown, the text asks whether the agent
// runs.
func Unattended(u view.Unattended, now time.Time) string {
	since := ""
	if u.Since != 0 {
		since = " for " + Span(now.Sub(u.Since.Std()))
	}
	why := "is the agent " + u.Agent + " running?"
	if u.Reason != "" {
		why = u.Reason + "; " + u.Fix
	}
	return Clean(fmt.Sprintf("queue %s has had no consumer%s, %s waiting: %s", u.Queue, since,
		view.Count(u.Waiting, "message"), why))
}

// direction returns details for the state of a task, such as the reason of its undo, or who closed it.
func (p Page) direction(t view.Task) string {
	switch {
	case t.State == core.Error && t.Phase == core.Undoing:
		return ", while being undone"
	case t.State == core.Error && !t.Ended:
		return ", a step is still in flight"
	case t.State == core.Closed && t.Closed != nil:
		// An erased order has no reason.
		return strings.TrimSuffix(", by "+Clean(t.Closed.By)+": "+Clean(t.Closed.Reason), ": ")
	case t.Why == protocol.WhyCancel:
		return ", because the caller cancelled it"
	case t.Why == protocol.WhyOperator:
		return ", because the operator asked for it"
	case t.Why == protocol.WhyDeadline:
		return ", because its deadline passed"
	case t.Why == protocol.WhyParent:
		return ", because the order that it is a child of is undone"
	case t.Why == protocol.WhyFailure && t.State != core.Error:
		return ", because a step failed"
	}
	return ""
}

func (p Page) reason(w io.Writer, t view.Task) {
	if t.Damaged != "" {
		p.title(w, "Damaged")
		fmt.Fprintf(w, "  the stored order cannot be read, and this is what is left: %s\n", Clean(t.Damaged))
		fmt.Fprintln(w, "  restore it from a backup, or end it with close")
	}
	if e := t.Erased; e != nil {
		p.title(w, "Erased")
		fmt.Fprintf(w, "  its content, inputs, outputs and notes were removed by %s: %s\n", Clean(e.By),
			Clean(e.Reason))
	}
	if len(t.Undelivered) > 0 {
		p.title(w, "Status undelivered")
		for _, u := range t.Undelivered {
			again := "given up after 14 days"
			if u.ResendAt != 0 {
				again = "sent again " + Moment(u.ResendAt)
			}
			fmt.Fprintf(w, "  %s: %s; from number %d on, since %s, %s\n", Clean(u.ReplyTo), Clean(u.Reason),
				u.First, Moment(u.Since), again)
		}
	}
	if t.UndoneFor != nil {
		p.printCause(w, "Why it was undone", t.UndoneFor)
	}
	if t.Error == nil {
		return
	}
	title := "Why"
	switch {
	case t.State == core.Error || t.State == core.Closed || t.UndoneFor != nil:
		title = "Why it stopped"
	case t.State == core.Processed:
		title = "What is missing"
	case t.State == core.Compensated || t.State == core.Compensating || t.State == core.Cancelled:
		title = "Why it was undone"
	}
	p.printCause(w, title, t.Error)
}

func (p Page) printCause(w io.Writer, title string, e *view.TaskError) {
	p.title(w, title)
	where := ""
	code := ""
	if e.Step != "" {
		where = e.Step + ": "
	}
	switch {
	case e.Message == "": // The order was erased.
		code = e.Code
	case e.Code != "":
		code = " (" + e.Code + ")"
	}
	p.sentence(w, "  ", where+p.Style.Bad(Clean(e.Message))+p.Style.Faint(code))
}

// sentence writes an indented text, on a screen with line breaks between words.
func (p Page) sentence(w io.Writer, indent, s string) {
	if p.Style.Width() > 0 {
		s = text.WrapSoft(s, max(p.Style.Width()-len(indent), leastColumn))
	}
	for line := range strings.Lines(s) {
		fmt.Fprintln(w, indent+strings.TrimRight(line, " \n"))
	}
}

func (p Page) title(w io.Writer, title string) { fmt.Fprintf(w, "\n%s\n", p.Style.Bold(title)) }

func (p Page) data(w io.Writer, t view.Task) {
	var rows [][]string
	name := len("(order)")
	for _, s := range t.Steps {
		name = max(name, len(s.Name))
	}
	most := shownDocument
	if width := p.Style.Width(); width > 0 {
		most = max((width-name-6)/2, 20)
	}
	add := func(name string, in, out json.RawMessage) {
		if len(in)+len(out) > 0 {
			rows = append(rows, []string{name, document(in, most), document(out, most)})
		}
	}
	add("(order)", p.Order, t.Output)
	for _, s := range t.Steps {
		add(s.Name, s.Input, s.Output)
	}
	if len(rows) == 0 {
		return
	}
	p.title(w, "Data")
	Table(w, p.Style, "  ", []string{"STEP", "INPUT", "OUTPUT"}, rows)
}

// shownDocument is the maximum length of a document in a file. On a screen two documents share a line. JSON output
// contains whole documents.
const shownDocument = 100

func document(doc json.RawMessage, most int) string {
	var b bytes.Buffer
	if len(doc) == 0 || json.Compact(&b, doc) != nil {
		return "-"
	}
	return Cut(Clean(b.String()), most)
}

func (p Page) history(w io.Writer, t view.Task) {
	title := "History (UTC)"
	all := t.History
	if p.Messages {
		title = "Messages (UTC)"
		all = slices.DeleteFunc(slices.Clone(all), func(e view.Entry) bool { return !e.Message() })
	}
	if len(all) == 0 {
		return
	}
	p.title(w, title)
	if t.Earlier != nil {
		fmt.Fprintf(w, "  %s\n", p.Style.Faint(Earlier(t.Earlier)))
	}
	wide := 0
	for _, e := range all {
		wide = max(wide, len(e.Step))
	}
	day := ""
	for _, e := range all {
		if d := e.At.Std().Format("2006-01-02"); e.At != 0 && d != day {
			day = d
			fmt.Fprintf(w, "  %s\n", p.Style.Faint(day))
		}
		line := fmt.Sprintf("%-*s  %s", wide, e.Step, p.cut(Entry(e), 2+12+2+wide+2))
		fmt.Fprintf(w, "  %s  %s\n", p.Style.Faint(fmt.Sprintf("%-12s", dash(e.At))), p.styleEntry(e, line))
	}
}

// Earlier describes the unsuccessful attempts that are too old for the history.
func Earlier(e *view.Earlier) string {
	return fmt.Sprintf("earlier attempts, not listed: %d failed, %d retry-later, %d overdue, %d superseded", e.Failed,
		e.RetryLater, e.Overdue, e.Superseded)
}

// Entry describes an entry of a history, without its time and its step.
func Entry(e view.Entry) string {
	what := e.What
	switch {
	case e.Way != "" && e.What == e.Kind:
		what = e.Way + " " + e.Kind
	case e.Way != "":
		what = e.Way + " " + e.Kind + " " + e.What
	}
	switch {
	case e.Peer == "":
	case e.Way == view.Received:
		what += " from " + e.Peer
	case e.Way == view.Sent:
		what += " to " + e.Peer
	default:
		what += " (" + e.Peer + ")"
	}
	note := func(is bool, text string) {
		if is {
			what += ", " + text
		}
	}
	note(e.Undo, fmt.Sprint("undo attempt ", e.Attempt))
	note(e.Attempt > 0 && !e.Undo, fmt.Sprint("attempt ", e.Attempt))
	note(e.Seq > 0, fmt.Sprint("number ", e.Seq))
	note(e.Report == view.ReportUnknown, "not known to be sent")
	note(e.Report == view.ReportSent, "reported")
	note(e.Code != "", e.Code)
	if e.Kind == view.EntryPlan {
		what += " (planned)"
	}
	if e.Text != "" {
		what += ": " + e.Text
	}
	return Clean(what)
}

// styleEntry colours a line of the history. It prints plans faint.
func (p Page) styleEntry(e view.Entry, line string) string {
	switch {
	case e.Kind == view.EntryPlan:
		return p.Style.Faint(line)
	case e.Kind == view.EntryState:
		return p.Style.State(core.State(e.What), line)
	case e.What == string(core.OutcomeFailed) || e.What == string(protocol.OutcomeOverdue):
		return p.Style.Bad(line)
	case e.What == string(core.OutcomeDone) || e.What == string(core.Processed):
		return p.Style.Good(line)
	}
	return line
}

// cut shortens a text to the rest of the screen's width. used is the number of columns before the text.
func (p Page) cut(text string, used int) string {
	room := p.Style.Width() - used
	if p.Style.Width() == 0 || room < 20 {
		return text
	}
	return Cut(text, room)
}

// Cut returns a text of at most the given number of characters. A shortened text ends with an ellipsis.
func Cut(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}

// verdicts prints the last command if it was refused, because the operator may wonder why nothing happened.
func (p Page) verdicts(w io.Writer, t view.Task) {
	if len(t.Verdicts) == 0 {
		return
	}
	last := t.Verdicts[len(t.Verdicts)-1]
	if last.Accepted {
		return
	}
	p.title(w, "The last command was refused")
	fmt.Fprintf(w, "  %s: %s\n", last.Command, p.Style.Warn(Clean(last.Reason)))
}

// next prints the advised commands. Each stands on a line of its own, so that it can be copied.
func (p Page) next(w io.Writer, t view.Task) {
	from := core.Time(-1)
	for _, a := range slices.Concat(Next(t, p.Program), Later(t, p.Program)) {
		switch {
		case a.From == from:
		case a.From == 0:
			p.title(w, "What to do next")
		default:
			p.title(w, "From "+Moment(a.From.Add(core.Second-1))+" on, when no call can take effect any more")
		}
		from = a.From
		fmt.Fprintf(w, "  %s\n", p.Style.Bold(a.Command))
		p.sentence(w, "      ", p.Style.Faint(a.Why))
	}
}
