package simulate

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// events returns the events of one order that the handler has received. These are the messages, or the event
// of a call without a queue.
func events(iv *Invocation, id string) (all []any) {
	for _, l := range iv.Letters {
		if aboutOrder(l.Message) == id {
			all = append(all, l.Message.Value)
		}
	}
	if iv.Direct != nil && iv.About == id {
		all = append(all, iv.Direct)
	}
	return all
}

// several reports whether the handler has received more than one event of the order. Their sequence in a
// commit is unknown.
func (m *move) several() bool { return len(events(m.w.Cur, m.after.OrderID)) > 1 }

// tokens checks that the document of a task with tokens contains no token (P39, a token is an answer's
// permission).
func (m *move) tokens() {
	if m.after.TokenKey != "" {
		m.never(bytes.Contains(m.record.Document, []byte(m.after.TokenKey+".")), "P39", "the document holds a token")
	}
}

// identity checks the fields that never change and the fields that only grow.
func (m *move) identity() {
	m.never(m.o.Seen.Writes > most, "20", "it has been written %d times", m.o.Seen.Writes)
	limit := m.w.Room.Limit
	m.never(limit > 0 && len(m.record.Document) > limit,
		"P28", "its document has %d bytes, the limit is %d", len(m.record.Document), limit)
	if m.before == nil {
		m.never(m.after.Version != 1, "15", "the first version is %d", m.after.Version)
		return
	}
	// An erasure may remove the field (P52, erase removes content, not identity).
	m.never(m.before.Unknown[LaterField] != nil && m.after.Unknown[LaterField] == nil && m.after.Erased == nil,
		"mixed", "an older version of the program has dropped a field that it does not know")
	m.never(m.after.Version != m.before.Version+1, "15", "it follows version %d", m.before.Version)
	m.never(state.HashOf(m.after) != state.HashOf(m.before), "P14", "its content changed")
	m.moved()
	m.corrected()
	d := m.after.Run - m.before.Run
	m.never(d != 0 && (d != 1 || !m.commanded), "P2", "the run went from %d to %d", m.before.Run, m.after.Run)
}

// corrected checks a step that gets another input (P51, a call can get another input). Only a plain service
// may have had an effect for the key of the step, and that effect must be undone.
func (m *move) corrected() {
	t := m.after
	b := m.before
	for i := range t.Steps {
		s := &t.Steps[i]
		was := b.Step(t.Steps[i].Name)
		if s.Corrected == nil || t.Run == b.Run && was != nil && was.Corrected != nil &&
			was.Corrected.Command == s.Corrected.Command {
			continue
		}
		key := core.Key(t.OrderID, t.Run, s.Name)
		m.never(!m.commanded, "P51", "step %s has another input, and no command gave it", s.Name)
		if svc := m.w.Services[key]; svc != nil {
			m.never(svc.Net > 0 || svc.Applied > 0 && svc.Grade != core.Plain || svc.Pending > 0, "P51",
				"step %s gets another input, and its key has had %d effects, and %d calls may land", s.Name, svc.Applied,
				svc.Pending)
		}
		delete(m.o.Seen.Meant, key+string(core.Do))
	}
}

// moved checks a task that pins another definition (P49, move pins another definition).
func (m *move) moved() {
	t := m.after
	b := m.before
	if t.Definition == b.Definition {
		return
	}
	m.o.Seen.Moved = true
	m.never(!m.commanded, "P49", "it pins another definition, and no command asked for that")
	for i := range b.Steps { // a step without an effect may get other work under its key
		s := &b.Steps[i]
		stated := s.Resolved != nil && s.Resolved.Fact != core.Happened && s.Resolved.At > s.Claim.At
		m.never(s.InFlight() && !m.several(), "P49", "it is moved while step %s is in flight", s.Name)
		if s.NoEffect != 0 || stated && s.State == core.Compensated || s.First.Nth == 0 && s.FailureCode != "" {
			delete(m.o.Seen.Meant, core.Key(t.OrderID, t.Run, s.Name)+string(core.Do))
		}
	}
}

// was returns the step before the commit, or a new Pending step if the commit has added the step. An earlier
// Move may have removed a step with this name. Then the number of attempts continues (P1, every claim has a
// new attempt).
func (m *move) was(name string) *protocol.Step {
	if s := m.before.Step(name); s != nil {
		return s
	}
	return &protocol.Step{Name: name, State: core.Pending, Attempt: m.before.Attempts.Removed[name]}
}

