package protocol

import (
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"slices"
)

// MaxVerdicts is the maximum length of each list of verdicts in a task (P5, commands have a number and an
// ID).
const MaxVerdicts = 8

// MaxRefused is the maximum length of each list in Commands.Refused.
const MaxRefused = 16

// refusedBefore returns a verdict for a command in one of the lists of refused commands. It returns nil if no
// list contains the command. The lists hold no reason, so the verdict cannot state the original reason.
func (t *Task) refusedBefore(id string) *Verdict {
	hash := ShortHash(id)
	// The loop may go in any order, because only one list contains the ID.
	for command, all := range t.Commands.Refused {
		if slices.Contains(all, hash) {
			return &Verdict{
				ID: id, Command: command,
				Reason: "the order has refused this " + command +
					", and keeps no reason; look at the order, and send it under a new ID " +
					"if it still applies",
			}
		}
	}
	return nil
}

// ShortHash returns the first 8 bytes of the hash of a command ID, in base64. A task stores only these bytes.
func ShortHash(id string) string {
	sum := sha256.Sum256([]byte(id))
	return base64.RawURLEncoding.EncodeToString(sum[:8])
}

// Verdict returns the verdict of the command or answer with this ID. It returns nil if the task stores
// neither a verdict nor a refusal of this ID.
func (t *Task) Verdict(id string) *Verdict {
	if id == "" {
		return nil
	}
	if v := verdictIn(t.Commands.Verdicts, id); v != nil {
		return v
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		if a := s.Answers; a != nil {
			if v := verdictIn(a.Verdicts, id); v != nil {
				return v
			}
		}
		if s.Passing.knows(id) {
			v := s.passedOn(id)
			return &v
		}
	}
	if len(t.Commands.Refused) == 0 {
		return nil
	}
	return t.refusedBefore(id)
}

func verdictIn(all []Verdict, id string) *Verdict {
	for i := range all {
		if all[i].ID == id {
			v := all[i]
			return &v
		}
	}
	return nil
}

// Long reports whether the verdict's texts need more space than each task reserves for a verdict. A task
// reserves space for the reason noReason, and none for By and Note.
func (v *Verdict) Long() bool { return len(v.Reason) > len(noReason) || v.By != "" || v.Note != "" }

// Drop removes By and Note, and replaces a long Reason by noReason. The verdict then fits into its reserve.
func (v *Verdict) Drop() {
	v.By = ""
	v.Note = ""
	if len(v.Reason) > len(noReason) {
		v.Reason = noReason
	}
}

// Remember adds the short hash of the ID of a refused cancel or answer to the list for the command, because these
// carry no number. The task then refuses each copy in the same run, even after it has dropped the verdict. A full
// list of cancels stays: the task then refuses every cancel of the run (P17, a cancel is kept). A full list of
// answers loses the oldest hash (P36, answers may come early, late or twice).
func (c *Commands) Remember(id, command string) { c.rememberHash(ShortHash(id), command) }

func (c *Commands) rememberHash(hash, command string) {
	all := c.Refused[command]
	if len(all) == MaxRefused {
		if command == "cancel" {
			return
		}
		all = all[1:]
	}
	refused := maps.Clone(c.Refused)
	if refused == nil {
		refused = map[string][]string{}
	}
	refused[command] = append(slices.Clip(all), hash)
	c.Refused = refused
}
