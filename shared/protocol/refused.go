package protocol

import (
	"maps"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// furthestAhead is the most by which a refused command can make a task pass over numbers. Without it one
// forged number could use up all.
const furthestAhead = 1_000_000

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
	if len(all) == core.MaxRefused {
		switch command {
		case "cancel":
			return
		case core.AheadCommand:
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
	refused[command] = append(slices.Clip(all), core.ShortHash(id))
	t.Commands.Refused = refused
}

// forgetRefused empties the lists at the start of a run. The list of numbers ahead stays, because the number
// grows across runs: the task may reach the number of such a command in any later run.
func forgetRefused(t *core.Task) {
	ahead := t.Commands.Refused[core.AheadCommand]
	t.Commands.Refused = nil
	if len(ahead) > 0 {
		t.Commands.Refused = map[string][]string{core.AheadCommand: ahead}
	}
}
