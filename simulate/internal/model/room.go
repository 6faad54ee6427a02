package model

import (
	"encoding/json"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Room is the size limit of the documents in a run (P28, what is too large fails once). The zero value means
// no limit.
type Room struct {
	Limit   int
	Failing bool // true if services fail so often that every step has an error text
	// Least holds the largest size of a task's document without outputs and reasons, by the hash of the
	// definition.
	Least map[string]int
}

// holds reports whether the document has space for an output in addition to the reserve for later events (see
// core.SizeLimit). If the model cannot compute the space exactly, it follows the committed task.
func (m *Model) holds(i int, output json.RawMessage) bool {
	if m.Room.Limit == 0 || len(output) == 0 {
		return true
	}
	need, vague := m.needs(m.T, i)
	return m.fits(need+len(output), vague, func() bool {
		return string(m.realStep(i).Output) == string(output)
	})
}

// fits reports whether a document is within the limit. The document's size is between need-vague and
// need+vague. If the limit is in this range, the function as decides from the committed task.
func (m *Model) fits(need, vague int, as func() bool) bool {
	return need+vague <= m.Room.Limit || need-vague <= m.Room.Limit && m.Real != nil && as()
}

// keepsReserve reports whether a task still has space for the reserve after a command has moved or changed it
// (P49, move pins another definition).
func (m *Model) keepsReserve(moved *core.Task, command string) bool {
	if m.Room.Limit == 0 {
		return true
	}
	need, vague := m.needs(moved, -1)
	for name := range moved.Attempts.Removed {
		need, vague = need+len(name), vague+30
	}
	vague += 40 * len(moved.Steps) // fields that steps keep from the earlier definition
	return m.fits(need, vague, func() bool {
		return slices.ContainsFunc(m.Real.Commands.Verdicts,
			func(v core.Verdict) bool { return v.ID == command && v.Accepted })
	})
}

// needs returns the largest size that the document of a task can reach. The parameter but is the index of a
// step whose output does not count, or -1. The result vague is the possible error of need: the model does not
// know the texts of some verdicts.
func (m *Model) needs(t *core.Task, but int) (need, vague int) {
	need, vague = m.Room.Least[t.Definition]+len(t.OrderID)+len(t.ReplyTo), 60
	for k := range t.Steps {
		// The output of a step with answers does not count, because the reserve contains its space.
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
	for _, v := range t.Commands.Verdicts {
		if need += len(v.Reason) + len(v.By) + len(v.Note); !v.Accepted && v.Reason == "" {
			vague += core.MaxMessage
		}
		if v.By != "" {
			need += len(`"by":"","note":"",`)
		}
	}
	return need, vague
}
