package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// Moment is one line of a task's timeline.
type Moment struct {
	At   core.Time `json:"at"`
	Step string    `json:"step,omitempty"` // name of the step; "" for the task as a whole
	What string    `json:"what"`           // short phrase, such as "claimed, attempt 2"
	Text string    `json:"text,omitempty"` // details, such as an error's message or a reason
}

// Timeline returns the moments of a task, earliest first. It contains the past moments that the document
// stores, and planned moments such as the end of a wait. For each step it contains only the first and the
// latest claim. It leaves out the attempts in t.Attempts.
func Timeline(t Task) []Moment {
	var m []Moment
	add := func(at core.Time, step, what, text string) {
		if at != 0 {
			m = append(m, Moment{At: at, Step: step, What: what, Text: text})
		}
	}
	add(t.Created, "", "received", "")
	if e := t.Erased; e != nil {
		add(e.At, "", "erased ("+e.By+")", e.Reason)
	}
	for _, v := range t.Verdicts {
		if t.Erased != nil && v.Command == "erase" && v.At == t.Erased.At {
			continue // the timeline already has the erasure
		}
		what := v.Command + stated(&t, v) + " " + verdictWord(v)
		if v.By != "" {
			what += " (" + v.By + ")"
		}
		add(v.At, "", what, verdictText(v))
	}
	for i := range t.Steps { // after the commands, so that the stable sort keeps a command before its effects
		stepMoments(&t.Steps[i], add)
	}
	if t.EndedAt != 0 {
		text := ""
		switch {
		case t.State == core.Compensated && t.Why == protocol.WhyOperator:
			text = "as the operator asked"
		case t.Error != nil:
			text = t.Error.Message
		}
		add(t.EndedAt, "", string(t.State), text)
	}
	if !t.Ended {
		add(t.Deadline, "", "deadline", "")
	}
	slices.SortStableFunc(m, func(a, b Moment) int { return int(a.At.Sub(b.At)) })
	return m
}

// stated returns the step and the fact of an accepted Resolve. It returns "" for any other verdict, and if
// the step no longer has this fact.
func stated(t *Task, v protocol.Verdict) string {
	for i := range t.Steps {
		if r := t.Steps[i].Resolved; r != nil && r.At == v.At && v.Command == "resolve" && v.Accepted {
			return " " + t.Steps[i].Name + " " + string(r.Fact)
		}
	}
	return ""
}

func verdictWord(v protocol.Verdict) string {
	if v.Accepted {
		return "accepted"
	}
	return "refused"
}

func verdictText(v protocol.Verdict) string {
	return strings.TrimSuffix(strings.TrimPrefix(v.Reason+"; "+v.Note, "; "), "; ")
}

func stepMoments(s *Step, add func(at core.Time, step, what, text string)) {
	last := fmt.Sprintf("claimed, attempt %d", s.Attempts)
	undoing := s.Undo != nil && s.Undo.Running
	if undoing {
		last = fmt.Sprintf("undo claimed, attempt %d", s.Attempts)
	}
	if s.FirstAt != 0 && (s.FirstAt != s.ClaimedAt || undoing) {
		add(s.FirstAt, s.Name, "first claimed", "")
	}
	if g := s.Corrected; g != nil {
		add(g.At, s.Name, strings.TrimSuffix("got another input ("+g.By+")", " ()"), g.Reason)
	}
	add(s.ClaimedAt, s.Name, last, "")
	if e := s.Error; e != nil {
		what := "failed, "
		switch {
		case e.Code == core.CodeNotYet: // a Processed step keeps its last error, which may be not-yet
			what = "asked, "
		case s.Waiting():
			what = "not called, "
		}
		add(e.At, s.Name, what+e.Code, e.Message)
	}
	if s.Answers != nil {
		for _, v := range s.Answers.Reasoned {
			add(v.At, s.Name, "answered ("+v.By+")", v.Note)
		}
		for _, v := range s.Answers.Uncounted {
			add(v.At, s.Name, strings.TrimSuffix("early answer refused ("+v.By+")", " ()"), v.Reason)
		}
	}
	if s.Children != nil && s.Children.Repeat != nil {
		for _, e := range s.Children.Repeat.Ends {
			add(e.At, s.Name, fmt.Sprintf("iteration %d %s", e.Number, e.State), e.OrderID)
		}
	}
	if s.Any != nil && s.FinishedAt != 0 {
		add(s.FinishedAt, s.Name, "decided", strings.Join(s.Any.Won, ", "))
	} else {
		add(s.FinishedAt, s.Name, string(core.Processed), "")
	}
	add(s.Withdrawn, s.Name, "withdrawn", s.FailedAs)
	switch s.State {
	case core.Processing, core.Compensating:
		if s.Progress != nil {
			add(s.Progress.At, s.Name, fmt.Sprintf("reported %d %%", s.Progress.Percent), s.Progress.Note)
		}
		add(s.CompleteBy, s.Name, "to be completed by", "")
	case core.Waiting:
		add(s.WakeAt, s.Name, "waits until", "")
	case core.Pending, core.Failed:
		add(s.WakeAt, s.Name, "next attempt (planned)", "")
	case core.UndoWait:
		add(s.WakeAt, s.Name, "undo (planned)", "")
	}
}
