package check

import (
	"encoding/json"
)

// fits checks the size limit of documents (P28, what is too large fails once):
//   - Every document is within its limit.
//   - An error text is removed only if the document has no space for it.
//   - A reported reason, output or verdict does not change (P12, effects are emitted again).
func (m *move) fits() {
	m.did("P28")
	limit := m.w.Room.Limit
	t := m.after
	b := m.before
	if limit > 0 && len(m.record.Document) > limit {
		m.fail("P28", "its document has %d bytes, the limit is %d", len(m.record.Document), limit)
	}
	if b == nil {
		return
	}
	for i := range b.Commands.Verdicts {
		for k := range t.Commands.Verdicts {
			// This check compares only the reasons. The method verdicts checks the acceptance of commands
			// (P5, commands have a number and an ID).
			v := &b.Commands.Verdicts[i]
			w := &t.Commands.Verdicts[k]
			if v.ID == w.ID &&
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
		!m.several() {
		m.fail("P28", "%d bytes of texts were cut, and its document has %d bytes of %d", cut,
			len(m.record.Document), limit)
	}
}

// cut returns the number of bytes of error texts that the commit has removed from steps.
func (m *move) cut() (n int) {
	for i := range m.after.Steps {
		was := m.before.Step(m.after.Steps[i].Name)
		e := m.after.Steps[i].Error
		if was != nil && was.Error != nil && e != nil && was.Error.At == e.At && was.Error.Message != "" &&
			e.Message == "" {
			text, _ := json.Marshal(was.Error.Message) // Marshal cannot fail for a string
			n += len(text)
		}
	}
	return n
}
