package protocol

import (
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

const defaultResendAfter = 30 * core.Second

func (r *deciding) resendAfter() core.Duration {
	if r.def == nil {
		return defaultResendAfter
	}
	return r.def.ResendAfter
}

// notifies reports whether the order has a reply-to and the workflow asks for that kind of status.
func (r *deciding) notifies(kind core.StatusKind) bool {
	return r.t.ReplyTo != "" && r.def != nil && r.def.Notifies(kind)
}

func nextSeq(t *core.Task) int {
	t.StatusSeq++
	return t.StatusSeq
}

// tell emits a status, unless its receiver is waiting for a resend time (P12b, a status delays nothing else).
func (r *deciding) tell(status core.SendStatus) {
	if !r.t.Postponed(status.ReplyTo) {
		r.emit(status)
	}
}

// storeTold stores up to which number the statuses were sent. The status of an unsettled end may not have been
// sent yet.
func (r *deciding) storeTold(before *core.Task) {
	told := r.at.Told
	if end := before.End; end.ResendAt != 0 && end.Seq > 0 {
		told = min(told, end.Seq-1)
	}
	r.t.Told = max(r.t.Told, told)
}

// leftEnd emits the final status of an unsettled end that the task has left, because the task cannot repeat
// this status later (P12, effects are emitted again).
func (r *deciding) leftEnd(before *core.Task) {
	if before.End.ResendAt == 0 || before.End.Seq == 0 || before.End.Seq == r.t.End.Seq || r.bySupervisor() {
		return
	}
	var left []core.Effect
	for _, name := range before.EndReceivers(r.def) {
		if !before.Postponed(name) {
			status := before.FinalStatus()
			status.ReplyTo = name
			left = append(left, status)
		}
	}
	r.effects = append(left, r.effects...)
}

// tellUntold emits the numbered statuses that may not have been sent before the restart. It leaves the status
// of the present end to emitFinal.
func (r *deciding) tellUntold() {
	for _, status := range r.t.StatusesSince(r.t.ReplyTo, r.t.Told+1) {
		if status.Status.Seq != r.t.End.Seq {
			r.tell(status)
		}
	}
}

// unsent records that a receiver could not get numbered statuses. Until the resend time, the task sends this
// receiver no further status (P12b).
func (r *deciding) unsent(_ int, ev core.Event) (string, error) {
	e, t := ev.(core.Unsent), r.t
	if t.Erased != nil {
		return isErased, nil
	}
	now := r.at.Now
	u := core.Undelivered{ReplyTo: e.ReplyTo, First: e.First, Since: now, Reason: core.ShortNote(e.Reason),
		ResendAt: now.Add(r.resendAfter())}
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
		all[i].First, all[i].Reason = min(all[i].First, u.First), u.Reason
	}
	t.Undelivered = all
	return "", nil
}

// resendDue asks the Scheduler to send an unsettled end and undelivered statuses again, and sets the next
// resend times (P11, an end is reported until settled; P12b). It gives up statuses that were undelivered for
// core.GiveUpAfter.
func (r *deciding) resendDue(_ int, _ core.Event) (string, error) {
	t, now := r.t, r.at.Now
	if !t.ResendTime().Passed(now) {
		return notYet, nil
	}
	if t.End.ResendAt.Passed(now) {
		t.End.ResendAt = now.Add(core.ResendWait(t.End.At, now, r.resendAfter()))
	}
	t.Undelivered = slices.Clone(t.Undelivered)
	for i := range t.Undelivered {
		switch u := &t.Undelivered[i]; {
		case !u.ResendAt.Passed(now):
		case now.Sub(u.Since) >= core.GiveUpAfter:
			u.ResendAt = 0
		default:
			u.ResendAt = now.Add(core.ResendWait(u.Since, now, r.resendAfter()))
		}
	}
	if t.ResendTime() != 0 {
		r.emit(core.SendSettle{OrderID: t.OrderID})
	}
	return "", nil
}

// settle sends an unsettled end again. The method resend adds the undelivered statuses.
func (r *deciding) settle(_ int, _ core.Event) (string, error) {
	if r.t.ResendTime() == 0 {
		return "everything was reported before", nil
	}
	if r.t.End.ResendAt != 0 {
		r.cause = r.t.End.Cause
	}
	return "sent again", nil
}

// resend emits the undelivered statuses again.
func (r *deciding) resend() {
	for _, u := range r.t.Undelivered {
		if u.ResendAt == 0 {
			continue
		}
		for _, status := range r.t.StatusesSince(u.ReplyTo, u.First) {
			r.emit(status)
		}
	}
}
