package protocol

import (
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// resolveCommand stores the operator's fact about a step in doubt. The task stays in Error until a Resubmit,
// Undo or Close. The fact that a wait happened ends the wait, and a task that goes forward continues.
func (r *decision) resolveCommand(ev core.Event) (refused string) {
	e := ev.(core.Command)
	i := r.t.Index(e.Step)
	reason := r.t.ResolveRefusal(r.def, i, e.Fact, r.at.Now)
	given := ""
	if reason == "" && len(e.Output) > 0 {
		reason = r.step(i).statedOutputRefusal(e)
		given = e.Step
	}
	if reason != "" {
		return reason
	}
	s := r.step(i)
	r.accept(note("an output", given))
	// The fact is about the children in doubt. The other open children stay open, and a Resubmit asks them again (P41,
	// parent and child talk by messages).
	if s.Children != nil {
		s.OwnChildren().Close(OpenChild.inDoubt)
		return ""
	}
	s.Resolved = &core.Resolved{Fact: e.Fact, Command: r.t.Commands.Number, At: r.at.Now}
	undo := resolvesUndo(r.t, i)
	switch {
	case undo && e.Fact == core.Happened:
		s.State = core.UndoWait
	case undo:
		s.undone()
	case e.Fact == core.Happened:
		s.finish(e.Output)
	default: // the fact also holds for the earlier attempts (P22a, a proven refusal permits undo)
		s.setNoEffect()
	}
	return ""
}

// resolvesUndo reports whether a fact about the step is about its undo. This is also the case for a step
// that is undone alone (P42, orders can go on after failures).
func resolvesUndo(t *Task, i int) bool {
	return t.Phase == core.Undoing || t.Steps[i].State == core.UndoWait || t.Steps[i].Withdrawn != 0
}

func (s step) statedOutputRefusal(e core.Command) string {
	switch {
	case s.d.Wait != nil:
		return "the step is a wait, which has no output; fix: leave the output out"
	case e.Fact != core.Happened:
		return "only a step that happened has an output; fix: leave the output out"
	case resolvesUndo(s.t, s.i):
		return "the step is being undone, and its undo uses no output; fix: leave the output out"
	case len(e.Output) > core.MaxOutput:
		return fmt.Sprintf("the output has %d bytes, the limit is %d; store large data elsewhere and give a "+
			"reference", len(e.Output), core.MaxOutput)
	case !s.outputFits(e.Output):
		return fmt.Sprintf("the output of step %s (%d bytes) does not fit into the order's document of at "+
			"most %d bytes beside what it holds and a reserve; give a shorter one", e.Step, len(e.Output),
			s.at.SizeLimit)
	}
	return ""
}
