package protocol

import (
	"cmp"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

const defaultResendAfter = 30 * core.Second

func resendAfter(def *core.Definition) core.Duration {
	if def == nil {
		return defaultResendAfter
	}
	return def.ResendAfter
}

// notifies reports whether the order has a reply-to and the workflow asks for that kind of status.
func (t *Task) notifies(def *core.Definition, kind core.StatusKind) bool {
	return t.ReplyTo != "" && def != nil && def.Notifies(kind)
}

func nextSeq(t *Task) int {
	t.StatusSeq++
	return t.StatusSeq
}

// tell emits a status, unless the resend time of its receiver brings it (P12b, a status delays nothing else). It emits
// one that comes before the undelivered statuses, because its own handling has died.
func (r *decision) tell(status core.SendStatus) {
	earlier := slices.ContainsFunc(r.t.Undelivered, func(u core.Undelivered) bool {
		return u.ReplyTo == status.ReplyTo && 0 < status.Status.Seq && status.Status.Seq < u.First
	})
	if earlier || !r.t.Postponed(status.ReplyTo) {
		r.emit(status)
	}
}

// storeTold stores up to which number the statuses were sent. The status of an unsettled end may not have been
// sent yet.
func (t *Task) storeTold(before *Task, told int) {
	if end := before.End; end.ResendAt != 0 && end.Seq > 0 {
		told = min(told, end.Seq-1)
	}
	t.Told = max(t.Told, told)
}

// leftEnd emits the final status of an unsettled end that the task has left, because the task cannot repeat
// this status later (P12, effects are emitted again). def is the definition with which it has ended.
func (r *decision) leftEnd(def *core.Definition, before *Task) {
	if before.End.ResendAt == 0 || before.End.Seq == 0 || before.End.Seq == r.t.End.Seq || r.bySupervisor() {
		return
	}
	var left []core.Effect
	for _, name := range before.EndReceivers(def) {
		if !before.Postponed(name) {
			status := before.FinalStatus()
			status.ReplyTo = name
			left = append(left, status)
		}
	}
	r.effects = append(left, r.effects...)
}

// unsent records that a receiver could not get numbered statuses. Until the resend time, the task sends this
// receiver no further status (P12b).
func (r *decision) unsent(ev core.Event) (string, error) {
	e := ev.(core.Unsent)
	t := r.t
	if t.Erased != nil {
		return isErased, nil
	}
	now := r.at.Now
	u := core.Undelivered{
		ReplyTo: e.ReplyTo, First: e.First, Since: now, Reason: core.ShortNote(e.Reason),
		ResendAt: now.Add(resendAfter(r.def)),
	}
	all := slices.Clone(t.Undelivered)
	i := slices.IndexFunc(all, func(u core.Undelivered) bool { return u.ReplyTo == e.ReplyTo })
	switch {
	case i < 0:
		all = append(all, u)
	case all[i].ResendAt == 0: // the earlier statuses were given up
		all[i] = u
	case all[i].First <= u.First && all[i].Reason == u.Reason:
		return "it is recorded that the status was not sent", nil
	default:
		all[i].First = min(all[i].First, u.First)
		all[i].Reason = u.Reason
	}
	t.Undelivered = all
	return "", nil
}

// resendDue asks the Scheduler to send an unsettled end and undelivered statuses again, and sets the next
// resend times (P11, an end is reported until settled; P12b). It gives up statuses that were undelivered for
// core.GiveUpAfter.
func (r *decision) resendDue(_ core.Event) (string, error) {
	t := r.t
	now := r.at.Now
	if !t.ResendTime().Passed(now) {
		return notYet, nil
	}
	if t.End.ResendAt.Passed(now) {
		t.End.ResendAt = now.Add(core.ResendWait(t.End.At, now, resendAfter(r.def)))
	}
	t.Undelivered = slices.Clone(t.Undelivered)
	for i := range t.Undelivered {
		switch u := &t.Undelivered[i]; {
		case !u.ResendAt.Passed(now):
		case now.Sub(u.Since) >= core.GiveUpAfter:
			u.ResendAt = 0
		default:
			u.ResendAt = now.Add(core.ResendWait(u.Since, now, resendAfter(r.def)))
		}
	}
	if t.ResendTime() != 0 {
		r.emit(core.SendSettle{OrderID: t.OrderID})
	}
	return "", nil
}

func (r *decision) settle(core.Event) (string, error) {
	if r.t.ResendTime() == 0 {
		return "everything was reported before", nil
	}
	return "sent again", nil
}

// emitUnsettled emits an unsettled end and the undelivered statuses again.
func (r *decision) emitUnsettled() {
	if r.t.End.ResendAt != 0 {
		r.emitEnd()
	}
	for _, u := range r.t.Undelivered {
		if u.ResendAt == 0 {
			continue
		}
		for _, status := range r.t.StatusesSince(u.ReplyTo, u.First) {
			r.emit(status)
		}
	}
}

// Status returns a status message of the task with the common fields filled in.
func (t *Task) Status(s core.Status) core.SendStatus {
	s.OrderID = t.OrderID
	s.Run = t.Run
	s.Workflow = t.Workflow
	return core.SendStatus{ReplyTo: t.ReplyTo, Status: s}
}

// StartedStatus returns the status "started" of the task's last start.
func (t *Task) StartedStatus() core.SendStatus {
	return t.Status(core.Status{Kind: core.StatusStarted, Seq: t.Start.Seq, At: t.StartedAt()})
}

// FinishedStatus returns the status "step finished" of a step.
func (t *Task) FinishedStatus(s *Step) core.SendStatus {
	return t.Status(core.Status{
		Kind: core.StatusStepFinished, Seq: s.Finish.Seq, At: s.Finish.At,
		Step:   s.Name,
		Output: t.OutputOf(s),
	})
}

// EndReceivers returns the reply-to names that get the final status.
func (t *Task) EndReceivers(def *core.Definition) (names []string) {
	if t.ReplyTo != "" {
		names = append(names, t.ReplyTo)
	}
	if def != nil && def.Events && t.ReplyTo != core.Events {
		names = append(names, core.Events)
	}
	return names
}

// FinalStatus returns the final status of the present end.
func (t *Task) FinalStatus() core.SendStatus {
	s := core.Status{
		Kind: EndKind(t), Seq: t.End.Seq, At: t.End.At, Step: t.Reason.Step,
		Output: t.Output,
		Code:   t.Reason.Code, Message: t.Reason.Text,
	}
	if t.Closing != nil {
		s.By = t.Closing.By
		s.Reason = t.Closing.Reason
	}
	s.Steps = t.EndSteps
	if s.Steps != nil {
		return t.Status(s)
	}
	for i := range t.Steps {
		step := &t.Steps[i]
		s.Steps = append(s.Steps,
			core.StepSummary{
				Step: step.Name, State: cmp.Or(step.EndState, step.State),
				Attempts: step.Attempt,
			})
	}
	return t.Status(s)
}

// StatusesSince returns the numbered statuses for a receiver, from the number first on. The event bus gets
// only the status of the present end.
func (t *Task) StatusesSince(receiver string, first int) (all []core.SendStatus) {
	if receiver == "" {
		return nil
	}
	for n := max(first, 1); n <= t.StatusSeq; n++ {
		if receiver != t.ReplyTo && n != t.End.Seq {
			continue
		}
		s := t.numbered(n)
		s.ReplyTo = receiver
		all = append(all, s)
	}
	return all
}

// numbered returns the status with the number n.
func (t *Task) numbered(n int) core.SendStatus {
	switch n {
	case t.Start.Seq:
		return t.StartedStatus()
	case t.End.Seq:
		return t.FinalStatus()
	}
	for i := range t.Steps {
		if t.Steps[i].Finish.Seq == n {
			return t.FinishedStatus(&t.Steps[i])
		}
	}
	return t.Status(core.Status{Kind: core.StatusSuperseded, Seq: n, At: t.Created})
}

// Postponed reports whether the statuses to a receiver wait for the resend time of an Undelivered.
func (t *Task) Postponed(receiver string) bool {
	return slices.ContainsFunc(t.Undelivered, func(u core.Undelivered) bool {
		return u.ReplyTo == receiver && u.ResendAt != 0
	})
}

// ResendTime returns the earliest time to send an unsettled end or an undelivered status again. It returns
// zero if everything was reported, or given up.
func (t *Task) ResendTime() core.Time {
	at := t.End.ResendAt
	for _, u := range t.Undelivered {
		at = earliest(at, u.ResendAt)
	}
	return at
}

// Delivered returns the task without the Undelivered whose statuses are all among the sent effects. It
// returns the same task if there are none.
func Delivered(t *Task, sent []core.Effect) *Task {
	var rest []core.Undelivered
	for _, u := range t.Undelivered {
		if u.ResendAt == 0 || !hasStatuses(sent, t.StatusesSince(u.ReplyTo, u.First)) {
			rest = append(rest, u)
		}
	}
	if len(rest) == len(t.Undelivered) {
		return t
	}
	c := t.Clone()
	c.Undelivered = rest
	Reindex(c, false)
	return c
}

func hasStatuses(sent []core.Effect, all []core.SendStatus) bool {
	return !slices.ContainsFunc(all, func(want core.SendStatus) bool {
		return !slices.ContainsFunc(sent, func(e core.Effect) bool {
			s, ok := e.(core.SendStatus)
			return ok && s.ReplyTo == want.ReplyTo && s.Status.Seq == want.Status.Seq
		})
	})
}
