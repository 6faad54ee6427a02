package core

// mode is a task's state, with Error split by phase: eight in all.
type mode uint8

const (
	going      mode = iota // Processing
	undoing                // Compensating
	errForward             // Error, phase forward
	errUndo                // Error, phase undo
	processed
	compensated
	cancelled
	closed
	modes
)

func modeOf(t *Task) mode {
	switch t.ProcessState {
	case Processing:
		return going
	case Compensating:
		return undoing
	case Error:
		if t.Phase == Undoing {
			return errUndo
		}
		return errForward
	case Processed:
		return processed
	case Compensated:
		return compensated
	case Closed:
		return closed
	}
	return cancelled
}

// eventKind is a row of the transition table.
type eventKind uint8

const (
	doDone eventKind = iota
	doFailed
	doLater
	undoDone
	undoFailed
	undoLater
	overdue
	wakeStep
	childEnded
	progress

	submitted
	deadlinePassed
	resendOverdue
	wakeTask
	settle
	cancel
	undoCommand
	resubmit
	resolve
	closeCommand
	moveCommand
	eraseCommand
	answered
	askChild
	kinds
)

// stepKinds is the first event of a whole task: those before it are of a step.
const stepKinds = submitted

func (k eventKind) ofStep() bool { return k < stepKinds }

// kindOf names the event's row, and its step.
func kindOf(ev Event) (eventKind, string) {
	switch e := ev.(type) {
	case Reply:
		return kindOfReply(e), e.Step
	case Progress:
		return progress, e.Step
	case Overdue:
		return overdue, e.Step
	case Wake:
		if e.Step == "" {
			return wakeTask, ""
		}
		return wakeStep, e.Step
	case ChildEnded:
		return childEnded, e.Parent.Step
	case AskChild:
		return askChild, ""
	case DeadlinePassed:
		return deadlinePassed, ""
	case ResendDue:
		return resendOverdue, ""
	case Settle:
		return settle, ""
	case Cancel:
		return cancel, ""
	case UndoCommand:
		return undoCommand, ""
	case Resubmit:
		return resubmit, ""
	case Resolve:
		return resolve, ""
	case Close:
		return closeCommand, ""
	case Move:
		return moveCommand, ""
	case Erase:
		return eraseCommand, ""
	case Answered:
		return answered, ""
	}
	return submitted, ""
}

// kindOfReply relies on guard, which refuses unknown operations and outcomes.
func kindOfReply(e Reply) eventKind {
	undo := e.Operation == UndoOp
	switch e.Outcome {
	case OutcomeFailed:
		if undo {
			return undoFailed
		}
		return doFailed
	case OutcomeRetryLater:
		if undo {
			return undoLater
		}
		return doLater
	}
	if undo {
		return undoDone
	}
	return doDone
}

// known reports a reply whose operation and outcome this version knows.
func (e Reply) known() bool {
	switch e.Outcome {
	case OutcomeDone, OutcomeFailed, OutcomeRetryLater:
		return e.Operation == Do || e.Operation == UndoOp
	}
	return false
}

// rule is one cell: what is done, or why nothing is. An action may still find that the event changes
// nothing (a wait that is not over) and then says why.
type rule struct {
	action func(r *deciding, i int, ev Event) (ignored string, err error)
	ignore string
}

func (c rule) run(r *deciding, i int, ev Event) (string, error) {
	if c.action == nil {
		return c.ignore, nil
	}
	return c.action(r, i, ev)
}

func ignore(text string) rule { return rule{ignore: text} }

func action(f func(r *deciding, i int, ev Event) (string, error)) rule { return rule{action: f} }

