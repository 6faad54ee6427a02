package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// UndoWait describes why the undo of an order waits (P20, what happens next is computed).
type UndoWait struct {
	Step       string    `json:"step" doc:"step that is undone next"`
	For        string    `json:"for" enum:"reply,quiet,undo,retry,children" doc:"reply: the agent is still working on the step; quiet: a call that was requested may still take effect; undo: the agent was asked to undo the step; retry: the undo is requested again; children: the child orders are being undone"`
	LastEffect core.Time `json:"lastEffect,omitzero" doc:"latest time at which a requested call can take effect, by the agent's clock; present with quiet"`
	Until      core.Time `json:"until" doc:"latest time at which the wait ends: a reply has come or counts as missing, or the next action begins"`
}

// undoWaitOf returns why the undo of a task waits. It returns nil if the task is not being undone, or if the
// Scheduler is about to continue.
func undoWaitOf(t *protocol.Task, def *core.Definition) *UndoWait {
	s := protocol.UndoneNext(t)
	if s == nil {
		return nil
	}
	w := UndoWait{Step: s.Name, Until: s.CompleteBy}
	d := definitionOf(def, s.Name)
	switch {
	case s.State == core.Processing && (d == nil || d.Grade != core.Fenced): // a fenced undo does not wait
		w.For = "reply"
	case s.State == core.Compensating:
		w.For = "undo"
	case s.State == core.Waiting && s.Claim.Undo && s.Wait.At != 0: // parent and child talk by messages (P41)
		w.For = "children"
		w.Until = s.Wait.At
	case s.State != core.UndoWait || s.Wait.At == 0:
		return nil
	case s.Claim.Undo:
		w.For = "retry"
		w.Until = s.Wait.At
	default:
		w.For = "quiet"
		w.Until = s.Wait.At
		w.LastEffect = s.Quiet()
	}
	return &w
}

// undoneFor returns why the task is undone. It returns nil for a task without a Reason. For a task that a command
// undoes, it returns the command, because this is a later cause than the failure that stopped the task before.
func undoneFor(t *protocol.Task) *TaskError {
	if t.Reason == (protocol.Reason{}) {
		return nil
	}
	var command, who, what string
	switch t.Undo.Why {
	case protocol.WhyOperator:
		command = "undo"
		who = "the operator"
		what = "asked for it"
	case protocol.WhyCancel:
		command = "cancel"
		who = "the caller"
		what = "cancelled it"
	case protocol.WhyParent:
		who = "the order that it is a child of"
		what = "is undone"
	default:
		return errorOf(t.Undo.Reason)
	}
	// The first undo of a run began it. Later ones continued it after it had stopped.
	first := slices.IndexFunc(t.Commands.Verdicts, func(v protocol.Verdict) bool {
		return v.Accepted && v.Command == command && v.At >= t.StartedAt()
	})
	note := ""
	if first >= 0 {
		who = cmp.Or(t.Commands.Verdicts[first].By, who)
		note = t.Commands.Verdicts[first].Note
	}
	text := strings.TrimSuffix(who+" "+what+": "+note, ": ")
	return &TaskError{Code: string(t.Undo.Why), Message: text}
}
