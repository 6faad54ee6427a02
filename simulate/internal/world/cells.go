package world

import (
	"slices"
	"strings"
)

// Absent reports whether an act cannot happen at a call in any simulation:
//   - the role makes no such call
//   - the application is its owner's, and no part of the protocol
//   - what the Supervisor and the agents send is small, or was cut before
func Absent(r Role, c Call, a Act) bool {
	return !slices.Contains(Calls[c].Roles, r) || r == AClient && slices.Contains(compute, a) ||
		a.Fault == ItemTooLarge && c == CallSend && r != AScheduler
}

// Cell names one act at one call of one role.
func Cell(r Role, c Call, a Act) string { return Sites[r][c] + " × " + a.String() }

// Cells returns the cells that can exist, and those that cannot, for the given kinds of faults. A nil list means all
// kinds.
func Cells(only []Fault) (can, cannot []string) {
	for r := range RoleCount {
		for c := range CallCount {
			for _, a := range Calls[c].Acts {
				switch {
				case only != nil && !slices.Contains(only, a.Fault):
				case Absent(r, c, a):
					cannot = append(cannot, Cell(r, c, a))
				default:
					can = append(can, Cell(r, c, a))
				}
			}
		}
	}
	return can, cannot
}

// Impossible reports whether an act cannot happen at a call about a subject in this simulation:
//   - no service of the scenario may forget a key, because none declares a keyRetention
//   - the size of a child order's first document is the same at every attempt to create it, but the fault would hit
//     only some of them
//   - the queues of one process end with it, so nothing is redriven and nothing expires days later
func (w *Simulation) Impossible(r Role, c Call, subject string, a Act) bool {
	return Absent(r, c, a) || a.Fault == KeyForgotten && !w.Forgets() ||
		a.Fault == ItemTooLarge && strings.Contains(subject, "~") ||
		w.Embedded && (a.Fault == Redriven || a.Fault == Retention) && c == CallMessage && r != AClient
}

// Forgets reports whether the service of any agent may forget keys.
func (w *Simulation) Forgets() bool {
	for name, a := range w.Def.Agents {
		if a.KeyRetention > 0 || w.Sc.Services[name].Forgets > 0 {
			return true
		}
	}
	return false
}
