package simulate

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/simulate/internal/model"
)

// rooms are what stays for outputs, in bytes; sizes are what outputs hold beside their key.
var (
	rooms = [...]int{0, 60, 400, 2500}
	sizes = [...]string{"", fill(200), fill(1200), fill(2600)}
)

func fill(n int) string { return `,"data":"` + strings.Repeat("x", n) + `"` }

// drawRoom draws the limit of all documents: the least that a definition can be run with, and a little
// for outputs.
func (w *simulation) drawRoom() model.Room {
	v := 0
	if w.enabled[ItemTooLarge] && len(w.below) == 0 && w.sc.Begun == nil {
		v = w.choose("world", "room", len(rooms), 0.2)
	}
	if v == 0 {
		return model.Room{}
	}
	r := model.Room{Least: map[string]int{}, Failing: w.choose("world", "failing", 2, 0.5) == 1}
	for _, d := range w.defs {
		// An ID of the order, a queue for its statuses and an order that are as long as can be.
		spared := 2*128 + core.InlineOrder(d) - len(w.content())
		r.Least[d.Hash] = core.SizeLimit{Size: state.Size}.Reserve(d) - spared
		if d == w.def || d == w.newer { // a task is moved to another one only where that fits (P49)
			r.Limit = max(r.Limit, r.Least[d.Hash]+len("o1")+len(model.Shop)+rooms[v])
		}
	}
	return r
}

// content is the content of every order.
func (w *simulation) content() json.RawMessage {
	if w.sc.Order == nil {
		return noContent
	}
	return w.sc.Order
}

// complaint is what a service says with a failure: where documents are full, as long as it takes most.
func (w *simulation) complaint(text string) error {
	if w.room.Limit > 0 {
		text += strings.Repeat("\x01", core.MaxMessage)
	}
	return errors.New(text)
}

// fits: every document is within its limit, the text of a failure is cut only where that is needed, and
// what was reported stays as it was reported (P28, P12).
func (m *move) fits() {
	m.did("P28")
	limit, t, b := m.w.room.Limit, m.after, m.before
	if limit > 0 && len(m.record.Document) > limit {
		m.fail("P28", "its document has %d bytes, the limit is %d", len(m.record.Document), limit)
	}
	if b == nil {
		return
	}
	for i := range b.Verdicts {
		for k := range t.Verdicts {
			// whether an ID may be refused that was accepted is P5
			if v, w := &b.Verdicts[i], &t.Verdicts[k]; v.ID == w.ID && v.Reason != w.Reason &&
				w.Accepted == v.Accepted && m.kept(i) {
				m.fail("P28", "command %s was answered %q, and now %q", v.ID, v.Reason, w.Reason)
			}
		}
	}
	if t.Ended == b.Ended && t.EndSeq == b.EndSeq && t.ProcessState == b.ProcessState && t.Erased == nil &&
		(t.EndStep != b.EndStep || t.EndCode != b.EndCode || t.EndText != b.EndText ||
			string(t.Output) != string(b.Output)) {
		m.fail("P28", "its end was reported with %q (%q), and reads %q (%q) now", b.EndCode, b.EndText,
			t.EndCode, t.EndText)
	}
	if cut := m.cut(); cut > 0 && t.Erased == nil && len(m.record.Document)+cut+200 <= limit &&
		len(m.w.cur.sight(t.OrderID).events(m.w.cur)) < 2 {
		m.fail("P28", "%d bytes of texts were cut, and its document has %d bytes of %d", cut,
			len(m.record.Document), limit)
	}
}

// cut is how many bytes of texts were cut that stood there before.
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
