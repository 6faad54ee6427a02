package render

import (
	"fmt"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// Advice is one thing that the operator can do next: a command, and what it is for.
type Advice struct {
	Command string `json:"command"`
	Why     string `json:"why"`
}

// Next answers what can be done about a task in its present state, the most likely first.
// program is how the command is called, with the flags that have to be repeated. The server
// checks again; what it would certainly refuse is left out.
func Next(t view.Task, program string, now time.Time) []Advice {
	say := func(why, format string, args ...any) Advice {
		return Advice{Command: program + " " + fmt.Sprintf(format, args...), Why: why}
	}
	switch t.State {
	case core.Processing, core.Pending:
		advice := []Advice{say("follow it", "watch %s", t.OrderID)}
		if !pointOfNoReturnClaimed(t) {
			advice = append(advice, say("stop it and undo what was done", "cancel %s", t.OrderID))
		}
		return advice
	case core.Compensating:
		return []Advice{say("follow the undo", "watch %s", t.OrderID)}
	case core.Compensated:
		return []Advice{say("start it again from the beginning, once the cause is mended", "resubmit %s", t.OrderID)}
	case core.Error:
		return nextInError(t, say, now)
	}
	return nil
}

// nextInError puts first what has to come first: a plain service that left a step in doubt does
// nothing more before the operator has looked (P31); elsewhere trying again is harmless.
func nextInError(t view.Task, say func(why, format string, args ...any) Advice, now time.Time) []Advice {
	resume, resolve, plain := resumeAdvice(t, say), []Advice(nil), false
	for _, s := range t.Steps {
		if s.FirstAt == 0 || s.State != core.Failed && s.State != core.UndoWait {
			continue
		}
		plain = plain || s.Grade == core.Plain && s.Resolved == nil
		resolve = append(resolve, resolveAdvice(t, s, say, now)...)
	}
	if plain {
		return append(resolve, resume...)
	}
	return append(resume, resolve...)
}

func resumeAdvice(t view.Task, say func(why, format string, args ...any) Advice) []Advice {
	if t.Phase == core.Undoing {
		return []Advice{say("mend the cause, then go on with the undo", "resubmit %s", t.OrderID)}
	}
	advice := []Advice{say("mend the cause, then try the failed step again", "resubmit %s", t.OrderID)}
	if !pointOfNoReturnClaimed(t) {
		advice = append(advice, say("give up and undo what was done", "undo %s", t.OrderID))
	}
	return advice
}

func resolveAdvice(t view.Task, s view.Step, say func(why, format string, args ...any) Advice, now time.Time) []Advice {
	happened, not, fact := "if the service shows that it did happen", "if it shows that it did not", core.NotHappened
	if t.Phase == core.Undoing {
		happened, not, fact = "if it did happen; resubmit then undoes it", "if it never happened, or you have undone it by hand", core.Undone
	}
	when := ""
	if s.StopBy != 0 && now.Before(s.StopBy.Std()) {
		when = ", from " + clock(s.StopBy) + " UTC"
	}
	return []Advice{
		say(happened+when, "resolve %s %s %s", t.OrderID, s.Name, core.Happened),
		say(not+when, "resolve %s %s %s", t.OrderID, s.Name, fact),
	}
}

// pointOfNoReturnClaimed reports that undo and cancel are out of the question (P17, P22).
func pointOfNoReturnClaimed(t view.Task) bool {
	for _, s := range t.Steps {
		if s.NoReturn && s.FirstAt != 0 {
			return true
		}
	}
	return false
}
