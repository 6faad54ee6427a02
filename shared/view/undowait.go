package view

import "github.com/stepkeeper/stepkeeper/shared/core"

// UndoWait is what the undo of an order waits for (P20).
type UndoWait struct {
	Step       string    `json:"step" doc:"the step that is undone next"`
	For        string    `json:"for" enum:"reply,quiet,undo,retry,children" doc:"reply: its agent is still doing it; quiet: a call that was asked for may still take effect (P21); undo: its agent was asked to undo it; retry: its undo is asked for again; children: its child tasks are undone"`
	LastEffect core.Time `json:"lastEffect,omitzero" doc:"of quiet: no call that was asked for takes effect later, by the agent's clock"`
	Until      core.Time `json:"until" doc:"when that is over at the latest: by then a reply has come or counts as missing, or the next thing begins"`
}

// undoWaitOf answers nil where the task is not being undone, or the Scheduler is about to go on.
func undoWaitOf(t *core.Task, def *core.Definition) *UndoWait {
	s := core.UndoneNext(t)
	if s == nil {
		return nil
	}
	w := UndoWait{Step: s.Name, Until: s.CompleteBy}
	d := definitionOf(def, s.Name)
	switch {
	case s.State == core.Processing && (d == nil || d.Grade != core.Fenced): // a fence is put up at once
		w.For = "reply"
	case s.State == core.Compensating:
		w.For = "undo"
	case s.State == core.Waiting && s.Claim.Undo && s.Wait.At != 0: // P41
		w.For, w.Until = "children", s.Wait.At
	case s.State != core.UndoWait || s.Wait.At == 0:
		return nil
	case s.Claim.Undo:
		w.For, w.Until = "retry", s.Wait.At
	default:
		w.For, w.Until, w.LastEffect = "quiet", s.Wait.At, s.Quiet()
	}
	return &w
}
