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

type (
	// stepRule is the action of an event on a step. It returns a reason if the event changes nothing, for example
	// because a wait is not over.
	stepRule func(s step, ev core.Event) (ignored string, err error)
	// taskRule is the action of an event on the whole task, in every state of the task.
	taskRule func(r *decision, ev core.Event) (ignored string, err error)
)

func ignore(why string) stepRule {
	return func(step, core.Event) (string, error) { return why, nil }
}

var (
	stepStates = []core.State{
		core.Pending, core.Skipped, core.Processing, core.Processed, core.Waiting,
		core.Failed, core.UndoWait, core.Compensating,
		core.Compensated, core.Settling,
	}
	claimable = []core.State{core.Pending, core.Waiting, core.Settling, core.Failed, core.UndoWait} // by a Wake
	waiting   = []core.State{core.Waiting, core.Settling}
	unended   = []core.State{core.Pending, core.Processing, core.Waiting}

	advancing = []mode{going, undoing}
	inError   = []mode{errForward, errUndo}
	alive     = []mode{going, undoing, errForward, errUndo}
	ended     = []mode{processed, compensated, cancelled, closed}
)

const (
	notAsked  = "this is not asked for now: a duplicate, or overtaken"
	inDoubt   = "the step was given up and is in doubt: its undo, or the operator, settles it"
	takenBack = "the operator has stated since that it was undone"
	hasEnded  = "the task has ended"
	notNow    = "the step is not in a state that waits"
	notClaims = "the step was never claimed"
	notOpen   = "nothing is expected of that child: a duplicate, or overtaken"

	onlyForward = "a deadline binds only a task that goes forward"

	earlierRun = "it belongs to an earlier run"
)

// stepRow defines what an event of a step does in a task that has not ended. In every state that is not among the
// cells, the event is ignored, and otherwise is the reason.
type stepRow struct {
	event     eventKind
	otherwise string
	cells     []stepCell
}

type stepCell struct {
	steps []core.State
	tasks []mode
	rule  stepRule
}

var (
	// noCall: a waiting step ignores replies (P33, a waiting step asks no agent).
	noCall = stepCell{waiting, alive, ignore("the step asks no agent")}
	// noTimes: a task in Error waits for the operator.
	noTimes = stepCell{claimable, inError, ignore("a task in Error waits for the operator")}
	// A proof that the call had no effect may come after Overdue (P22a, a proven refusal permits undo).
	lateProof = stepCell{[]core.State{core.Pending, core.Failed}, alive, step.lateNoEffect}
)

var stepRows = []stepRow{
	// A done counts for any attempt, because all attempts of a run have the same key (P15, a late "done" counts).
	{doDone, notAsked, []stepCell{
		{[]core.State{core.Processing, core.Pending}, alive, step.stepDone},
		{[]core.State{core.Failed}, alive, step.doneInDoubt},
		{[]core.State{core.Skipped}, alive, ignore("the step was skipped")},
		noCall,
	}},
	{doFailed, notAsked, []stepCell{{[]core.State{core.Processing}, alive, step.stepFailed}, lateProof, noCall}},
	{doLater, notAsked, []stepCell{{[]core.State{core.Processing}, alive, step.stepRetryLater}, lateProof, noCall}},
	{undoDone, notAsked, []stepCell{
		{[]core.State{core.Compensating, core.UndoWait}, alive, step.stepUndone},
		noCall,
	}},
	{undoFailed, notAsked, []stepCell{{[]core.State{core.Compensating}, alive, step.undoRefused}, noCall}},
	{undoLater, notAsked, []stepCell{{[]core.State{core.Compensating}, alive, step.undoRefused}, noCall}},
	{overdue, notNow, []stepCell{
		{[]core.State{core.Processing, core.Compensating}, alive, step.overdue},
		{claimable, advancing, step.overdue},
		noTimes,
	}},
	// The effect of a Wake depends first on the direction of the task, because an undo must not claim a step
	// forward.
	{wakeStep, notNow, []stepCell{
		{[]core.State{core.Pending, core.Waiting, core.Settling, core.UndoWait}, advancing, step.woken},
		{[]core.State{core.Processing}, []mode{going}, step.woken}, // to remind
		{[]core.State{core.Failed}, []mode{undoing}, step.woken},
		noTimes,
	}},
	// A task in Error stores a child's end, but does not go on (P41, parent and child talk by messages).
	{childEnded, notOpen, []stepCell{{waiting, alive, step.childEnded}}},
	// Progress changes only a step in flight (P43, long work reports progress).
	{progress, notAsked, []stepCell{{[]core.State{core.Processing}, alive, step.progressed}}},
	// A deadline binds only a step that goes forward (P58, a step has a deadline).
	{stepLate, notNow, []stepCell{
		{unended, []mode{going}, step.late},
		{unended, []mode{undoing, errForward, errUndo}, ignore(onlyForward)},
	}},
}

// stepTable has a cell for each event of a step, state of the step, and mode of the task.
var stepTable = tableOf(stepRows)

func tableOf(rows []stepRow) (table [stepKinds]map[core.State]*[modes]stepRule) {
	for _, row := range rows {
		cells := map[core.State]*[modes]stepRule{}
		for _, s := range stepStates {
			cells[s] = &[modes]stepRule{}
			for _, m := range alive {
				cells[s][m] = ignore(row.otherwise)
			}
			for _, m := range ended {
				cells[s][m] = ignore(hasEnded)
			}
		}
		for _, c := range row.cells {
			for _, s := range c.steps {
				for _, m := range c.tasks {
					cells[s][m] = c.rule
				}
			}
		}
		table[row.event] = cells
	}
	return table
}

var taskTable = map[eventKind]taskRule{
	submitted:      (*decision).submittedAgain,
	deadlinePassed: (*decision).deadline,
	resendOverdue:  (*decision).resendDue,
	settle:         (*decision).settle,
	unsent:         (*decision).unsent,
	cancel:         (*decision).cancelCommand,
	undoCommand:    operators((*decision).undoCommand),
	resubmit:       operators((*decision).resubmitCommand),
	resolve:        operators((*decision).resolveCommand),
	closeCommand:   operators((*decision).closeCommand),
	moveCommand:    operators((*decision).moveCommand),
	eraseCommand:   (*decision).eraseCommand,
	answered:       (*decision).answered,
	askChild:       (*decision).askedByParent,
	restarted:      func(*decision, core.Event) (string, error) { return "restarted", nil },
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
