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

func nextInError(t view.Task, say func(why, format string, args ...any) Advice, now time.Time) []Advice {
	var advice []Advice
	if t.Phase == core.Undoing {
		advice = append(advice, say("mend the cause, then go on with the undo", "resubmit %s", t.OrderID))
	} else {
		advice = append(advice, say("mend the cause, then try the failed step again", "resubmit %s", t.OrderID))
		if !pointOfNoReturnClaimed(t) {
			advice = append(advice, say("give up and undo what was done", "undo %s", t.OrderID))
		}
	}
	for _, s := range t.Steps {
		if s.FirstAt == 0 || s.State != core.Failed && s.State != core.UndoWait {
			continue
		}
		when := ""
		if s.StopBy != 0 && now.Before(s.StopBy.Std()) {
			when = ", from " + clock(s.StopBy) + " UTC"
		}
		if t.Phase == core.Undoing {
			advice = append(advice, say("if you have undone it by hand, or know that it never happened"+when, "resolve %s %s undone", t.OrderID, s.Name))
			continue
		}
		advice = append(advice, say("if the service shows that it did happen"+when, "resolve %s %s happened", t.OrderID, s.Name))
	}
	return advice
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
