package protocol

import (
	"encoding/hex"
	"hash/fnv"
	"strconv"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// mode is the state of a task, with Error split by phase.
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
	case core.Processing:
		return going
	case core.Compensating:
		return undoing
	case core.Error:
		if t.Phase == core.Undoing {
			return errUndo
		}
		return errForward
	case core.Processed:
		return processed
	case core.Compensated:
		return compensated
	case core.Closed:
		return closed
	}
	return cancelled
}

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
	stepLate

	submitted
	deadlinePassed
	resendOverdue
	settle
	unsent
	cancel
	undoCommand
	resubmit
	resolve
	closeCommand
	moveCommand
	eraseCommand
	answered
	askChild
	restarted
	kinds
)

// stepKinds is the first kind of event of a whole task. All kinds before stepKinds are events of a step.
const stepKinds = submitted

func (k eventKind) ofStep() bool { return k < stepKinds }

// rule is one cell of the transition table: an action on a step or on the whole task, or the reason why the
// event is ignored. An action returns a reason if it finds that the event changes nothing, for example because
// a wait is not over.
type rule struct {
	step   func(s step, ev core.Event) (ignored string, err error)
	task   func(r *decision, ev core.Event) (ignored string, err error)
	ignore string
}

func ignore(text string) rule { return rule{ignore: text} }

func onStep(f func(s step, ev core.Event) (string, error)) rule { return rule{step: f} }

func onTask(f func(r *decision, ev core.Event) (string, error)) rule { return rule{task: f} }

var (
	stepStates = []core.State{
		core.Pending, core.Skipped, core.Processing, core.Processed, core.Waiting,
		core.Failed, core.UndoWait, core.Compensating,
		core.Compensated, core.Settling,
	}
	alive   = []mode{going, undoing, errForward, errUndo}
	ended   = []mode{processed, compensated, cancelled, closed}
	inError = []mode{errForward, errUndo}

	// stepTable has a cell for each event of a step, state of the step, and mode of the task. init fills it
	// from stepRows.
	stepTable [stepKinds]map[core.State]*[modes]rule
	// taskTable has a cell for each event of a task, and mode of the task. init fills it from taskRows.
	taskTable [kinds][modes]rule
)

// stepRow defines the cells of stepTable for all combinations of its lists.
type stepRow struct {
	events []eventKind
	steps  []core.State
	tasks  []mode
	rule   rule
}

const (
	notAsked  = "this is not asked for now: a duplicate, or overtaken"
	noCall    = "the step asks no agent"
	inDoubt   = "the step was given up and is in doubt: its undo, or the operator, settles it"
	takenBack = "the operator has stated since that it was undone"
	noTimes   = "a task in Error waits for the operator"
	hasEnded  = "the task has ended"
	notNow    = "the step is not in a state that waits"
	wasSkip   = "the step was skipped"
	notClaims = "the step was never claimed"
	notOpen   = "nothing is expected of that child: a duplicate, or overtaken"

	onlyForward = "a deadline binds only a task that goes forward"

	earlierRun = "it belongs to an earlier run"
)

