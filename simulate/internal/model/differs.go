package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// differAnswers compares what a step keeps of answers, but for times and reasons.
func differAnswers(want, got *core.Answers) string {
	if (want == nil) != (got == nil) {
		return fmt.Sprintf("that it keeps answers is %v", got != nil)
	}
	if want == nil {
		return ""
	}
	short := func(a *core.Answers) string {
		text := fmt.Sprintf("round %d, reminder %d, to be sent again %v, need %d of %v but %q", a.Round,
			a.Reminded, a.RemindedAt != 0 && !a.Moved, a.Need, a.Who, a.NotSelf)
		for _, v := range a.Votes {
			text += fmt.Sprintf(", %s: %s", v.By, v.Value)
		}
		return text
	}
	if w, g := short(want), short(got); w != g {
		return fmt.Sprintf("it keeps of answers %s, and must keep %s", g, w)
	}
	return differVerdicts(want.Verdicts, got.Verdicts)
}

// UnpinAlerts leaves open when an Error was that a later event of the same batch has ended: each event had a
// time of its own.
func (m *Model) UnpinAlerts(t *core.Task) {
	for i := range m.Mails {
		if mail := &m.Mails[i]; mail.Kind == 'a' && (mail.WakeAt != t.Ended || t.ProcessState != core.Error) {
			mail.WakeAt = 0
		}
	}
}

// Differs returns how a task differs from the model's, or "" if it does not.
func (m *Model) Differs(real *core.Task) string {
	if m.T == nil {
		return "it was stored, and the event makes no task"
	}
	t := m.T
	if text := cmp.Or(
		unlike("ProcessState", t.ProcessState, real.ProcessState), unlike("Phase", t.Phase, real.Phase),
		unlike("Why", t.Why, real.Why),
		unlike("Run", t.Run, real.Run), unlike("Command", t.Command, real.Command),
		unlike("Hops", t.Hops, real.Hops),
		unlike("StatusSeq", t.StatusSeq, real.StatusSeq), unlike("EndSeq", t.EndSeq, real.EndSeq),
		unlike("EndCommand", t.EndCommand, real.EndCommand),
		unlike("Ended", t.Ended, real.Ended), unlike("Report", t.ResendAt, real.ResendAt),
		unlike("Deadline", t.Deadline, real.Deadline), unlike("DeadlineSeq", t.DeadlineSeq, real.DeadlineSeq),
		unlike("Definition", t.Definition, real.Definition), unlike("EndCause", t.EndCause, real.EndCause),
		unlike("TokenKey", t.TokenKey, real.TokenKey),
		unlike("CancelAsked", t.CancelAsked, real.CancelAsked), unlikeAt("Closing", t.Closing, real.Closing),
		unlikeAt("Erased", t.Erased, real.Erased),
		differVerdicts(t.Verdicts, real.Verdicts), m.differAttempts(t, real),
	); text != "" {
		return text
	}
	if !maps.EqualFunc(t.Refused, real.Refused, slices.Equal) {
		return fmt.Sprintf("it remembers the refused commands %v, and must remember %v", real.Refused,
			t.Refused)
	}
	if !maps.Equal(t.Removed, real.Removed) {
		return fmt.Sprintf("it is without %v and must be without %v", real.Removed, t.Removed)
	}
	if len(t.Steps) != len(real.Steps) {
		return fmt.Sprintf("it has %d steps, and must have %d", len(real.Steps), len(t.Steps))
	}
	for i := range t.Steps {
		if t.Steps[i].Name != real.Steps[i].Name {
			return fmt.Sprintf("it has step %s where %s must be", real.Steps[i].Name, t.Steps[i].Name)
		}
		if text := differStep(&t.Steps[i], &real.Steps[i]); text != "" {
			return "step " + t.Steps[i].Name + ": " + text
		}
	}
	return ""
}