// index checks the bucket and the due time of the index entry (P9, tasks not at rest are due).
func (m *move) index() {
	live := live(m.after)
	rests := live == 0 && m.after.ProcessState == core.Error
	m.never(rests != (m.record.Bucket == port.AttentionBucket), "P9",
		"it is %s, its earliest live time is %s, and it stands in the index as %q", m.after.ProcessState, live,
		m.record.Bucket)
	m.never(live != 0 && m.record.Bucket != port.DueBucket,
		"P9", "it has a live time, %s, and stands in the index as %q", live, m.record.Bucket)
	m.never(live != 0 && core.TimeOf(m.record.IndexAt) > live,
		"21", "it is due at %s, and its earliest live time is %s", m.record.IndexAt, live)
	if live == 0 && !m.after.AtRest() {
		m.fail("P9", "it is not at rest and has no live time: %s", summary(m.after))
	}
}

// ends checks the end of a task, and its hop budget (P22, a point of no return forbids undo; P23, a hop
// budget bounds claims).
func (m *move) ends() {
	t := m.after
	b := m.before
	m.never(t.Hops > m.def.HopBudget && t.Definition != "",
		"P23", "it has used %d hops of %d", t.Hops, m.def.HopBudget)
	if b == nil {
		return
	}
	m.never(t.End.Seq > 0 && t.StatusSeq != t.End.Seq,
		"18", "its end is reported as number %d, and a later status has number %d", t.End.Seq, t.StatusSeq)
	// A parent requests the undo of its child by a message (P41).
	asked := t.Parent != nil && b.ProcessState == core.Processed && t.ProcessState != core.Error
	m.never(b.Terminal() && !m.commanded && !asked && (t.ProcessState != b.ProcessState || t.End.At != b.End.At),
		"6", "%s became %s without a command", b.ProcessState, t.ProcessState)
	final := b.ProcessState == core.Processed || b.ProcessState == core.Cancelled || b.ProcessState == core.Closed
	m.never(final && !asked && t.ProcessState != b.ProcessState,
		"6", "%s is final and became %s", b.ProcessState, t.ProcessState)
	undone := t.ProcessState == core.Compensated || t.ProcessState == core.Cancelled
	m.never((undone || t.ProcessState == core.Compensating) && pastReturn(m.def, t),
		"P22", "it is %s past its point of no return", t.ProcessState)
	for i := range t.Steps {
		s := &t.Steps[i]
		m.never(undone && s.Attempted() && s.State != core.Compensated,
			"10", "it is %s, and step %s, which was attempted, is %s", t.ProcessState, s.Name, s.State)
	}
}

// silent checks a commit that settles what happened: a close (P48, close ends an order as it stands), or a fact
// that the operator states (P18, resubmit uses a remembered key). No call may take effect afterwards.
func (m *move) silent() {
	t := m.after
	b := m.before
	closed := b != nil && t.ProcessState == core.Closed && b.ProcessState != core.Closed
	if closed {
		m.never(b.ProcessState != core.Error && len(m.w.Below) == 0 && !m.several(),
			"P48", "it was %s, and is closed", b.ProcessState)
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		stated := b != nil && s.Resolved != nil && t.Run == b.Run && (m.was(s.Name).Resolved == nil ||
			m.was(s.Name).Resolved.At != s.Resolved.At)
		key := core.Key(t.OrderID, t.Run, s.Name)
		last := max(m.o.Seen.StopBy[key+string(core.Do)], m.o.Seen.StopBy[key+string(core.UndoOp)])
		m.never(last != 0 && closed && t.End.At <= last,
			"P48", "it is closed at %s, and a call of step %s may begin until %s", t.End.At, s.Name, last)
		if stated {
			m.never(s.Resolved.At <= last,
				"P18", "a fact of step %s is accepted at %s, and a call may begin until %s", s.Name, s.Resolved.At, last)
		}
	}
}