var stepRows = []stepRow{
	// A done counts for any attempt, because all attempts of a run have the same key (P15, a late "done"
	// counts).
	{[]eventKind{doDone}, []core.State{core.Processing, core.Pending}, alive, onStep(step.stepDone)},
	{[]eventKind{doDone}, []core.State{core.Failed}, alive, onStep(step.doneInDoubt)},
	{
		[]eventKind{doDone},
		[]core.State{core.Processed, core.UndoWait, core.Compensating, core.Compensated},
		alive, ignore(notAsked),
	},
	{[]eventKind{doDone}, []core.State{core.Skipped}, alive, ignore(wasSkip)},
	{[]eventKind{doFailed}, []core.State{core.Processing}, alive, onStep(step.stepFailed)},
	{[]eventKind{doLater}, []core.State{core.Processing}, alive, onStep(step.stepRetryLater)},
	// A proof that the call had no effect may come after Overdue (P22a, a proven refusal permits undo).
	{
		[]eventKind{doFailed, doLater},
		[]core.State{core.Pending, core.Failed},
		alive,
		onStep(step.lateNoEffect),
	},
	{
		[]eventKind{doFailed, doLater},
		[]core.State{
			core.Skipped, core.Processed, core.UndoWait,
			core.Compensating, core.Compensated,
		},
		alive,
		ignore(notAsked),
	},

	{
		[]eventKind{undoDone},
		[]core.State{core.Compensating, core.UndoWait},
		alive,
		onStep(step.stepUndone),
	},
	{
		[]eventKind{undoDone},
		[]core.State{
			core.Pending, core.Skipped, core.Processing, core.Processed,
			core.Failed, core.Compensated,
		},
		alive,
		ignore(notAsked),
	},
	{
		[]eventKind{undoFailed, undoLater},
		[]core.State{core.Compensating},
		alive,
		onStep(step.undoRefused),
	},
	{[]eventKind{undoFailed, undoLater}, []core.State{
		core.Pending, core.Skipped, core.Processing,
		core.Processed, core.Failed, core.UndoWait,
		core.Compensated,
	}, alive, ignore(notAsked)},

	{[]eventKind{overdue}, []core.State{core.Processing}, alive, onStep(step.overdue)},
	{[]eventKind{overdue}, []core.State{core.Compensating}, alive, onStep(step.overdue)},
	// A waiting step ignores replies (P33, a waiting step asks no agent).
	{
		[]eventKind{doDone, doFailed, doLater, undoDone, undoFailed, undoLater},
		[]core.State{core.Waiting, core.Settling},
		alive,
		ignore(noCall),
	},

	{
		[]eventKind{overdue},
		[]core.State{core.Pending, core.Waiting, core.Settling, core.Failed, core.UndoWait},
		[]mode{going, undoing},
		onStep(step.overdue),
	},
	{
		[]eventKind{overdue},
		[]core.State{core.Pending, core.Waiting, core.Settling, core.Failed, core.UndoWait},
		inError,
		ignore(noTimes),
	},
	{
		[]eventKind{overdue},
		[]core.State{core.Skipped, core.Processed, core.Compensated},
		alive,
		ignore(notNow),
	},

	// The effect of a Wake depends first on the direction of the task, because an undo must not claim a step
	// forward.
	{
		[]eventKind{wakeStep},
		[]core.State{core.Pending, core.Waiting, core.Settling, core.UndoWait},
		[]mode{going, undoing},
		onStep(step.woken),
	},
	{[]eventKind{wakeStep}, []core.State{core.Processing}, []mode{going}, onStep(step.woken)}, // to remind
	{[]eventKind{wakeStep}, []core.State{core.Processing}, []mode{undoing, errForward, errUndo}, ignore(notNow)},
	{[]eventKind{wakeStep}, []core.State{core.Failed}, []mode{undoing}, onStep(step.woken)},
	{[]eventKind{wakeStep}, []core.State{core.Failed}, []mode{going}, ignore(notNow)},
	{
		[]eventKind{wakeStep},
		[]core.State{core.Pending, core.Waiting, core.Settling, core.Failed, core.UndoWait},
		inError,
		ignore(noTimes),
	},
	{
		[]eventKind{wakeStep},
		[]core.State{
			core.Skipped, core.Processed, core.Compensating,
			core.Compensated,
		},
		alive,
		ignore(notNow),
	},

	// A task in Error stores a child's end, but does not go on (P41, parent and child talk by messages).
	{[]eventKind{childEnded}, []core.State{core.Waiting, core.Settling}, alive, onStep(step.childEnded)},
	{[]eventKind{childEnded}, []core.State{
		core.Pending, core.Skipped, core.Processing, core.Processed,
		core.Failed, core.UndoWait, core.Compensating,
		core.Compensated,
	}, alive, ignore(notOpen)},

	// A deadline binds only a step that goes forward (P58, a step has a deadline).
	{
		[]eventKind{stepLate},
		[]core.State{core.Pending, core.Processing, core.Waiting},
		[]mode{going},
		onStep(step.late),
	},
	{
		[]eventKind{stepLate},
		[]core.State{core.Pending, core.Processing, core.Waiting},
		[]mode{undoing, errForward, errUndo},
		ignore(onlyForward),
	},
	{[]eventKind{stepLate}, []core.State{
		core.Skipped, core.Processed, core.Failed, core.UndoWait, core.Compensating,
		core.Compensated, core.Settling,
	}, alive, ignore(notNow)},

	// Progress changes only a step in flight (P43, long work reports progress).
	{[]eventKind{progress}, []core.State{core.Processing}, alive, onStep(step.progressed)},
	{[]eventKind{progress}, []core.State{
		core.Pending, core.Skipped, core.Processed, core.Waiting,
		core.Failed, core.UndoWait, core.Compensating,
		core.Compensated, core.Settling,
	}, alive, ignore(notAsked)},

	{[]eventKind{
		doDone, doFailed, doLater, undoDone, undoFailed, undoLater, overdue, wakeStep, childEnded,
		progress, stepLate,
	}, stepStates, ended, ignore(hasEnded)},
}

