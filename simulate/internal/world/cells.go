package world

import (
	"slices"
	"strings"
)

// Calls lists the kinds of calls that each role makes.
var Calls = [RoleCount][]Call{
	AScheduler: {
		CallLoad, CallOrder, CallCommit, CallDue, CallSend, CallDelete, CallExtend, CallAlert,
		CallMessage, CallPoll, CallClock, CallDeploy,
	},
	ASupervisor: {
		CallLoad, CallCommit, CallDue, CallLease, CallSend, CallDepth, CallAlert, CallMessage,
		CallTick, CallClock,
	},
	AnAgent: {
		CallSend, CallDelete, CallExtend, CallEntry, CallMove, CallDo, CallUndo, CallMessage,
		CallPoll, CallClock,
	},
	AClient: {CallDelete, CallMessage, CallPoll, CallForge, CallExpire},
}

// Absent reports whether an act cannot happen at a call in any simulation:
//   - the role makes no such call
//   - the application is its owner's, and no part of the protocol
//   - what the Supervisor and the agents send is small, or was cut before
func Absent(r Role, c Call, a Act) bool {
	return !slices.Contains(Calls[r], c) || r == AClient && slices.Contains(Compute, a) ||
		a.Fault == ItemTooLarge && c == CallSend && r != AScheduler
}

// CellCount returns the number of cells for the given kinds of faults. A cell is one act at one call of one
// role. A nil list means all kinds.
func CellCount(only []Fault) (n int) {
	for r := range RoleCount {
		for c := range CallCount {
			for _, a := range ActsAt[c] {
				if (only == nil || slices.Contains(only, a.Fault)) && !Absent(r, c, a) {
					n++
				}
			}
		}
	}
	return n
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
