package mutants

const command = "shared/core/command.go"

// ofCommands are mutants of what the core does with submissions and commands.
var ofCommands = []Mutant{
	{Name: "P14-other-content-is-the-same-order", File: command, Func: "deciding.submittedAgain", Old: "case ev.(Submitted).ContentHash != r.t.ContentHash:", New: "case false:"},
	{Name: "P17-cancel-before-the-order-is-lost", File: decide, Func: "decideUnknown", Old: "return tombstone(e, at), nil", New: "_ = e\n\t\treturn Decision{Ignored: \"no such task\"}, nil"},
	{Name: "P17-cancel-past-no-return", File: command, Func: "deciding.cancelled", Old: "case r.pastNoReturn():", New: "case false:"},
	{Name: "P17-cancel-of-a-processed-order", File: command, Func: "deciding.cancelled", Old: "case t.ProcessState == Processed:", New: "case false:"},
	{Name: "P17-cancel-of-an-earlier-run", File: command, Func: "deciding.cancelled", Old: "case e.Run < t.Run:", New: "case false:"},
	{Name: "P17-cancelled-ends-compensated", File: tell, Func: "deciding.enterUndone", Old: "if r.t.CancelAsked {", New: "if false {"},
	{Name: "P17-cancel-during-undo-is-forgotten", File: command, Func: "deciding.cancelled", Old: "t.CancelAsked = true", New: "t.CancelAsked = modeOf(t) != undoing"},
	{Name: "P5-number-is-not-looked-at", File: command, Func: "deciding.seen", Old: "number == r.t.Command", New: "true"},
	{Name: "P5-commands-are-not-numbered", File: command, Func: "deciding.undoAsked", Old: "r.t.Command++", New: ""},
	{Name: "P5-repeated-command-is-decided-again", File: command, Func: "Task.verdictOf", Old: `if id == "" {`, New: `if id != "never" {`},
	{Name: "P5-refusal-is-not-kept", File: command, Func: "deciding.reject", Old: "r.changed = true", New: ""},
	{Name: "P5-one-verdict-is-kept", File: command, Func: "deciding.answer", Old: "len(all)-maxVerdicts", New: "len(all)-1"},
	{Name: "P22-operator-undoes-past-no-return", File: command, Func: "deciding.undoAsked", Old: "case r.pastNoReturn():", New: "case false:"},
	{Name: "P18-resubmit-turns-an-undo-forward", File: command, Func: "deciding.resubmitted", Old: "r.turnAround(r.t.Why)", New: "r.resume(e)"},
	{Name: "P18-resubmit-leaves-handed-back-steps", File: command, Func: "deciding.resume", Old: "(s.State == Failed || s.State == Pending)", New: "s.State == Failed"},
	{Name: "P18-resubmit-keeps-the-counters", File: command, Func: "deciding.resume", Old: "s.FailureCount, s.UndoFailures, s.Queued = 0, 0, 0", New: ""},
	{Name: "P23-resubmit-keeps-the-hops", File: command, Func: "deciding.resume", Old: "t.ProcessState, t.Hops = Processing, 0", New: "t.ProcessState = Processing"},
	{Name: "P18-cancelled-order-is-resubmitted", File: command, Func: "deciding.resubmitted", Old: "switch modeOf(r.t) {", New: "switch map[bool]mode{true: compensated, false: modeOf(r.t)}[modeOf(r.t) == cancelled] {"},
	{Name: "P18-forgotten-key-is-asked-again", File: command, Func: "deciding.forgotten", Old: "kept > 0 &&", New: "kept > 0 && false &&"},
	{Name: "P2-resubmit-of-a-stopped-order-is-a-new-run", File: command, Func: "deciding.resume", Old: "t.ProcessState, t.Hops = Processing, 0", New: "t.ProcessState, t.Hops = Processing, 0\n\tt.Run++"},
	{Name: "P2-restart-is-the-same-run", File: command, Func: "deciding.restart", Old: "t.Run++", New: ""},
	{Name: "P1-restart-begins-attempts-anew", File: command, Func: "deciding.restart", Old: "Attempt: s.Attempt, ", New: ""},
	{Name: "P23a-resubmit-keeps-the-deadline", File: command, Func: "deciding.renewDeadline", Old: "r.t.Deadline = 0", New: ""},
	{Name: "P9a-undo-keeps-the-waits-of-the-dos", File: command, Func: "deciding.turnAround", Old: "if waiting(s) {", New: "if false {",
		Equivalent: "Entering Error has cleared the times of every waiting step (P9), and no event sets one while the task is in Error; so there is nothing left to clear. It is kept because P9a asks for it of every way out of Error, whatever clears them on the way in."},
	{Name: "P18-undo-is-resumed-without-new-tries", File: command, Func: "deciding.turnAround", Old: "s.UndoFailures, s.Queued = 0, 0", New: ""},
	{Name: "P11-left-end-is-told-later", File: tell, Func: "deciding.left", Old: `t.Phase, t.Ended, t.EndCause, t.EndSeq, t.EndCommand, t.Tell, t.Attention = "", 0, "", 0, 0, 0, false`,
		New: `t.Phase, t.Ended, t.EndCause, t.EndSeq, t.EndCommand, t.Attention = "", 0, "", 0, 0, false`},
	{Name: "P18-resolve-while-the-agent-may-act", File: command, Func: "deciding.unresolvable", Old: "case r.at.Now <= s.LastStopBy.Add(skew):", New: "case false:"},
	{Name: "P18-resolve-of-a-step-that-is-not-in-doubt", File: command, Func: "deciding.unresolvable", Old: "switch {\n\tcase fact != Happened", New: "if s.State == Processed || s.State == Processing {\n\t\tdoubtful := *s\n\t\tdoubtful.State = Failed\n\t\ts = &doubtful\n\t}\n\tswitch {\n\tcase fact != Happened"},
	{Name: "P18-resolved-effect-is-not-undone", File: command, Func: "deciding.resolved", Old: "r.t.Phase == Undoing && e.Fact == Happened:\n\t\ts.State = UndoWait", New: "r.t.Phase == Undoing && e.Fact == Happened:\n\t\tr.undone(i)"},
}
