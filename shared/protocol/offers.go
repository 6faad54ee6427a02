package protocol

import (
	"encoding/json"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Offer is a command that a task accepts, with the task's present command number. Moves are not among the
// offers, because they depend on another definition.
type Offer struct {
	Command string
	Step    string    // step of a Resolve, or of a Resubmit with another input; "" for other commands
	Fact    core.Fact // fact of a Resolve
	// From is the time from which the task accepts the command, if it does not now: until then a call may still
	// take effect. The zero value means now.
	From core.Time
}

// Offers returns the commands that the task accepts now, or later without a change of the task.
func (t *Task) Offers(def *core.Definition, now core.Time) (all []Offer) {
	offer := func(o Offer, refusal string) {
		if refusal == "" {
			all = append(all, o)
		}
	}
	// later offers a command that is refused while a call of the steps may still take effect
	later := func(o Offer, refusal func(at core.Time) string) {
		if refusal(now) == "" {
			all = append(all, o)
			return
		}
		for i := range t.Steps {
			if t.ProcessState == core.Error && t.Steps[i].Attempted() && (o.Step == "" || o.Step == t.Steps[i].Name) {
				o.From = max(o.From, t.LastActivity(def, i)+1)
			}
		}
		if o.From > now {
			offer(o, refusal(o.From))
		}
	}
	if t.Damaged != "" {
		return []Offer{{Command: "close"}}
	}
	// A second Cancel would be accepted, but would change nothing.
	if !t.Undo.CancelAsked && t.ProcessState != core.Cancelled {
		offer(Offer{Command: "cancel"}, t.CancelRefusal(def))
	}
	if t.Erased != nil {
		return all
	}
	offer(Offer{Command: "undo"}, t.UndoRefusal(def))
	resubmit := t.ResubmitRefusal()
	if resubmit == "" && t.ProcessState == core.Error {
		resubmit = t.ExpiredKey(def, now)
	}
	offer(Offer{Command: "resubmit"}, resubmit)
	later(Offer{Command: "close"}, func(at core.Time) string { return t.CloseRefusal(def, nil, at) })
	for i := range t.Steps {
		s := &t.Steps[i]
		if resubmit == "" {
			other := core.Command{Name: core.Resubmit, Step: s.Name, Input: json.RawMessage("{}")}
			offer(Offer{Command: "resubmit", Step: s.Name}, t.CorrectRefusal(def, i, other))
		}
		if !s.Attempted() {
			continue
		}
		for _, fact := range core.Facts {
			later(Offer{Command: "resolve", Step: s.Name, Fact: fact},
				func(at core.Time) string { return t.ResolveRefusal(def, i, fact, at) })
		}
	}
	return all
}
