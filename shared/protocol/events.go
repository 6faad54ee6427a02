package protocol

import (
	"encoding/hex"
	"hash/fnv"
	"strconv"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// about describes an event, with the cause of its effects and its command.
type about struct {
	kind         eventKind
	step         string // name of the step; "" for an event of the whole task
	run          int    // run of an event of a step, or of a Wake; otherwise 0
	attempt      int    // attempt of an event of a step; otherwise 0
	cause        string // cause of the effects, the same in a redelivery (P4, a cause is logical)
	core.Command        // the command; the texts about its sender contain no tokens
}

var commandKinds = map[string]eventKind{"undo": undoCommand, "resubmit": resubmit, "resolve": resolve,
	"close": closeCommand, "move": moveCommand, "erase": eraseCommand}

func aboutOf(ev core.Event, t *core.Task) about {
	c := core.CommandOf(ev)
	c.From = core.Sender{By: core.RedactText(c.From.By), Reason: core.RedactText(c.From.Reason)}
	switch e := ev.(type) {
	case core.Submitted:
		return about{kind: submitted, cause: "submit", Command: c}
	case core.Reply:
		return about{kindOfReply(e), e.Step, e.Run, e.Attempt,
			cause("reply", e.Step, e.Attempt) + "/" + string(e.Outcome), c}
	case core.Progress:
		return about{progress, e.Step, e.Run, e.Attempt, "", c}
	case core.Overdue:
		return about{overdue, e.Step, t.Run, e.Attempt, cause("overdue", e.Step, e.Attempt), c}
	case core.Wake:
		return about{wakeStep, e.Step, e.Run, e.Attempt, cause("wake", e.Step, e.Attempt), c}
	case core.ChildEnded:
		p := e.Parent
		return about{childEnded, p.Step, p.Run, p.Attempt,
			cause("child", p.Step, p.Attempt) + "/" + strconv.Itoa(p.Index), c}
	case core.AskChild:
		return about{kind: askChild, Command: c,
			cause: cause("parent", "", e.Parent.Attempt) + "/" + string(e.Ask)}
	case core.DeadlinePassed:
		return about{kind: deadlinePassed, Command: c,
			cause: cause("deadline", "", e.Run) + "/" + strconv.Itoa(t.Deadline.Seq)}
	case core.ResendDue:
		return about{kind: resendOverdue, Command: c}
	case core.Settle:
		return about{kind: settle, Command: c}
	case core.Unsent:
		return about{kind: unsent, Command: c}
	case core.Cancel:
		return about{kind: cancel, cause: cause(c.Name, "", e.Run), Command: c}
	case core.Answered:
		return about{kind: answered, cause: causeAnswer(e), Command: c}
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

// kindOfReply returns the kind of a reply. The function guard ignores a reply with an unknown operation or
// outcome.
func kindOfReply(e core.Reply) eventKind {
	undo := e.Operation == core.UndoOp
	switch e.Outcome {
	case core.OutcomeFailed:
		if undo {
			return undoFailed
		}
		return doFailed
	case core.OutcomeRetryLater:
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

// bySupervisor reports whether only the Supervisor creates the event. The decision about such an event
// claims nothing and sends no request (P16, the Supervisor hands back and gives up). It leaves statuses to
// the Scheduler.
func (a about) bySupervisor() bool {
	return a.kind == overdue || a.kind == deadlinePassed || a.kind == resendOverdue
}

// redacted returns an event without the tokens that services and people have put into it (P39, a token is an
// answer's permission). It recognises a token by its shape alone. So redacted needs no signing key, and a
// repeated event has the same result (P12, effects are emitted again). A Resubmit keeps its input, because
// an input with a token is refused. aboutOf removes tokens from the senders of commands.
func redacted(ev core.Event) core.Event {
	switch e := ev.(type) {
	case core.Reply:
		e.Output, e.Code, e.Message = core.RedactJSON(e.Output), core.RedactText(e.Code),
			core.RedactText(e.Message)
		return e
	case core.Progress:
		e.Note = core.RedactText(e.Note)
		return e
	case core.ChildEnded:
		e.Output, e.Code, e.Message = core.RedactJSON(e.Output), core.RedactText(e.Code),
			core.RedactText(e.Message)
		return e
	case core.Answered:
		e.Value, e.By, e.Note = core.RedactJSON(e.Value), core.RedactText(e.By), core.RedactText(e.Note)
		return e
	case core.Resolve:
		e.Output = core.RedactJSON(e.Output)
		return e
	}
	return ev
}
