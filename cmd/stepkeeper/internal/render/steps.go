package render

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

func (p Page) steps(w io.Writer, t view.Task) {
	if len(t.Steps) == 0 {
		return
	}
	p.title(w, "Steps")
	rows := make([][]string, len(t.Steps))
	for i, s := range t.Steps {
		rows[i] = []string{
			s.Name, p.Style.State(s.State, stateOf(s)), strconv.Itoa(s.Attempts), strconv.Itoa(failures(s)),
			dash(s.FirstAt), took(s, p.Now), agentOf(s), p.note(s, t),
		}
	}
	header := []string{"STEP", "STATE", "ATTEMPTS", "FAILURES", "FIRST", "TOOK", "AGENT", "NOTE"}
	const indent = "  "
	Table(w, p.Style, indent, p.fitting(indent, header, rows), rows)
}

// fitting takes columns out of the rows and out of the header, which it returns, until a screen has room for the notes.
func (p Page) fitting(indent string, header []string, rows [][]string) []string {
	before, notes := measure(header, rows)
	for _, spare := range []struct {
		column string
		least  int // width of the notes for which the column goes
	}{
		{"FIRST", notes},                   // the history has it
		{"AGENT", min(notes, leastColumn)}, // the workflow has it
	} {
		if p.Style.Width() == 0 || p.Style.Width()-len(indent)-before >= spare.least {
			break
		}
		header = without(header, rows, spare.column)
		before, _ = measure(header, rows)
	}
	return header
}

func stateOf(s view.Step) string {
	if s.State == core.Pending && s.FirstAt != 0 {
		return "Pending (again)"
	}
	return string(s.State)
}

func failures(s view.Step) int {
	n := s.Failures
	if s.Undo != nil {
		n += s.Undo.Failures
	}
	return n
}

func dash(t core.Time) string {
	if t == 0 {
		return "-"
	}
	return clock(t)
}

func took(s view.Step, now time.Time) string {
	switch {
	case s.FirstAt == 0:
		return "-"
	case s.FinishedAt != 0:
		return Span(s.FinishedAt.Sub(s.FirstAt).Std())
	case s.State == core.Processing || s.State == core.Compensating || s.State == core.Waiting:
		return Span(now.Sub(s.FirstAt.Std())) + " so far"
	}
	return "-"
}

func agentOf(s view.Step) string {
	operation := s.Operation
	if s.Undo != nil && s.Undo.Running && s.Undo.Operation != "" {
		operation = s.Undo.Operation
	}
	switch {
	case s.Children != nil:
		return "(" + s.Kind + ": " + s.Children.Workflow + ")"
	case s.Kind != "":
		return "(" + s.Kind + ")"
	case s.Agent == "":
		return "-"
	}
	return s.Agent + "." + operation
}

// uncounted describes why a step waits for its agent or polls its service. The text includes the time since
// the wait began.
func (p Page) uncounted(s view.Step) string {
	return fmt.Sprintf("waits for agent %s: %s (%s) for %s, next attempt %s", s.Agent,
		HandedBack(s.Error.Code), s.Error.Code, Span(p.Now.Sub(s.Error.Since.Std())), Age(s.WakeAt, p.Now))
}

// HandedBack describes why an agent hands a step back without a counted failure. It returns other codes
// unchanged.
func HandedBack(code string) string {
	switch code {
	case core.CodeBreakerOpen:
		return "its circuit breaker is open"
	case core.CodeNoAgent:
		return "it is not deployed"
	case core.CodeNoConsumer:
		return "nothing consumes its queue"
	case core.CodeUnauthorized:
		return "the service refuses its credentials"
	case core.CodeNotYet:
		return "the service is not ready yet"
	}
	return code
}

// WaitTexts describes the values of view.Wait.For.
var WaitTexts = map[string]string{
	view.WaitAgent: "an agent's reply", view.WaitRetry: "the next attempt", view.WaitTime: "a time",
	view.WaitAnswer:   "an answer or event",
	view.WaitChildren: "child orders", view.WaitUndo: "an undo",
}

// Wait describes the most urgent wait of an order in one line: a retry, or the first wait. It returns "" if
// the order waits for nothing.
func Wait(all []view.Wait, now time.Time) string {
	if len(all) == 0 {
		return ""
	}
	w := all[max(0, slices.IndexFunc(all, func(w view.Wait) bool { return w.For == view.WaitRetry }))]
	text := w.Step + ": waits for " + WaitTexts[w.For]
	if w.Until != 0 {
		text += ", due " + Age(w.Until, now)
	}
	if w.Since != 0 {
		text += ", " + Span(now.Sub(w.Since.Std())) + " so far"
	}
	if n := len(all) - 1; n > 0 {
		text += fmt.Sprintf(" (+%d)", n)
	}
	return text
}

