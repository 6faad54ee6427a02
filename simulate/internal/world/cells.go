package world

import "slices"

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

// Absent returns the reason why an act cannot happen at a call in any simulation, or "" if the act can
// happen.
func Absent(r Role, c Call, a Act) string {
	if !slices.Contains(Calls[r], c) {
		return "the " + RoleNames[r] + " makes no such call"
	}
	return unfit(r, c, a)
}

// unfit returns the reason why an act cannot happen at a call that the role makes, or "" if the act can
// happen.
func unfit(r Role, c Call, a Act) string {
	switch {
	case r == AClient && slices.Contains(Compute, a):
		return "the application is its owner's, and no part of the protocol"
	case a.Fault == ItemTooLarge && c == CallSend && r != AScheduler:
		return "what the " + RoleNames[r] + " sends is small, or was cut before"
	}
	return ""
}

// CellCount returns the number of cells for the given kinds of faults. A cell is one act at one call of one
// role. A nil list means all kinds.
func CellCount(only []Fault) (n int) {
	for r := range RoleCount {
		for c := range CallCount {
			for _, a := range ActsAt[c] {
				if (only == nil || slices.Contains(only, a.Fault)) && Absent(r, c, a) == "" {
					n++
				}
			}
		}
	}
	return n
}

// Impossible returns the reason why an act cannot happen at a call in this simulation, or "" if the act can
// happen.
func (w *Simulation) Impossible(r Role, c Call, a Act) string {
	switch {
	case a.Fault == KeyForgotten && !w.Forgets():
		return "no service of this scenario may forget a key: none declares a keyRetention"
	case w.Embedded && (a.Fault == Redriven || a.Fault == Retention) && c == CallMessage && r != AClient:
		return "the queues of one process die with it: nothing is redriven, and nothing expires, days later"
	}
	return unfit(r, c, a)
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