func differVerdicts(want, got []core.Verdict) string {
	if len(want) != len(got) {
		return fmt.Sprintf("it keeps %d verdicts, not %d", len(got), len(want))
	}
	for i := range want {
		if want[i].ID != got[i].ID || want[i].Accepted != got[i].Accepted ||
			want[i].Command != got[i].Command {
			return fmt.Sprintf("command %s %s: accepted is %v (%s) and must be %v", got[i].Command, got[i].ID,
				got[i].Accepted, got[i].Reason, want[i].Accepted)
		}
	}
	return ""
}

// differAttempts returns how the attempts differ, or "" if they do not. Each attempt that did not end done is
// in the list or in the counts. In full documents more of them are only counted (P28).
func (m *Model) differAttempts(want, got *core.Task) string {
	for m.Room.Limit > 0 && len(want.Attempts) > len(got.Attempts) {
		want.Earlier.Count(want.Attempts[0].Outcome)
		want.Attempts = want.Attempts[1:]
	}
	if want.Earlier != got.Earlier || len(want.Attempts) != len(got.Attempts) {
		return fmt.Sprintf("it keeps %d attempts, and counts %+v before them; it must keep %d, and count %+v",
			len(got.Attempts), got.Earlier, len(want.Attempts), want.Earlier)
	}
	for i := range want.Attempts {
		if want.Attempts[i] != got.Attempts[i] {
			return fmt.Sprintf("it keeps the attempt %+v, and must keep %+v", got.Attempts[i],
				want.Attempts[i])
		}
	}
	return ""
}

func differStep(want, got *core.Step) string {
	if w, g := want.Corrected, got.Corrected; (w == nil) != (g == nil) || w != nil &&
		(string(w.Input) != string(g.Input) || w.Command != g.Command ||
			w.By != g.By || w.Reason != g.Reason || w.At != g.At) {
		return "the input that an operator gave is another one"
	}
	if string(want.Output) != string(got.Output) {
		return fmt.Sprintf("its output is %.80s and must be %.80s", got.Output, want.Output)
	}
	return cmp.Or(
		unlike("State", want.State, got.State), unlike("LockedBy", want.LockedBy, got.LockedBy),
		unlike("Agent", want.Agent, got.Agent),
		unlike("Undo", want.Undo, got.Undo), unlike("Cause", want.Cause, got.Cause),
		unlike("FailureCode", want.FailureCode, got.FailureCode),
		unlikeAt("Progress", want.Progress, got.Progress), unlikeAt("Resolved", want.Resolved, got.Resolved),
		differAnswers(want.Answers, got.Answers),
		unlike("Attempt", want.Attempt, got.Attempt), unlike("First", want.First, got.First),
		unlike("FailureCount", want.FailureCount, got.FailureCount),
		unlike("UndoFailures", want.UndoFailures, got.UndoFailures),
		unlike("ClaimedAt", want.ClaimedAt, got.ClaimedAt),
		unlike("CompleteBy", want.CompleteBy, got.CompleteBy),
		unlike("StopBy", want.StopBy, got.StopBy), unlike("WakeAt", want.WakeAt, got.WakeAt),
		unlike("Until", want.Until, got.Until),
		unlike("QuietBy", want.QuietBy, got.QuietBy), unlike("UndoStopBy", want.UndoStopBy, got.UndoStopBy),
		unlike("Allowance", want.Allowance, got.Allowance), unlike("Queued", want.Queued, got.Queued),
		unlike("Error.Since", SinceOf(want), SinceOf(got)),
		unlike("Error.Polling", pollingOf(want), pollingOf(got)),
		unlike("FirstAt", want.FirstAt, got.FirstAt), unlike("NoEffect", want.NoEffect, got.NoEffect),
		unlike("FinishSeq", want.FinishSeq, got.FinishSeq),
	)
}

// unlike returns how a field differs from its expected value, or "" if it does not.
func unlike[T comparable](name string, want, got T) string {
	if want == got {
		return ""
	}
	return fmt.Sprintf("its %s is %v and must be %v", name, got, want)
}

// unlikeAt compares what is pointed at.
func unlikeAt[T comparable](name string, want, got *T) string {
	if want == got || want != nil && got != nil && *want == *got {
		return ""
	}
	return fmt.Sprintf("its %s is %+v and must be %+v", name, got, want)
}
