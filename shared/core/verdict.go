package core

import (
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"slices"
)

// maxVerdicts is the number of verdicts on commands that a task keeps (P5).
const MaxVerdicts = 8

// maxRefused is the number of refused commands of each kind that a task remembers beside its verdicts.
const MaxRefused = 16

// aheadCommand stands for a command whose number the task has not reached, whichever command it is.
const AheadCommand = "command"

// refusedBefore returns a verdict without the reason of a command that this run has refused, or nil.
func (t *Task) refusedBefore(id string) *Verdict {
	hash := ShortHash(id)
	// The loop may go in any order, because an ID is in one list only.
	for command, all := range t.Commands.Refused {
		if slices.Contains(all, hash) {
			return &Verdict{ID: id, Command: command,
				Reason: "the order has refused this " + command +
					", and keeps no reason; look at the order, and send it under a new ID " +
					"if it still applies"}
		}
	}
	return nil
}

// shortHash returns what a task remembers of a command's ID.
func ShortHash(id string) string {
	sum := sha256.Sum256([]byte(id))
	return base64.RawURLEncoding.EncodeToString(sum[:8])
}

// Verdict returns the stored verdict of a command, or of an answer to a step, or nil if none is stored.
func (t *Task) Verdict(id string) *Verdict {
	if id == "" {
		return nil
	}
	if v := verdictIn(t.Commands.Verdicts, id); v != nil {
		return v
	}
	for i := range t.Steps {
		if a := t.Steps[i].Answers; a != nil {
			if v := verdictIn(a.Verdicts, id); v != nil {
				return v
			}
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

func (v *Verdict) text() int { return len(v.Reason) + len(v.By) + len(v.Note) }

// long reports texts for which no room is kept.
func (v *Verdict) Long() bool { return len(v.Reason) > len(noReason) || v.By != "" || v.Note != "" }

// drop leaves them out.
func (v *Verdict) Drop() {
	v.By, v.Note = "", ""
	if len(v.Reason) > len(noReason) {
		v.Reason = noReason
	}
}

// Remember keeps the ID of a refused command, so that a copy that comes in the same run is refused again
// after the verdict has left its list. A full list depends on the command:
//   - cancel: every other cancel of the run is refused (P17).
//   - aheadCommand: the task passes over the number of the command, so that it is refused for its number from
//     then on. Only a forged number is ahead of the task (P5).
//   - answer: the oldest one is forgotten (P36).
//   - every other command: the command number grows, so that the commands in the list are refused for their
//     number (P5).
func (c *Commands) Remember(id, command string, number int) {
	all := c.Refused[command]
	if len(all) == MaxRefused {
		switch command {
		case "cancel":
			return
		case AheadCommand:
			if number-c.Number <= furthestAhead {
				c.Number = number + 1
			}
			return
		case "answer":
			all = all[1:]
		default:
			c.Number++
			all = nil
		}
	}
	refused := maps.Clone(c.Refused)
	if refused == nil {
		refused = map[string][]string{}
	}
	refused[command] = append(slices.Clip(all), ShortHash(id))
	c.Refused = refused
}

// Forget empties the lists at the start of a run. The list of numbers ahead stays, because the number
// grows across runs: the task may reach the number of such a command in any later run.
func (c *Commands) Forget() {
	ahead := c.Refused[AheadCommand]
	c.Refused = nil
	if len(ahead) > 0 {
		c.Refused = map[string][]string{AheadCommand: ahead}
	}
}

// furthestAhead is the most by which a refused command can make a task pass over numbers. Without it one
// forged number could use up all.
const furthestAhead = 1_000_000