var (
	stepStates = []State{Pending, Skipped, Processing, Processed, Waiting, Failed, UndoWait, Compensating,
		Compensated}
	alive   = []mode{going, undoing, errForward, errUndo}
	ended   = []mode{processed, compensated, cancelled, closed}
	inError = []mode{errForward, errUndo}

	// stepTable is every event of a step × state of the step × state of the task. init fills it
	// from stepRows; the test TestTransitionTable walks it.
	stepTable [stepKinds]map[State]*[modes]rule
	// taskTable is every event of a task × state of the task.
	taskTable [kinds][modes]rule
)

// stepRow defines cells of stepTable: all combinations of its lists.
type stepRow struct {
	events []eventKind
	steps  []State
	tasks  []mode
	rule   rule
}

const (
	notAsked  = "this is not asked for now: a duplicate, or overtaken"
	noCall    = "the step asks no agent"
	inDoubt   = "the step was given up and is in doubt: its undo, or the operator, settles it"
	noTimes   = "a task in Error waits for the operator"
	hasEnded  = "the task has ended"
	notNow    = "the step is not in a state that waits"
	wasSkip   = "the step was skipped"
	notClaims = "the step was never claimed"
	notOpen   = "nothing is expected of that child: a duplicate, or overtaken"

	earlierRun = "it belongs to an earlier run"
)

var stepRows = []stepRow{
	// P15: a do that is done is a fact about its key, whatever the attempt and however late.
	{[]eventKind{doDone}, []State{Processing, Pending}, alive, action((*deciding).stepDone)},
	{[]eventKind{doDone}, []State{Failed}, alive, ignore(inDoubt)},
	{[]eventKind{doDone}, []State{Processed, UndoWait, Compensating, Compensated}, alive, ignore(notAsked)},
	{[]eventKind{doDone}, []State{Skipped}, alive, ignore(wasSkip)},
	{[]eventKind{doFailed}, []State{Processing}, alive, action((*deciding).stepFailed)},
	{[]eventKind{doLater}, []State{Processing}, alive, action((*deciding).stepRetryLater)},
	// P22a: a proof that a point of no return had no effect counts after its Overdue too.
	{[]eventKind{doFailed, doLater}, []State{Pending, Failed}, alive, action((*deciding).lateNoEffect)},
	{[]eventKind{doFailed, doLater}, []State{Skipped, Processed, UndoWait, Compensating, Compensated}, alive,
		ignore(notAsked)},

	{[]eventKind{undoDone}, []State{Compensating, UndoWait}, alive, action((*deciding).stepUndone)},
	{[]eventKind{undoDone}, []State{Pending, Skipped, Processing, Processed, Failed, Compensated}, alive,
		ignore(notAsked)},
	{[]eventKind{undoFailed, undoLater}, []State{Compensating}, alive, action((*deciding).undoRefused)},
	{[]eventKind{undoFailed, undoLater}, []State{Pending, Skipped, Processing, Processed, Failed, UndoWait,
		Compensated}, alive, ignore(notAsked)},

	{[]eventKind{overdue}, []State{Processing}, alive, action((*deciding).doOverdue)},
	{[]eventKind{overdue}, []State{Compensating}, alive, action((*deciding).undoOverdue)},
	// P33: a step that calls no agent ignores replies.
	{[]eventKind{doDone, doFailed, doLater, undoDone, undoFailed, undoLater}, []State{Waiting}, alive,
		ignore(noCall)},

	{[]eventKind{overdue}, []State{Pending, Waiting, Failed, UndoWait}, []mode{going, undoing},
		action((*deciding).waitOverdue)},
	{[]eventKind{overdue}, []State{Pending, Waiting, Failed, UndoWait}, inError, ignore(noTimes)},
	{[]eventKind{overdue}, []State{Skipped, Processed, Compensated}, alive, ignore(notNow)},

	// H28, H29: what a Wake does depends on the task's direction first.
	{[]eventKind{wakeStep}, []State{Pending, Waiting}, []mode{going}, action((*deciding).wakeForward)},
	{[]eventKind{wakeStep}, []State{Pending, Waiting, Failed, UndoWait}, []mode{undoing},
		action((*deciding).wakeUndo)},
	{[]eventKind{wakeStep}, []State{UndoWait}, []mode{going}, action((*deciding).wakeAlone)}, // P42
	{[]eventKind{wakeStep}, []State{Failed}, []mode{going}, ignore(notNow)},
	{[]eventKind{wakeStep}, []State{Pending, Waiting, Failed, UndoWait}, inError, ignore(noTimes)},
	{[]eventKind{wakeStep}, []State{Skipped, Processing, Processed, Compensating, Compensated}, alive,
		ignore(notNow)},

	// P41: in Error too, where it starts nothing.
	{[]eventKind{childEnded}, []State{Waiting}, alive, action((*deciding).childEnded)},
	{[]eventKind{childEnded}, []State{Pending, Skipped, Processing, Processed, Failed, UndoWait, Compensating,
		Compensated}, alive, ignore(notOpen)},

	// P43: a step in flight stays so.
	{[]eventKind{progress}, []State{Processing}, alive, action((*deciding).progressed)},
	{[]eventKind{progress}, []State{Pending, Skipped, Processed, Waiting, Failed, UndoWait, Compensating,
		Compensated}, alive, ignore(notAsked)},

	{[]eventKind{doDone, doFailed, doLater, undoDone, undoFailed, undoLater, overdue, wakeStep, childEnded,
		progress}, stepStates, ended, ignore(hasEnded)},
}

