package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// Advice is a command that the operator can run next, and its purpose.
type Advice struct {
	Command string `json:"command"`
	Why     string `json:"why"`
	// Do is the advised command in the form that a web page can send. If a page cannot send the command,
	// Do.Command is "".
	Do view.Command `json:"-"`
	// From is the time from which the order accepts the command. Zero means now.
	From core.Time `json:"from,omitzero"`
}

// Later returns the commands that the order will accept when no call can take effect any more.
func Later(t view.Task, program string) (all []Advice) {
	now := t.Accepts
	for _, c := range t.AcceptsLater { // Next gives advice only for the commands in Accepts.
		t.Accepts = append(slices.Clip(now), c.Command)
		for _, a := range Next(t, program) {
			if a.Do == c.Command {
				a.From = c.From
				all = append(all, a)
			}
		}
	}
	return all
}

// Next returns the commands that help with a task now, the most useful first. It includes commands that
// change the task only if the task accepts them. program is the start of each command line.
func Next(t view.Task, program string) []Advice {
	var advice, last []Advice
	say := func(why, format string, args ...any) Advice {
		return Advice{Command: program + " " + fmt.Sprintf(format, args...), Why: why}
	}
	do := func(c view.Command, a Advice) Advice {
		a.Do = c
		return a
	}
	switch t.State {
	case core.Processing, core.Pending:
		advice = append(advice, say("follow it", "watch %s", t.OrderID))
	case core.Compensating:
		advice = append(advice, say("follow the undo", "watch %s", t.OrderID))
	}
	for i := range t.Steps {
		if s := &t.Steps[i]; t.State == core.Processing && s.State == core.Waiting && s.Answers != nil {
			advice = append(advice, answerAdvice(say, &t, s))
		}
	}
	for i := range t.Steps {
		if c := t.Steps[i].Children; c != nil && len(c.Stopped) > 0 {
			advice = append(advice, say("see the child that reported an Error", "show %s", c.Stopped[0]))
		}
	}
	if t.Parent != nil && t.State == core.Compensated {
		advice = append(advice, say("its parent decides whether it starts again", "show %s",
			t.Parent.OrderID))
	}
	if accepts(t, view.Command{Command: "resubmit", Definition: message.Latest}) {
		advice = append(advice, say("if its definition was the cause: go on with the deployed one",
			"resubmit %s --definition latest", t.OrderID))
	}
	if t.Deployed != "" && (t.State == core.Error ||
		accepts(t, view.Command{Command: "move", Definition: message.Latest})) {
		last = append(last, say("what moving it to the deployed definition would mean",
			"move %s --definition latest --dry-run", t.OrderID))
	}
	for _, c := range []string{"resubmit", "undo", "cancel"} {
		if why := purpose(t, c); why != "" && accepts(t, view.Command{Command: c}) {
			advice = append(advice, do(view.Command{Command: c}, say(why, "%s %s", c, t.OrderID)))
		}
	}
	for _, s := range t.Steps {
		if c := (view.Command{Command: "resubmit", Step: s.Name}); s.State == core.Failed && accepts(t, c) {
			advice = append(advice, do(c, say("if its input was the cause: give it another one, and go on",
				"resubmit %s --input %s=FILE", t.OrderID, s.Name)))
		}
	}
	if accepts(t, view.Command{Command: "close"}) {
		last = append(last, do(view.Command{Command: "close"},
			say("if it was settled by hand: end it as it stands", "close %s --reason TEXT", t.OrderID)))
	}
	resolve, plain := facts(&t, say)
	// If plain is true, the operator must first check the service (P31, a plain service needs a ledger). For
	// any other service a further attempt is harmless.
	if plain {
		return slices.Concat(resolve, advice, last)
	}
	return slices.Concat(advice, resolve, last)
}

type sayer = func(why, format string, args ...any) Advice

// facts returns advice for the facts that the operator can state about the steps. The result plain reports
// whether one of these steps is in doubt at a plain service.
func facts(t *view.Task, say sayer) (resolve []Advice, plain bool) {
	for _, s := range t.Steps {
		for _, fact := range core.Facts {
			a := say(whenToState(*t, s, fact), "resolve %s %s %s", t.OrderID, s.Name, fact)
			a.Do = view.Command{Command: "resolve", Step: s.Name, Fact: fact}
			if a.Why != "" && accepts(*t, a.Do) {
				plain = plain || s.Grade == core.Plain && s.Resolved == nil
				resolve = append(resolve, a)
			}
		}
	}
	return resolve, plain
}

