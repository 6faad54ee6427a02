package model

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// UnpinAlerts removes the expected time of each alert that does not belong to the present Error. A later
// event of the same batch has ended the Error of such an alert. The model does not know the time of the
// alert, because each event of the batch had its own time.
func (m *Model) UnpinAlerts(t *core.Task) {
	for i := range m.Mails {
		if mail := &m.Mails[i]; mail.Kind == 'a' &&
			(mail.WakeAt != t.End.At || t.ProcessState != core.Error) {
			mail.WakeAt = 0
		}
	}
}

// Differs returns a description of the first difference between the model's task and a committed task, or ""
// if they are equal. If the committed document is full, it may list fewer unsuccessful attempts. The counts
// of the committed task must then include the missing attempts (P28, what is too large fails once).
func (m *Model) Differs(real *core.Task) string {
	if m.T == nil {
		return "it was stored, and the event makes no task"
	}
	for a := &m.T.Attempts; m.Room.Limit > 0 && len(a.Last) > len(real.Attempts.Last); a.Last = a.Last[1:] {
		a.Earlier.Count(a.Last[0].Outcome)
	}
	return unlike(reflect.ValueOf(predicted(m.T)), reflect.ValueOf(predicted(real)))
}

// predicted returns the fields of a task that the model predicts. It omits texts, children, and the times of
// statuses, votes and verdicts. In the result, the field Moved of a step means that the last reminder can be
// repeated.
func predicted(t *core.Task) core.Task {
	p := core.Task{ProcessState: t.ProcessState, Phase: t.Phase, Definition: t.Definition, Run: t.Run,
		TokenKey: t.TokenKey, Commands: t.Commands, Attempts: t.Attempts, Hops: t.Hops,
		StatusSeq: t.StatusSeq, Undelivered: slices.Clone(t.Undelivered),
		Undo: core.Reversal{Why: t.Undo.Why, CancelAsked: t.Undo.CancelAsked}, End: t.End,
		Closing: t.Closing,
		Erased:  t.Erased, Deadline: t.Deadline, Steps: slices.Clone(t.Steps)}
	p.Commands.Verdicts = withoutReasons(t.Commands.Verdicts)
	for i := range p.Undelivered {
		p.Undelivered[i].Reason = ""
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		s.Finish = core.Finish{Seq: s.Finish.Seq}
		s.EndState, s.Children, s.Unknown = "", nil, nil
		since, polling := HeldSince(s)
		s.Error = &core.StepError{Since: since, Polling: polling}
		if s.Answers == nil {
			continue
		}
		a := *s.Answers
		a.Moved, a.RemindedAt = a.RemindedAt != 0 && !a.Moved, 0
		a.Verdicts, a.Votes = withoutReasons(a.Verdicts), slices.Clone(a.Votes)
		for k := range a.Votes {
			a.Votes[k].At = 0
		}
		s.Answers = &a
	}
	return p
}

func withoutReasons(all []core.Verdict) (short []core.Verdict) {
	for _, v := range all {
		short = append(short, core.Verdict{ID: v.ID, Accepted: v.Accepted, Command: v.Command})
	}
	return short
}

// unlike returns a description of the first field in which two values differ, or "" if the values are equal.
// An empty list and a missing list count as equal.
func unlike(want, got reflect.Value) string {
	equal := false
	switch kind := want.Kind(); {
	case kind == reflect.Struct:
		for i := range want.NumField() {
			if text := unlike(want.Field(i), got.Field(i)); text != "" {
				return want.Type().Field(i).Name + " " + text
			}
		}
		return ""
	case kind == reflect.Pointer && !want.IsNil() && !got.IsNil():
		return unlike(want.Elem(), got.Elem())
	case kind == reflect.Slice && want.Len() == got.Len() && want.Type().Elem().Kind() == reflect.Struct:
		for i := range want.Len() {
			if text := unlike(want.Index(i), got.Index(i)); text != "" {
				return fmt.Sprintf("%d %s", i, text)
			}
		}
		return ""
	case kind == reflect.Slice || kind == reflect.Map:
		equal = want.Len()+got.Len() == 0 || reflect.DeepEqual(want.Interface(), got.Interface())
	default:
		equal = want.Equal(got)
	}
	if equal {
		return ""
	}
	if text, ok := want.Interface().([]byte); ok {
		return fmt.Sprintf("is %.80s and must be %.80s", got.Bytes(), text)
	}
	return fmt.Sprintf("is %+v and must be %+v", got, want)
}