// taskRow defines cells of taskTable.
type taskRow struct {
	event eventKind
	tasks []mode
	rule  rule
}

var (
	everyMode = []mode{going, undoing, errForward, errUndo, processed, compensated, cancelled, closed}

	taskRows = []taskRow{
		{submitted, everyMode, action((*deciding).submittedAgain)},

		{deadlinePassed, []mode{going}, action((*deciding).deadline)},
		{deadlinePassed, []mode{undoing, errForward, errUndo},
			ignore("a deadline binds only a task that goes forward")},
		{deadlinePassed, ended, ignore(hasEnded)},

		{resendOverdue, []mode{errForward, errUndo, processed, compensated, cancelled, closed},
			action((*deciding).resendDue)},
		{resendOverdue, []mode{going, undoing}, ignore("there is no final status to send")},
		{settle, []mode{errForward, errUndo, processed, compensated, cancelled, closed},
			action((*deciding).settle)},
		{settle, []mode{going, undoing}, ignore("there is no final status to send")},

		{wakeTask, []mode{undoing}, action((*deciding).wakeUndo)},
		{wakeTask, []mode{going, errForward, errUndo},
			ignore("only a task that is being undone is woken as a whole")},
		{wakeTask, ended, ignore(hasEnded)},

		{cancel, everyMode, action((*deciding).cancelCommand)},
		{undoCommand, everyMode, action((*deciding).undoCommand)},
		{resubmit, everyMode, action((*deciding).resubmitCommand)},
		{resolve, everyMode, action((*deciding).resolveCommand)},
		{closeCommand, everyMode, action((*deciding).closeCommand)},
		{moveCommand, everyMode, action((*deciding).moveCommand)},
		{eraseCommand, everyMode, action((*deciding).eraseCommand)},
		{answered, everyMode, action((*deciding).answered)},
		{askChild, everyMode, action((*deciding).askedByParent)},
	}
)

func init() {
	for k := range stepTable {
		stepTable[k] = map[State]*[modes]rule{}
		for _, s := range stepStates {
			stepTable[k][s] = &[modes]rule{}
		}
	}
	for _, row := range stepRows {
		for _, k := range row.events {
			for _, s := range row.steps {
				for _, m := range row.tasks {
					stepTable[k][s][m] = row.rule
				}
			}
		}
	}
	for _, row := range taskRows {
		for _, m := range row.tasks {
			taskTable[row.event][m] = row.rule
		}
	}
}