// sequence checks the numbers of the statuses of one run: no status comes before the status of what it follows
// (invariant 18). An early answer may finish its step before the call that asks for it.
func (m *move) sequence() {
	t := m.after
	for i := range t.Steps {
		s := &t.Steps[i]
		for _, name := range m.def.Steps[i].After {
			o := t.Step(name)
			a := m.def.Steps[i].Answer
			early := a != nil && a.Ask == name
			m.never(!early && s.Finish.Seq > 0 && o.Finish.Seq > s.Finish.Seq, "18",
				"status %d says that step %s has finished, and status %d that step %s has, which comes before it",
				s.Finish.Seq, s.Name, o.Finish.Seq, name)
		}
	}
}

// erased checks an erased order (P52).
func (m *move) erased() {
	t := m.after
	b := m.before
	if t.Erased == nil {
		m.never(b != nil && b.Erased != nil, "P52", "it was erased, and its document says so no more")
		return
	}
	m.never(b != nil && b.Erased == nil && !m.commanded, "P52", "it was erased without a command")
	held := len(t.Order) > 0 || len(t.Output) > 0
	for i := range t.Steps {
		s := &t.Steps[i]
		held = held || len(s.Output) > 0 || s.Corrected != nil && len(s.Corrected.Input) > 0 ||
			s.Answers != nil && len(s.Answers.Votes) > 0
	}
	for _, v := range t.Commands.Verdicts {
		held = held || v.At > t.Erased.At && (v.By != "" || v.Note != "")
	}
	m.never(held, "P52", "it was erased, and its document still holds what was sent")
}

// settled checks that an end counts as reported only after its status and its alert were sent (P11).
func (m *move) settled() {
	t := m.after
	b := m.before
	if b == nil || b.End.ResendAt == 0 || t.End.ResendAt != 0 || t.End.At != b.End.At ||
		t.ProcessState != b.ProcessState {
		return
	}
	seen := &m.o.Seen
	// Without a message to send, the status waits for the resend time of its receivers.
	reported := seen.Reported[t.End.Seq] != "" || !slices.ContainsFunc(t.EndReceivers(m.def),
		func(receiver string) bool { return !t.Postponed(receiver) })
	m.never(t.End.Seq > 0 && !reported,
		"P11", "%s is settled, and its status %d was never sent", t.ProcessState, t.End.Seq)
	m.never(alerts(m.def, t) && !seen.Alerts[alertID(t.End.At, t.Run, t.End.Command)],
		"P11", "%s is settled, and its alert was never raised", t.ProcessState)
}

// alertID returns an ID for the alert of an end.
func alertID(at core.Time, run, command int) string { return fmt.Sprintf("%s/%d/%d", at, run, command) }

// replies checks that stale replies alone cause no commit (invariant 4). A reply is stale in these cases:
//   - The task has no such step, or the run is not the task's run.
//   - The attempt is earlier than the step's attempt, and the reply is not the "done" of a do.
//   - The attempt is the step's attempt, but the operation is not.
func (m *move) replies() {
	if m.w.Cur == nil || m.before == nil || len(m.w.Cur.Letters) == 0 || m.settling() ||
		m.w.Cur.TooBig[m.after.OrderID] {
		return
	}
	for _, l := range m.w.Cur.Letters {
		if aboutOrder(l.Message) != m.after.OrderID {
			continue
		}
		r, ok := l.Message.Value.(*message.Reply)
		if !ok || !stale(r, m.before) {
			return
		}
	}
	m.fail("4", "it was changed by %s, of run %d", Describe(m.w.Cur.Letters[0].Message),
		m.w.Cur.Letters[0].Message.Value.(*message.Reply).Run)
}

// settling reports whether a commit records only that the end of the task has been reported, or that statuses were
// sent or could not be (P12b, a status delays nothing else). A repeated message reports an unsettled end again.
func (m *move) settling() bool {
	return (m.before.End.ResendAt != 0 && m.after.End.ResendAt == 0 ||
		!slices.Equal(m.after.Undelivered, m.before.Undelivered)) && m.after.Erased == m.before.Erased &&
		m.before.ProcessState == m.after.ProcessState && m.before.End.At == m.after.End.At
}

func stale(r *message.Reply, t *protocol.Task) bool {
	s := t.Step(r.Step)
	done := r.Outcome == core.OutcomeDone && r.Operation == core.Do
	return s == nil || r.Attempt == 0 || r.Run != t.Run || r.Attempt < s.Attempt && !done || r.Attempt == s.Attempt &&
		s.Claim.Undo != (r.Operation == core.UndoOp)
}