// atWork describes an attempt in flight. The first note is the latest progress (P43, long work reports
// progress). The other notes are the time at which the reply is due, and the lock owner.
func (p Page) atWork(s view.Step) (notes []string) {
	if r := s.Progress; r != nil {
		text := fmt.Sprintf("at %d %%", r.Percent)
		if r.Note != "" {
			text += " (" + Clean(r.Note) + ")"
		}
		notes = append(notes, text+" "+Age(r.At, p.Now))
	}
	if s.CompleteBy != 0 {
		notes = append(notes, "reply due "+Age(s.CompleteBy, p.Now))
	}
	if s.LockedBy != "" {
		notes = append(notes, "claimed by "+s.LockedBy)
	}
	return notes
}

func (p Page) note(s view.Step, t view.Task) string {
	var notes []string
	if s.NoReturn {
		notes = append(notes, "point of no return")
	}
	switch s.State {
	case core.Processing, core.Compensating:
		notes = append(notes, p.atWork(s)...)
	case core.Settling:
		notes = append(notes, p.first(s, t))
		if c := s.Children; c != nil {
			notes = append(notes, fmt.Sprintf("%d have ended well, which are enough; undoing: %s", c.Enough,
				strings.Join(slices.Concat(c.Open, c.Stopped, c.InDoubt), ", ")))
		}
	case core.Waiting:
		notes = append(notes, p.waiting(s, t)...)
	case core.Processed, core.Compensated:
		notes = append(notes, decided(s)...)
		notes = append(notes, p.first(s, t))
	case core.Pending, core.UndoWait, core.Failed:
		switch {
		case s.WakeAt == 0:
		case s.Waiting(): // P45, "not now" is not a failure
			notes = append(notes, p.uncounted(s))
		default:
			notes = append(notes, "goes on "+Age(s.WakeAt, p.Now))
		}
	}
	if s.LateAt != 0 && t.State == core.Processing {
		notes = append(notes, fmt.Sprintf("late %s (then %s)", Age(s.LateAt, p.Now), s.OnDeadline))
	}
	underWay := s.State == core.Pending || s.State == core.Processing || s.State == core.Waiting
	if s.Reminders != nil && underWay && t.State == core.Processing {
		notes = append(notes, p.reminders(s.Reminders))
	}
	notes = append(notes, Effect(s)...)
	if s.Corrected != nil {
		notes = append(notes, strings.TrimSuffix("input given by "+Clean(s.Corrected.By), " by "))
	}
	notes = slices.DeleteFunc(notes, func(note string) bool { return note == "" })
	return strings.Join(notes, ", ")
}

// waiting describes what a Waiting step waits for.
func (p Page) waiting(s view.Step, t view.Task) []string {
	switch {
	case s.Withdrawn != 0 && s.Children == nil: // it ends with the resubmit
		return nil
	case s.Any != nil:
		return []string{
			fmt.Sprintf("waits for %d of %s", s.Any.Enough, strings.Join(s.Any.Members, ", ")), p.first(s, t),
		}
	case s.Children != nil:
		return []string{Children(s.Children)}
	case s.Answers != nil:
		return []string{open(s), fmt.Sprintf("until %s (%s)", Moment(s.WakeAt), Age(s.WakeAt, p.Now))}
	}
	return []string{fmt.Sprintf("goes on %s (%s)", Moment(s.WakeAt), Age(s.WakeAt, p.Now))}
}

// reminders describes the reminders of a step that goes forward. It returns "" if there is nothing to tell.
func (p Page) reminders(m *view.Reminders) string {
	var parts []string
	switch {
	case m.Sent > 0 && m.AtMost > 0:
		parts = append(parts, fmt.Sprintf("reminded %d of %d", min(m.Sent, m.AtMost), m.AtMost))
	case m.Sent > 0:
		parts = append(parts, fmt.Sprintf("reminded %d times", m.Sent))
	}
	if m.Unsent != "" {
		parts = append(parts, "the last one was not sent ("+Clean(m.Unsent)+")")
	}
	switch next := Age(m.Next, p.Now); {
	case m.Next == 0:
	case m.Sent == 0:
		parts = append(parts, "reminds "+next)
	default:
		parts = append(parts, "next "+next)
	}
	return strings.Join(parts, ", ")
}

// first describes which members have decided a step, and which ones are still undone. It returns "" if none has.
func (p Page) first(s view.Step, t view.Task) string {
	if s.Any == nil || len(s.Any.Won) == 0 {
		return ""
	}
	text := "first: " + strings.Join(s.Any.Won, ", ")
	if s.FinishedAt != 0 {
		text += " (" + clock(s.FinishedAt) + ")"
	}
	var undoing []string
	for _, m := range s.Any.Members {
		o := t.Step(core.MemberName(s.Name, m))
		if s.State != core.Settling || o == nil || slices.Contains(s.Any.Won, m) {
			continue
		}
		switch {
		case o.State == core.UndoWait && o.WakeAt != 0:
			undoing = append(undoing, m+" (waits until "+clock(o.WakeAt)+")")
		case o.State != core.Skipped && o.State != core.Compensated:
			undoing = append(undoing, m)
		}
	}
	if len(undoing) > 0 {
		text += "; undoing: " + strings.Join(undoing, ", ")
	}
	return text
}

