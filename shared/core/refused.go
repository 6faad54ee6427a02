package core

import (
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"slices"
)

// maxRefused is the number of refused commands of each kind that a task remembers beside its verdicts.
const maxRefused = 16

// furthestAhead is the most by which a refused command can make a task pass over numbers. Without it one
// forged number could use up all.
const furthestAhead = 1_000_000

// aheadCommand stands for a command whose number the task has not reached, whichever command it is.
const aheadCommand = "command"

// tooManyCancels is the reason of a cancel that the task cannot distinguish from the refused ones.
const tooManyCancels = "this run of the order has refused 16 cancels, which is the most that it " +
	"remembers, and so it accepts no other one; " +
	"fix: if the order has stopped, undo it as an operator"

// remember keeps the ID of a refused command, so that a copy that comes in the same run is refused again
// after the verdict has left its list. A full list depends on the command:
//   - cancel: every other cancel of the run is refused (P17).
//   - aheadCommand: the task passes over the number of the command, so that it is refused for its number from
//     then on. Only a forged number is ahead of the task (P5).
//   - answer: the oldest one is forgotten (P36).
//   - every other command: the command number grows, so that the commands in the list are refused for their
//     number (P5).
func (r *deciding) remember(id, command string) {
	t := r.t
	all := t.Commands.Refused[command]
	if len(all) == maxRefused {
		switch command {
		case "cancel":
			return
		case aheadCommand:
			if r.number-t.Commands.Number <= furthestAhead {
				t.Commands.Number = r.number + 1
			}
			return
		case "answer":
			all = all[1:]
		default:
			t.Commands.Number++
			all = nil
		}
	}
	refused := maps.Clone(t.Commands.Refused)
	if refused == nil {
		refused = map[string][]string{}
	}
	refused[command] = append(slices.Clip(all), shortHash(id))
	t.Commands.Refused = refused
}

// forgetRefused empties the lists at the start of a run. The list of numbers ahead stays, because the number
// grows across runs: the task may reach the number of such a command in any later run.
func (t *Task) forgetRefused() {
	ahead := t.Commands.Refused[aheadCommand]
	t.Commands.Refused = nil
	if len(ahead) > 0 {
		t.Commands.Refused = map[string][]string{aheadCommand: ahead}
	}
}

// refusedBefore returns a verdict without the reason of a command that this run has refused, or nil.
func (t *Task) refusedBefore(id string) *Verdict {
	hash := shortHash(id)
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
func shortHash(id string) string {
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