type taskRow struct {
	event eventKind
	tasks []mode
	rule  rule
}

var (
	everyMode = []mode{going, undoing, errForward, errUndo, processed, compensated, cancelled, closed}

	taskRows = []taskRow{
		{submitted, everyMode, onTask((*decision).submittedAgain)},

		{deadlinePassed, []mode{going}, onTask((*decision).deadline)},
		{
			deadlinePassed,
			[]mode{undoing, errForward, errUndo},
			ignore(onlyForward),
		},
		{deadlinePassed, ended, ignore(hasEnded)},

		{resendOverdue, everyMode, onTask((*decision).resendDue)},
		{settle, everyMode, onTask((*decision).settle)},
		{unsent, everyMode, onTask((*decision).unsent)},

		{cancel, everyMode, onTask((*decision).cancelCommand)},
		{undoCommand, everyMode, operators((*decision).undoCommand)},
		{resubmit, everyMode, operators((*decision).resubmitCommand)},
		{resolve, everyMode, operators((*decision).resolveCommand)},
		{closeCommand, everyMode, operators((*decision).closeCommand)},
		{moveCommand, everyMode, operators((*decision).moveCommand)},
		{eraseCommand, everyMode, onTask((*decision).eraseCommand)},
		{answered, everyMode, onTask((*decision).answered)},
		{askChild, everyMode, onTask((*decision).askedByParent)},

		{restarted, everyMode, ignore("restarted")},
	}
)

