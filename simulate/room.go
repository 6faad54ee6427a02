package simulate

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// room is how much the document of a task may hold, in a world where tasks come near their limit
// (P28). The zero value sets no limit.
type room struct {
	limit   int
	failing bool // services fail so often that every step has a text
	// least is what the longest document takes without outputs and reasons, by definition.
	least map[string]int
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
	if w.enabled[ItemTooLarge] && len(w.below) == 0 && w.sc.Begun == nil {
		v = w.choose("world", "room", len(rooms), 0.2)
	}
	if v == 0 {
		return room{}
	}
	r := room{least: map[string]int{}, failing: w.choose("world", "failing", 2, 0.5) == 1}
	for _, d := range w.defs {
		// An ID of the order, a queue for its statuses and an order that are as long as can be.
		spared := 2*128 + core.InlineOrder(d) - len(w.content())
		r.least[d.Hash] = core.SizeLimit{Size: state.Size}.Reserve(d) - spared
		if d == w.def || d == w.newer { // a task is moved to another one only where that fits (P49)
			r.limit = max(r.limit, r.least[d.Hash]+len("o1")+len(shop)+rooms[v])
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
	if w.room.limit > 0 {
		text += strings.Repeat("\x01", core.MaxMessage)
	}
	return errors.New(text)
}

// done: P15, and P28 where its output does not fit: a task that goes forward needs it, so that the step
// has failed for good; in any other the effect is a fact without it (P24).
func (m *model) done(i int, r *message.Reply) {
	s := &m.t.Steps[i]
	if m.holds(i, r.Output) {
		m.changed = true
		m.finish(i, r.Output)
		m.advance()
		return
	}
	earlier := r.Attempt < s.Attempt
	m.changed = !earlier || m.t.ProcessState != core.Processing || s.NoEffect != 0
	s.NoEffect = 0
	switch {
	case !m.changed:
		m.again()
	case m.t.ProcessState != core.Processing:
		m.finish(i, nil)
		m.advance()
	case !earlier:
		if s.State == core.Processing { // 13: an attempt that was handed back was counted then
			s.FailureCount++
			m.ended(i, core.OutcomeFailed, "output-too-large")
		}
		m.end(s, core.Failed)
		m.policy(i, "output-too-large")
	}
}

// holds: the reserve stays free beside the outputs and the reasons of verdicts. Within a few bytes, and
// the reasons that the model does not know, it takes what the real task did.
func (m *model) holds(i int, output json.RawMessage) bool {
	if m.room.limit == 0 || len(output) == 0 {
		return true
	}
	need, vague := m.needs(m.t, i)
	switch need += len(output); {
	case need+vague <= m.room.limit:
		return true
	case need-vague > m.room.limit:
		return false
	}
	return m.real != nil && string(m.realStep(i).Output) == string(output)
}

// keepsReserve: P49, the same of a task that is moved.
func (m *model) keepsReserve(moved *core.Task, command string) bool {
	if m.room.limit == 0 {
		return true
	}
	need, vague := m.needs(moved, -1)
	for name := range moved.Removed {
		need, vague = need+len(name), vague+30
	}
	vague += 40 * len(moved.Steps) // what steps have of the definition before
	switch {
	case need+vague <= m.room.limit:
		return true
	case need-vague > m.room.limit:
		return false
	}
	return m.real != nil && slices.ContainsFunc(m.real.Verdicts,
		func(v core.Verdict) bool { return v.ID == command && v.Accepted })
}

// needs is what the longest document of a task takes, without the output of the step but; it is exact but for
// a few bytes, and for reasons that the model does not know.
func (m *model) needs(t *core.Task, but int) (need, vague int) {
	need, vague = m.room.least[t.Definition]+len(t.OrderID)+len(t.ReplyTo), 60
	for k := range t.Steps {
		// what is decided stands in the reserve, as far as the value of an event is short
		if a := t.Steps[k].Answers; a != nil {
			vague += 60
			for _, v := range a.Verdicts {
				if need += len(v.Reason); !v.Accepted && v.Reason == "" {
					vague += core.MaxMessage
				}
			}
			continue
		}
		if g := t.Steps[k].Corrected; g != nil {
			need, vague = need+len(g.Input)+len(g.By)+len(g.Reason)+40, vague+100
		}
		if out := t.Steps[k].Output; k != but && len(out) > 0 {
			need, vague = need+len(out), vague+16
		}
	}
	for _, v := range t.Verdicts {
		if need += len(v.Reason); !v.Accepted && v.Reason == "" {
			vague += core.MaxMessage
		}
	}
	return need, vague
}

// fits: every document is within its limit, the text of a failure is cut only where that is needed, and
// what was reported stays as it was reported (P28, P12).
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
