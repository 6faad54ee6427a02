package check

import (
	"encoding/json"
)

// fits checks that every document is within its limit, that the text of a failure is cut only if needed, and
// that reported texts stay as they were reported (P28, what is too large fails once; P12, effects are emitted
// again).
func (m *move) fits() {
	m.did("P28")
	limit, t, b := m.w.Room.Limit, m.after, m.before
	if limit > 0 && len(m.record.Document) > limit {
		m.fail("P28", "its document has %d bytes, the limit is %d", len(m.record.Document), limit)
	}
	if b == nil {
		return
	}
	for i := range b.Commands.Verdicts {
		for k := range t.Commands.Verdicts {
			// P5 (commands have a number and an ID) checks whether an accepted ID may be refused
			if v, w := &b.Commands.Verdicts[i], &t.Commands.Verdicts[k]; v.ID == w.ID &&
				v.Reason != w.Reason && w.Accepted == v.Accepted && m.kept(i) {
				m.fail("P28", "command %s was answered %q, and now %q", v.ID, v.Reason, w.Reason)
			}
		}
	}
	if t.End.At == b.End.At && t.End.Seq == b.End.Seq && t.ProcessState == b.ProcessState &&
		t.Erased == nil && (t.Reason.Step != b.Reason.Step || t.Reason.Code != b.Reason.Code ||
		t.Reason.Text != b.Reason.Text || string(t.Output) != string(b.Output)) {
		m.fail("P28", "its end was reported with %q (%q), and reads %q (%q) now", b.Reason.Code,
			b.Reason.Text, t.Reason.Code, t.Reason.Text)
	}
	if cut := m.cut(); cut > 0 && t.Erased == nil && len(m.record.Document)+cut+200 <= limit &&
		len(EventsOf(m.w.Cur.Sight(t.OrderID), m.w.Cur)) < 2 {
		m.fail("P28", "%d bytes of texts were cut, and its document has %d bytes of %d", cut,
			len(m.record.Document), limit)
	}
}

// cut returns the number of bytes that were cut from existing texts.
func (m *move) cut() (n int) {
	for i := range m.after.Steps {
		was, e := m.before.Step(m.after.Steps[i].Name), m.after.Steps[i].Error
		if was != nil && was.Error != nil && e != nil && was.Error.At == e.At && was.Error.Message != "" &&
			e.Message == "" {
			text, _ := json.Marshal(was.Error.Message) // a string
			n += len(text)
		}
	}
	return n
}
