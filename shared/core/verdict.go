package core

import (
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"slices"
)

// MaxVerdicts is the number of verdicts on commands that a task keeps (P5, commands have a number and an ID).
const MaxVerdicts = 8

// MaxRefused is the number of refused commands of each kind that a task remembers beside its verdicts.
const MaxRefused = 16

// AheadCommand is the name in Commands.Refused for commands of any kind whose number is above the task's.
const AheadCommand = "command"

// refusedBefore returns a verdict for a command whose refusal the task remembers, or nil. The original reason
// is no longer stored.
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

// ShortHash returns the part of a command ID's hash that a task remembers.
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

// Long reports whether the verdict's texts need more space than is reserved for them.
func (v *Verdict) Long() bool { return len(v.Reason) > len(noReason) || v.By != "" || v.Note != "" }

// Drop removes the texts that need more space than is reserved for them.
func (v *Verdict) Drop() {
	v.By, v.Note = "", ""
	if len(v.Reason) > len(noReason) {
		v.Reason = noReason
	}
}

// Remember keeps the ID of a refused command. If a copy of the command comes in the same run, the task
// refuses the copy too, even if the verdict is no longer stored. If the list for the command is full, the
// result depends on the command:
//   - cancel: The task refuses each further cancel of the run (P17, a cancel is kept).
//   - AheadCommand: The number of the task rises above the command's, by at most furthestAhead, so that the
//     command stays refused because of its number (P5). Only a forged number is above the task's.
//   - answer: The task forgets the oldest answer (P36, answers may come early, late or twice).
//   - any other command: The number of the task grows, so that the commands in the list stay refused
//     because of their numbers (P5).
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

// Forget empties the lists of refused commands at the start of a run. It keeps the list AheadCommand, because
// the number of the task grows across runs. The number may reach the numbers of the commands in that list.
func (c *Commands) Forget() {
	ahead := c.Refused[AheadCommand]
	c.Refused = nil
	if len(ahead) > 0 {
		c.Refused = map[string][]string{AheadCommand: ahead}
	}
}

// furthestAhead limits how far Remember raises the number of the task. Without this limit, one forged
// command could use up all numbers.
const furthestAhead = 1_000_000
