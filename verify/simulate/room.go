package simulate

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// room is how much the document of a task may hold, in a world where tasks come near their limit
// (P28). The zero value sets no limit.
type room struct {
	limit   int
	failing bool // services fail so often that every step has a text
}

// rooms are what stays for outputs, in bytes; sizes are what outputs hold beside their key.
var (
	rooms = [...]int{0, 60, 400, 2500}
	sizes = [...]string{"", fill(200), fill(1200), fill(2600)}
)

func fill(n int) string { return `,"data":"` + strings.Repeat("x", n) + `"` }

// drawRoom draws the limit of all documents: the least that a definition can be run with, and a little
// for outputs.
func (w *simulation) drawRoom() room {
	v := 0
	if w.enabled[ItemTooLarge] && len(w.below) == 0 {
		v = w.choose("world", "room", len(rooms), 0.2)
	}
	if v == 0 {
		return room{}
	}
	const spared = 2 * 128 // an ID of the order, and a queue for its statuses, that are as long as can be
	r := room{failing: w.choose("world", "failing", 2, 0.5) == 1}
	for _, d := range []*core.Definition{w.def, w.newer} { // a task is moved to another one only where that fits (P49)
		if d != nil {
			r.limit = max(r.limit, core.SizeLimit{Size: state.Size}.Reserve(d)-spared+len("o1")+len(shop)+rooms[v])
		}
	}
	return r
}

// complaint is what a service says with a failure: where documents are full, as long as it takes most.
func (w *simulation) complaint(text string) error {
	if w.room.limit > 0 {
		text += strings.Repeat("\x01", core.MaxMessage)
	}
	return errors.New(text)
}

// fits: every document is within its limit, the text of a failure is cut only where that is needed, and
// what was told stays as it was told (P28, P12).
func (m *move) fits() {
	m.did("P28")
	limit, t, b := m.w.room.limit, m.after, m.before
	if limit > 0 && len(m.record.Document) > limit {
		m.fail("P28", "its document has %d bytes, the limit is %d", len(m.record.Document), limit)
	}
	if b == nil {
		return
	}
	for i := range b.Verdicts {
		for k := range t.Verdicts {
			if v, w := &b.Verdicts[i], &t.Verdicts[k]; v.ID == w.ID && v.Reason != w.Reason {
				m.fail("P28", "command %s was answered %q, and now %q", v.ID, v.Reason, w.Reason)
			}
		}
	}
	if t.Ended == b.Ended && t.EndSeq == b.EndSeq && t.ProcessState == b.ProcessState &&
		(t.EndStep != b.EndStep || t.EndCode != b.EndCode || t.EndText != b.EndText || string(t.Output) != string(b.Output)) {
		m.fail("P28", "its end was told with %q (%q), and reads %q (%q) now", b.EndCode, b.EndText, t.EndCode, t.EndText)
	}
	if cut := m.cut(); cut > 0 && len(m.record.Document)+cut+200 <= limit && len(m.w.cur.sight(t.OrderID).events(m.w.cur)) < 2 {
		m.fail("P28", "%d bytes of texts were cut, and its document has %d bytes of %d", cut, len(m.record.Document), limit)
	}
}

// cut is how many bytes of texts were cut that stood there before.
func (m *move) cut() (n int) {
	for i := range m.after.Steps {
		was, e := m.before.Step(m.after.Steps[i].Name), m.after.Steps[i].Error
		if was != nil && was.Error != nil && e != nil && was.Error.At == e.At && was.Error.Message != "" && e.Message == "" {
			text, _ := json.Marshal(was.Error.Message) // a string
			n += len(text)
		}
	}
	return n
}
