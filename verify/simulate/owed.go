package simulate

import (
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// mail is a message, or an alert, that must have been sent.
type mail struct {
	kind    byte // request, wake, settle, status, status of an undo that waits, of progress, alert: r w s t u p a
	step    string
	attempt int // or the number of the status, or the percent of progress
	wakeAt  core.Time
}

// notifies: the application is told. What ends an order that has failed is told where that was told (P48).
func notifies(def *core.Definition, t *core.Task, kind core.StatusKind) bool {
	if kind == core.StatusClosed {
		kind = core.StatusFailed
	}
	return t.ReplyTo != "" && slices.Contains(def.Notify, kind)
}

// alerts: the operator is told of an Error, and of an order that a failure has undone where its workflow says so (P11).
func alerts(def *core.Definition, t *core.Task) bool {
	undone := t.ProcessState == core.Compensated && t.Why == core.WhyFailure
	return t.ProcessState == core.Error || undone && def.AlertUndone
}

// owed is what a commit has to send: what it claimed, told or put off (P12, P13).
func (m *move) owed(s *sight) (all []mail) {
	for _, claim := range s.claims {
		if m.def.Steps[m.def.Index(claim.step)].Agent != "" {
			all = append(all, claim)
		}
	}
	for i := range m.after.Steps {
		all = append(all, m.owedOf(i)...)
	}
	if m.supervisor && m.after.Why == core.WhyDeadline && m.before.ProcessState == core.Processing && m.after.ProcessState == core.Compensating {
		all = append(all, mail{kind: 'w'})
	}
	return append(all, m.owedEnd()...)
}

func (m *move) owedOf(i int) (all []mail) {
	t := m.after
	s, d, was := &t.Steps[i], &m.def.Steps[i], m.was(t.Steps[i].Name)
	if waits(s) && s.CompleteBy != 0 && s.CompleteBy != was.CompleteBy {
		all = append(all, mail{kind: 'w', step: s.Name, attempt: s.Attempt, wakeAt: nextLook(m.def, t, i)})
	}
	if s.Answers != nil && was.Answers != nil && s.Answers.Reminded > was.Answers.Reminded {
		all = append(all, reminder(m.def, t, i)...)
	}
	if s.Progress != nil && (was.Progress == nil || s.Progress.At != was.Progress.At) && notifies(m.def, t, core.StatusProgress) {
		all = append(all, mail{kind: 'p', step: s.Name, attempt: s.Progress.Percent})
	}
	quiet := s.QuietBy.Add(m.def.Agents[d.Agent].ClockSkew)
	if s.State == core.UndoWait && s.WakeAt == quiet+1 && s.WakeAt != was.WakeAt && d.Grade != core.Fenced && notifies(m.def, t, core.StatusUndoing) {
		all = append(all, mail{kind: 'u', step: s.Name, wakeAt: s.WakeAt})
	}
	return all
}

// entered: the task came to an end, or to Error, with this commit.
func (m *move) entered() bool {
	t, b := m.after, m.before
	return t.Ended != 0 && (b == nil || t.Ended != b.Ended || t.ProcessState != b.ProcessState || t.EndCommand != b.EndCommand)
}

// owedEnd: the Supervisor has the Scheduler tell what has a number.
func (m *move) owedEnd() (all []mail) {
	t, first, before := m.after, 1, core.Time(0)
	if m.before != nil {
		first, before = m.before.StatusSeq+1, m.before.ResendAt
	}
	for n := first; n <= t.StatusSeq; n++ {
		if n != t.EndSeq || !m.supervisor {
			all = append(all, mail{kind: 't', attempt: n})
		}
	}
	switch {
	case m.supervisor && t.ResendAt != 0 && t.ResendAt != before && (t.EndSeq > 0 || !m.entered()):
		return append(all, mail{kind: 's'})
	case m.entered() && alerts(m.def, t):
		return append(all, mail{kind: 'a', wakeAt: t.Ended})
	}
	return all
}

// told is what the sender of an event is told whatever else the event leads to (P5, P14). The task is as the handling
// leaves it.
func (iv *invocation) told(s *sight, ev any) []mail {
	t, direct := s.now(), iv.direct != nil
	refusal := func(replyTo string) []mail {
		switch {
		case direct: // it has the answer
			return nil
		case replyTo == shop:
			return []mail{{kind: 'f'}}
		}
		return []mail{{kind: 'q'}}
	}
	switch e := ev.(type) {
	case *message.SubmitOrder:
		switch {
		case t == nil:
			return refusal(e.ReplyTo)
		case t.IsTombstone():
		case message.ContentHash(*e) != t.ContentHash:
			return refusal(e.ReplyTo)
		case notifies(iv.w.defOf(t), t, core.StatusReceived) && (!direct || s.base == nil):
			return []mail{{kind: 'c'}}
		}
	case *message.Control:
		verdict, known := verdictOf(t, e.ID)
		switch {
		case e.Kind == message.Wake || e.Kind == message.Settle:
		case t == nil && e.Kind == message.Answer && !direct && e.Tries < 3:
			return []mail{{kind: 'e'}} // its order may still come
		case t == nil:
			return refusal(e.ReplyTo)
		case known && !verdict && !direct && t.ReplyTo == shop:
			return []mail{{kind: 'v'}}
		}
	}
	return nil
}

// verdictOf is what a command or an answer of that ID was told.
func verdictOf(t *core.Task, id string) (yes, known bool) {
	if t == nil || id == "" {
		return false, false
	}
	all := slices.Clone(t.Verdicts)
	for i := range t.Steps {
		all = append(all, verdictsOf(&t.Steps[i])...)
	}
	k := slices.IndexFunc(all, func(v core.Verdict) bool { return v.ID == id })
	return k >= 0 && all[k].Accepted, k >= 0
}

// causeOf is the logical cause that an event is (P4).
func causeOf(ev any, t *core.Task) string {
	switch e := ev.(type) {
	case *message.SubmitOrder:
		if message.ContentHash(*e) == t.ContentHash {
			return "submit"
		}
	case *message.Reply:
		return "reply/" + e.Step + "/" + itoa(e.Attempt) + "/" + string(e.Outcome)
	case *message.Control:
		switch e.Kind {
		case message.Wake:
			return "wake/" + e.Step + "/" + itoa(e.Attempt)
		case message.Settle:
			return t.EndCause
		case message.Cancel:
			return "cancel/" + itoa(e.Run)
		case message.Answer: // of its ID a hash
			h := fnv.New64a()
			_, _ = fmt.Fprintf(h, "%s/%d/%d/%s", e.Name, e.Run, e.Round, e.ID)
			return fmt.Sprintf("answer/%s/%016x", e.Step, h.Sum64())
		}
		return string(e.Kind) + "/" + itoa(e.Command)
	}
	return ""
}

// again is what a redelivered event has to emit again (P12), and what a Settle asks for (P11).
func (iv *invocation) again(s *sight, i int, ev any) (all []mail) {
	t := s.now()
	c, ok := ev.(*message.Control)
	settle := ok && c.Kind == message.Settle
	if t == nil || t.IsTombstone() || s.fresh(iv, i) && !settle || settle && t.ResendAt == 0 {
		return nil
	}
	def, cause := iv.w.defOf(t), causeOf(ev, t)
	if t.StartSeq > 0 && t.StartCause == cause {
		all = append(all, mail{kind: 't', attempt: t.StartSeq})
	}
	if t.EndCause == cause && t.EndSeq > 0 && t.Ended != 0 {
		all = append(all, mail{kind: 't', attempt: t.EndSeq})
	}
	if t.EndCause == cause && alerts(def, t) {
		all = append(all, mail{kind: 'a', wakeAt: t.Ended})
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.FinishSeq > 0 && s.FinishCause == cause {
			all = append(all, mail{kind: 't', attempt: s.FinishSeq})
		}
		if s.Cause == cause && stands(t, s) {
			all = append(all, ofClaim(def, t, i)...)
		}
	}
	return all
}

// stands: a claim whose request, or Wake, may be sent again (P12).
func stands(t *core.Task, s *core.Step) bool {
	return s.State == core.Compensating || (s.State == core.Processing || s.State == core.Waiting) && t.ProcessState == core.Processing
}

// ofClaim is what a claim, or the last reminder, sends.
func ofClaim(def *core.Definition, t *core.Task, i int) []mail {
	s := &t.Steps[i]
	if s.State != core.Waiting {
		return []mail{{kind: 'r', step: s.Name, attempt: s.Attempt}}
	}
	return append(reminder(def, t, i), mail{kind: 'w', step: s.Name, attempt: s.Attempt, wakeAt: nextLook(def, t, i)})
}

// nextLook is the earlier of the time of a wait and of the next reminder (P37).
func nextLook(def *core.Definition, t *core.Task, i int) core.Time {
	s, d := &t.Steps[i], def.Steps[i].Answer
	if d == nil || d.Remind == 0 || s.Answers == nil || s.State != core.Waiting {
		return s.WakeAt
	}
	return min(s.WakeAt, s.ClaimedAt.Add(core.Duration(s.Answers.Reminded+1)*d.Remind))
}

// reminder is the request of the last reminder: that of the ask once more.
func reminder(def *core.Definition, t *core.Task, i int) []mail {
	d, s := def.Steps[i].Answer, &t.Steps[i]
	if d == nil || s.Answers == nil || s.Answers.Reminded == 0 {
		return nil
	}
	ask := t.Step(d.Ask)
	if ask == nil || ask.State != core.Processed {
		return nil
	}
	return []mail{{kind: 'r', step: ask.Name, attempt: ask.Attempt}}
}

// counts is the rule by which an event changes a task; "": it does not. One that is ahead of the document has to stay (P8).
func (iv *invocation) counts(t *core.Task, ev any, now core.Time) (rule string, ahead bool) {
	switch e := ev.(type) {
	case *message.SubmitOrder:
		r := iv.w.store.rows[e.OrderID]
		if t == nil && (r == nil || r.order == nil) && (e.Deadline == 0 || e.Deadline > now) {
			return "P14", false
		}
	case *message.Reply:
		return iv.w.countsReply(t, e, now)
	case *message.Control:
		_, known := verdictOf(t, e.ID)
		switch {
		case e.Kind == message.Wake:
			return iv.w.countsWake(t, e, now)
		case t == nil || known || e.Kind == message.Settle:
		case e.Kind == message.Cancel && e.Run > t.Run:
			return "", true
		case e.Kind == message.Answer:
			return "P36", false
		default:
			return "P5", false // its verdict is kept
		}
	}
	return "", false
}

func (w *simulation) countsReply(t *core.Task, r *message.Reply, now core.Time) (rule string, ahead bool) {
	if t == nil || t.Step(r.Step) == nil {
		return "", false
	}
	s := t.Step(r.Step)
	d := &w.defOf(t).Steps[w.defOf(t).Index(r.Step)]
	done := r.Outcome == core.OutcomeDone
	switch {
	case r.Run > t.Run, r.Run == t.Run && r.Attempt > s.Attempt:
		return "", true
	case stale(r, t), t.Terminal(), r.Attempt < 1:
	case r.Outcome == message.Progress:
		if s.State == core.Processing && s.Progress == nil && d.MaxDuration > 0 && s.StopBy > now {
			return "P43", false
		}
	case done && r.Operation == core.Do && s.Attempted() && (s.State == core.Processing || s.State == core.Pending):
		if r.Attempt == s.Attempt || w.room.limit == 0 { // an older one may not fit (P28)
			return "P15", false
		}
	case done && r.Operation == core.UndoOp && s.State == core.UndoWait, r.Attempt == s.Attempt && s.InFlight():
		return "P15", false
	case r.NoEffect && !done && d.PointOfNoReturn && s.Attempted() && s.NoEffect == 0 && (s.State == core.Pending || s.State == core.Failed):
		return "P22a", false // after its Overdue
	}
	return "", false
}

func (w *simulation) countsWake(t *core.Task, c *message.Control, now core.Time) (rule string, ahead bool) {
	if t == nil || c.Step == "" {
		return "", t != nil && c.Run > t.Run && t.ProcessState == core.Compensating
	}
	s, i := t.Step(c.Step), w.defOf(t).Index(c.Step)
	switch {
	case s == nil, c.Run < t.Run:
	case c.Run > t.Run || c.Attempt > s.Attempt:
		return "", true
	case c.Attempt < s.Attempt || t.ProcessState != core.Processing:
	case s.State == core.Pending && s.Attempted() && now >= s.WakeAt:
		return "P9a", false
	case s.State == core.Waiting && now >= nextLook(w.defOf(t), t, i):
		return "P34", false
	case s.State == core.UndoWait && now >= s.WakeAt:
		return "P42", false
	}
	return "", false
}