// MayOutput reports whether the operator can give a step's output together with the fact.
func MayOutput(t *view.Task, step string, fact core.Fact) bool {
	s := t.Step(step)
	return fact == core.Happened && t.Phase != core.Undoing && s != nil && !undoneAlone(*s) && s.Kind != view.KindWait
}

func answerAdvice(say sayer, t *view.Task, s *view.Step) Advice {
	if len(s.Answers.Values) == 0 {
		return say("if the event "+s.Answers.Event+" has happened", "answer %s %s VALUE", t.OrderID, s.Name)
	}
	by := ""
	if len(s.Answers.Who) > 0 { // The user of this computer is hardly among them.
		by = " --by NAME"
	}
	return say("answer it, with one of: "+strings.Join(s.Answers.Values, ", "), "answer %s %s %s%s", t.OrderID,
		s.Name, s.Answers.Values[0], by)
}

func accepts(t view.Task, c view.Command) bool { return slices.Contains(t.Accepts, c) }

// purpose returns the purpose of a command to a task. It returns "" if the command does not help in the
// task's state.
func purpose(t view.Task, command string) string {
	switch {
	case command == "resubmit" && t.State == core.Compensated:
		return "start the order again from the beginning, after the cause is fixed"
	case command == "resubmit" && !slices.ContainsFunc(t.Steps, stuck) && t.Phase == core.Undoing:
		return "continue the undo"
	case command == "resubmit" && !slices.ContainsFunc(t.Steps, stuck):
		return "continue with the steps that are left"
	case command == "resubmit" && t.Phase == core.Undoing:
		return "fix the cause, then continue the undo"
	case command == "resubmit" && slices.ContainsFunc(t.Steps, undoneAlone):
		return "fix the cause, then try the failed steps and undos again"
	case command == "resubmit":
		return "fix the cause, then try the failed step again"
	case command == "undo" && t.Phase != core.Undoing:
		return "give up, and undo the completed steps"
	case command == "cancel" && t.State == core.Processing:
		return "stop the order, and undo the completed steps"
	}
	return ""
}

// stuck reports whether a resubmit tries the step, or its undo, once more.
func stuck(s view.Step) bool {
	inDoubt := s.Children != nil && len(s.Children.InDoubt) > 0
	return inDoubt || s.State == core.Failed || s.State == core.UndoWait || s.State == core.Pending && s.FirstAt != 0
}

// undoneAlone reports whether the order goes forward while the undo of the step waits (P42, orders can go on
// after failures).
func undoneAlone(s view.Step) bool { return s.State == core.UndoWait && s.FailedAs != "" }

// whenToState returns the case in which the operator should state a fact about a step. It returns "" if the
// fact does not help in the present direction of the task or step.
func whenToState(t view.Task, s view.Step, fact core.Fact) string {
	undo := t.Phase == core.Undoing || undoneAlone(s)
	switch {
	case s.Kind == view.KindWait && fact == core.Happened:
		return "end the wait before its time"
	case s.Kind == view.KindWait:
		return ""
	case undo && fact == core.Happened:
		return "if the service did the step; a resubmit then undoes it"
	case undo && fact == core.Undone:
		return "if the service did not do the step, or you undid it by hand"
	case undo:
		return ""
	case fact == core.Happened:
		return "if the service did the step; give its output if later steps read it"
	case fact == core.NotHappened && past(s) && opensUndo(t):
		return "if the service did not do the step; then undo or resubmit the order, also with another input"
	case fact == core.NotHappened:
		return "if the service did not do the step; then resubmit the order, also with another input"
	}
	return ""
}

// past reports whether the order cannot be undone because of the step (P22, a point of no return forbids undo).
func past(s view.Step) bool { return s.NoReturn && s.FirstAt != 0 && s.NoEffect == 0 }

// opensUndo reports whether only one step keeps the order from an undo, so that a proof about this step permits it. A
// parent decides about the undo of its child.
func opensUndo(t view.Task) bool {
	n := 0
	for _, s := range t.Steps {
		if past(s) {
			n++
		}
	}
	return n == 1 && t.Parent == nil
}