// Effect describes what is known about the effect of a step that has failed, was refused or is undone alone, and the
// fact that an operator stated.
func Effect(s view.Step) []string {
	known := effect(s)
	if s.FailedAs != "" {
		known = append(known, withoutIt(s))
	}
	if s.Resolved != nil {
		known = append(known, "operator: "+string(s.Resolved.Fact))
	}
	return known
}

func effect(s view.Step) []string {
	switch {
	case s.State == core.Failed && s.Kind == view.KindFail:
		return []string{"failed by rule"}
	case s.State == core.Failed && s.Children != nil && s.FirstAt != 0:
		return []string{Children(s.Children)}
	case s.State == core.Failed && s.FirstAt == 0:
		what := "its agent was asked"
		if s.Kind != "" {
			what = "it began"
		}
		return []string{"failed before " + what}
	case s.NoEffect != 0 && (s.Resolved == nil || s.Resolved.At < s.ClaimedAt):
		return []string{"refused, without effect"}
	case s.NoEffect != 0:
		return []string{"without effect"}
	case s.State == core.Failed && s.Kind != "": // This step called no agent.
		return decided(s)
	case s.State == core.Failed:
		doubt := "in doubt whether it happened"
		if e := s.Error; e != nil && e.Code != core.CodeTimeout && e.Code != core.CodeQueue {
			doubt += " (not proven that nothing happened)"
		}
		return []string{doubt}
	}
	return nil
}

func withoutIt(s view.Step) string {
	done := "is undone alone"
	if s.State == core.Compensated {
		done = "undone"
	}
	if s.Withdrawn != 0 {
		return "no longer wanted (" + Clean(s.FailedAs) + "), " + done
	}
	return "failed (" + Clean(s.FailedAs) + "), " + done + ": the order goes on without it"
}

// Children describes the child orders of a step, or its iterations.
func Children(c *view.Children) string {
	done := "have ended"
	if c.Undo {
		done = "are undone"
	}
	text := fmt.Sprintf("%d of %d children %s, %d running", c.Ended, c.Count, done, c.Running)
	switch {
	case c.Undo:
	case c.Repeat != nil:
		text = iteration(c)
	case c.Enough > 0:
		text += fmt.Sprintf(", %d are enough", c.Enough)
	}
	if len(c.Events) > 0 {
		text += "; passes on the event " + strings.Join(c.Events, " or ")
	}
	if c.Answers > 0 {
		text += fmt.Sprintf("; answers that wait to be taken: %d", c.Answers)
	}
	if c.Failed > 0 && !c.Undo {
		text += fmt.Sprintf(", %d failed, %d may (%s: %s)", c.Failed, c.Tolerate,
			strings.Join(c.FailedAs[:min(len(c.FailedAs), 3)], ", "), Clean(c.Reason))
	}
	for _, some := range []struct {
		what string
		ids  []string
	}{{"last reported an Error", c.Stopped}, {"to be undone by hand", c.InDoubt}} {
		if len(some.ids) > 0 {
			text += fmt.Sprintf(", %d %s: %s", len(some.ids), some.what,
				strings.Join(some.ids[:min(len(some.ids), 3)], ", "))
		}
	}
	return text
}

// iteration describes a step that is repeated.
func iteration(c *view.Children) string {
	r := c.Repeat
	text := fmt.Sprintf("iteration %d of at most %d", c.Count, r.AtMost)
	if r.Next != 0 {
		text += " has ended, the next one begins at " + clock(r.Next)
	}
	if len(r.Last) > 0 {
		text += "; last: " + Cut(Clean(string(r.Last)), 120)
	}
	return text + "; until: " + Clean(r.Until)
}

func open(s view.Step) string {
	a := s.Answers
	text := "waits for the event " + a.Event
	if s.Kind == view.KindApproval {
		text = "waits for " + strings.Join(a.Values, " or ")
	}
	var question struct{ Question string }
	if json.Unmarshal(s.Input, &question) == nil && question.Question != "" {
		text += fmt.Sprintf(" (%s)", Clean(question.Question))
	}
	if len(a.Who) > 0 {
		text += ", from " + strings.Join(a.Who, ", ")
	}
	if a.NotSelf != "" {
		text += ", not from " + a.NotSelf
	}
	if a.Need > 1 {
		text += fmt.Sprintf(", %d answered and %d must agree", len(a.Votes), a.Need)
	} else if len(a.Votes) > 0 {
		text += fmt.Sprintf(", %d answered", len(a.Votes))
	}
	if a.Attempts > 1 {
		text += fmt.Sprintf(", attempt %d of %d", a.Refused+1, a.Attempts)
	} else if a.Round > 1 {
		text += fmt.Sprintf(", round %d", a.Round)
	}
	return text
}

// decided describes who answered or refused a step. It returns nil if the step has no answer.
func decided(s view.Step) []string {
	var d protocol.Decided
	if s.Answers == nil || json.Unmarshal(s.Output, &d) != nil || d.By == "" {
		return nil
	}
	if s.State != core.Processed && s.Error != nil && s.Error.Code == core.CodeAnswerRefused {
		return []string{"refused: " + Clean(s.Error.Message)}
	}
	if d.By == protocol.ByTimeout {
		return []string{"no answer came in time"}
	}
	return []string{"answered by " + Clean(d.By)}
}