func init() {
	for k := range stepTable {
		stepTable[k] = map[core.State]*[modes]rule{}
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

// about describes an event, with the cause of its effects and its command.
type about struct {
	kind         eventKind
	step         string // name of the step; "" for an event of the whole task
	run          int    // run of an event of a step, or of a Wake; otherwise 0
	attempt      int    // attempt of an event of a step; otherwise 0
	cause        string // cause of the effects, the same in a redelivery (P4, a cause is logical)
	core.Command        // the command; the texts about its sender contain no tokens
}

var commandKinds = map[string]eventKind{
	core.UndoCommand: undoCommand, core.Resubmit: resubmit, core.Resolve: resolve,
	core.Close: closeCommand, core.Move: moveCommand, core.Erase: eraseCommand,
}

func aboutOf(ev core.Event, t *Task) about {
	c := core.CommandOf(ev)
	c.Sender = core.Sender{By: core.RedactText(c.By), Reason: core.RedactText(c.Reason)}
	switch e := ev.(type) {
	case nil:
		return about{kind: restarted}
	case core.Submitted:
		return about{kind: submitted, cause: "submit", Command: c}
	case core.Reply:
		return about{
			kindOfReply(e), e.Step, e.Run, e.Attempt,
			cause("reply", e.Step, e.Attempt) + "/" + string(e.Outcome), c,
		}
	case core.Progress:
		return about{progress, e.Step, e.Run, e.Attempt, "", c}
	case core.Overdue:
		return about{overdue, e.Step, t.Run, e.Attempt, cause("overdue", e.Step, e.Attempt), c}
	case core.Wake:
		return about{wakeStep, e.Step, e.Run, e.Attempt, cause("wake", e.Step, e.Attempt), c}
	case core.ChildEnded:
		p := e.Parent
		return about{
			childEnded, p.Step, p.Run, p.Attempt,
			cause("child", p.Step, p.Attempt) + "/" + strconv.Itoa(p.Index), c,
		}
	case core.AskChild:
		return about{
			kind: askChild, Command: c,
			cause: cause("parent", "", e.Parent.Attempt) + "/" + string(e.Ask) + causePassed(e.Answers),
		}
	case core.StepLate:
		a := about{
			kind: stepLate, step: e.Step, run: e.Run, Command: c,
			cause: cause("late", e.Step, e.Run) + "/" + strconv.Itoa(e.Seq),
		}
		if s := t.Step(e.Step); s != nil { // whatever attempt is under way
			a.attempt = s.Attempt
		}
		return a
	case core.DeadlinePassed:
		return about{
			kind: deadlinePassed, Command: c,
			cause: cause("deadline", "", e.Run) + "/" + strconv.Itoa(t.Deadline.Seq),
		}
	case core.ResendDue:
		return about{kind: resendOverdue, Command: c}
	case core.Settle:
		return about{kind: settle, Command: c}
	case core.Unsent:
		return about{kind: unsent, Command: c}
	case core.Answered:
		return about{kind: answered, cause: causeAnswer(e), Command: c}
	}
	if c.Name == core.Cancel {
		return about{kind: cancel, cause: cause(c.Name, "", c.Run), Command: c}
	}
	return about{kind: commandKinds[c.Name], cause: cause(c.Name, "", c.Number), Command: c}
}

func cause(what, step string, n int) string {
	if step != "" {
		what += "/" + step
	}
	return what + "/" + strconv.Itoa(n)
}

// causeAnswer returns the cause of an answer. The cause contains a hash of the answer's name, run, round
// and ID, because these can be long.
func causeAnswer(e core.Answered) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(e.Name + "/" + strconv.Itoa(e.Run) + "/" + strconv.Itoa(e.Round) + "/" + e.ID))
	return "answer/" + e.Step + "/" + hex.EncodeToString(h.Sum(nil))
}

// bySupervisor reports whether only the Supervisor creates the event. The decision about such an event
// claims nothing and sends no request (P16, the Supervisor hands back and gives up). It leaves statuses to
// the Scheduler.
func (a about) bySupervisor() bool {
	return a.kind == overdue || a.kind == deadlinePassed || a.kind == stepLate || a.kind == resendOverdue
}

// redacted returns an event without the tokens that services and people have put into it (P39, a token is an
// answer's permission). It recognises a token by its shape alone. So redacted needs no signing key, and a
// repeated event has the same result (P12, effects are emitted again). A Resubmit keeps its input, because
// an input with a token is refused. aboutOf removes tokens from the senders of commands.
func redacted(ev core.Event) core.Event {
	switch e := ev.(type) {
	case core.Reply:
		e.Output = core.RedactJSON(e.Output)
		e.Code = core.RedactText(e.Code)
		e.Message = core.RedactText(e.Message)
		return e
	case core.Progress:
		e.Note = core.RedactText(e.Note)
		return e
	case core.ChildEnded:
		e.Output = core.RedactJSON(e.Output)
		e.Code = core.RedactText(e.Code)
		e.Message = core.RedactText(e.Message)
		return e
	case core.Answered:
		e.Value = core.RedactJSON(e.Value)
		e.By = core.RedactText(e.By)
		e.Note = core.RedactText(e.Note)
		return e
	case core.Command:
		e.Output = core.RedactJSON(e.Output)
		return e
	}
	return ev
}
