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
		if mail := &m.Mails[i]; mail.Kind == 'a' &&
			(mail.WakeAt != t.End.At || t.ProcessState != core.Error) {
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
		unlike("Why", t.Undo.Why, real.Undo.Why),
		unlike("Run", t.Run, real.Run), unlike("Command", t.Commands.Number, real.Commands.Number),
		unlike("Hops", t.Hops, real.Hops),
		unlike("StatusSeq", t.StatusSeq, real.StatusSeq), unlike("EndSeq", t.End.Seq, real.End.Seq),
		unlike("EndCommand", t.End.Command, real.End.Command),
		unlike("Ended", t.End.At, real.End.At), unlike("Report", t.End.ResendAt, real.End.ResendAt),
		unlike("Deadline", t.Deadline.At, real.Deadline.At),
		unlike("DeadlineSeq", t.Deadline.Seq, real.Deadline.Seq),
		unlike("Definition", t.Definition, real.Definition), unlike("EndCause", t.End.Cause, real.End.Cause),
		unlike("TokenKey", t.TokenKey, real.TokenKey),
		unlike("CancelAsked", t.Undo.CancelAsked, real.Undo.CancelAsked),
		unlikeAt("Closing", t.Closing, real.Closing),
		unlikeAt("Erased", t.Erased, real.Erased),
		differVerdicts(t.Commands.Verdicts, real.Commands.Verdicts), m.differAttempts(t, real),
	); text != "" {
		return text
	}
	if !maps.EqualFunc(t.Commands.Refused, real.Commands.Refused, slices.Equal) {
		return fmt.Sprintf("it remembers the refused commands %v, and must remember %v",
			real.Commands.Refused,
			t.Commands.Refused)
	}
	if !maps.Equal(t.Attempts.Removed, real.Attempts.Removed) {
		return fmt.Sprintf("it is without %v and must be without %v", real.Attempts.Removed,
			t.Attempts.Removed)
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
// in the list or in the counts. In full documents more of them are only counted (P28, what is too large fails
// once).
func (m *Model) differAttempts(want, got *core.Task) string {
	for m.Room.Limit > 0 && len(want.Attempts.Last) > len(got.Attempts.Last) {
		want.Attempts.Earlier.Count(want.Attempts.Last[0].Outcome)
		want.Attempts.Last = want.Attempts.Last[1:]
	}
	if want.Attempts.Earlier != got.Attempts.Earlier || len(want.Attempts.Last) != len(got.Attempts.Last) {
		return fmt.Sprintf("it keeps %d attempts, and counts %+v before them; it must keep %d, and count %+v",
			len(got.Attempts.Last), got.Attempts.Earlier, len(want.Attempts.Last), want.Attempts.Earlier)
	}
	for i := range want.Attempts.Last {
		if want.Attempts.Last[i] != got.Attempts.Last[i] {
			return fmt.Sprintf("it keeps the attempt %+v, and must keep %+v", got.Attempts.Last[i],
				want.Attempts.Last[i])
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
		unlike("State", want.State, got.State), unlike("LockedBy", want.Claim.By, got.Claim.By),
		unlike("Agent", want.Claim.Agent, got.Claim.Agent),
		unlike("Undo", want.Claim.Undo, got.Claim.Undo), unlike("Cause", want.Claim.Cause, got.Claim.Cause),
		unlike("FailureCode", want.FailureCode, got.FailureCode),
		unlikeAt("Progress", want.Claim.Progress, got.Claim.Progress),
		unlikeAt("Resolved", want.Resolved, got.Resolved),
		differAnswers(want.Answers, got.Answers),
		unlike("Attempt", want.Attempt, got.Attempt), unlike("First", want.First.Nth, got.First.Nth),
		unlike("FailureCount", want.Failures.Do, got.Failures.Do),
		unlike("UndoFailures", want.Failures.Undo, got.Failures.Undo),
		unlike("ClaimedAt", want.Claim.At, got.Claim.At),
		unlike("CompleteBy", want.CompleteBy, got.CompleteBy),
		unlike("StopBy", want.Claim.StopBy, got.Claim.StopBy), unlike("WakeAt", want.Wait.At, got.Wait.At),
		unlike("Until", want.Wait.Until, got.Wait.Until),
		unlike("QuietBy", want.Stops.Do, got.Stops.Do), unlike("UndoStopBy", want.Stops.Undo, got.Stops.Undo),
		unlike("Allowance", want.Claim.Allowance, got.Claim.Allowance),
		unlike("Queued", want.Failures.Queued, got.Failures.Queued),
		unlike("Error.Since", SinceOf(want), SinceOf(got)),
		unlike("Error.Polling", pollingOf(want), pollingOf(got)),
		unlike("FirstAt", want.First.At, got.First.At), unlike("NoEffect", want.NoEffect, got.NoEffect),
		unlike("FinishSeq", want.Finish.Seq, got.Finish.Seq),
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
