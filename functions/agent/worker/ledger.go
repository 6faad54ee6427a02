package worker

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// States of a ledger entry (P31). An absent entry is StateNone too.
const (
	StateNone        = "none"         // never called, or proven without effect
	StateStarted     = "started"      // the do was perhaps called: in doubt
	StateDone        = "done"         // the do has happened
	StateFailed      = "failed"       // the do of that attempt was refused, without effect
	StateUndoStarted = "undo-started" // the undo was perhaps called: in doubt
	StateFenced      = "fenced"       // undone, or never to be done
)

// act is what a request may do, by the ledger.
type act int

const (
	callService act = iota // once the move is stored
	sayDone                // again, with the stored output
	sayFailed              // again, or because a do came after its undo
	sayInDoubt             // an undo of what is in doubt: the operator must look
	sayNothing             // a do that is in doubt
)

// enter is the ledger's transition when a request comes: the next entry, whether it must be
// stored before anything else, and what to do then. It is pure; the caller stores it on condition
// of the version, so that of two requests one finds the other's.
//
// The operator's fact is applied first, once per command: "happened" makes it done, anything else
// none.
func enter(e port.LedgerEntry, op core.Operation, attempt int, fact *core.Resolved) (next port.LedgerEntry, move bool, do act) {
	next = e
	if fact != nil && fact.Command > e.Command {
		move = true
		next.Command, next.Attempt, next.Code, next.Message = fact.Command, attempt, "", ""
		if fact.Fact == core.Happened {
			next.State = StateDone // its output is kept where one is known
		} else {
			next.State, next.Output = StateNone, nil
		}
	}
	if op == core.UndoOp {
		return enterUndo(next, move, attempt)
	}
	return enterDo(next, move, attempt)
}

func enterDo(e port.LedgerEntry, move bool, attempt int) (port.LedgerEntry, bool, act) {
	switch e.State {
	case StateDone:
		return e, move, sayDone
	case StateFailed:
		if attempt <= e.Attempt { // H33: the refusal of an older attempt does not count against a newer one
			return e, move, sayFailed
		}
		return start(e, attempt), true, callService
	case StateFenced:
		return e, move, sayFailed
	case "", StateNone:
		return start(e, attempt), true, callService
	default: // started: perhaps called; undo-started: a late copy, which nobody waits for
		return e, move, sayNothing
	}
}

func enterUndo(e port.LedgerEntry, move bool, attempt int) (port.LedgerEntry, bool, act) {
	switch e.State {
	case "", StateNone, StateFailed:
		return port.LedgerEntry{Key: e.Key, State: StateFenced, Attempt: attempt, Command: e.Command, Version: e.Version}, true, sayDone
	case StateFenced:
		return e, move, sayDone
	case StateDone:
		e.State, e.Attempt = StateUndoStarted, attempt
		return e, true, callService
	default:
		return e, move, sayInDoubt
	}
}

func start(e port.LedgerEntry, attempt int) port.LedgerEntry {
	return port.LedgerEntry{Key: e.Key, State: StateStarted, Attempt: attempt, Command: e.Command, Version: e.Version}
}

// outcome is what a call, or a check, has shown.
type outcome int

const (
	unknown   outcome = iota // in doubt: the entry stays as it is
	happened                 // proven
	refused                  // for good, proven without effect
	withdrawn                // proven without effect, a repetition may succeed: never sent, or turned away
)

// leave is the ledger's transition when the outcome is known. It moves only what this attempt
// has started, but for one thing: that a do has happened is true whoever called it.
func leave(e port.LedgerEntry, op core.Operation, attempt int, o outcome) (next port.LedgerEntry, move bool) {
	next = e
	next.Attempt = attempt
	mine := e.Attempt == attempt
	if op == core.UndoOp {
		if e.State != StateUndoStarted || o == unknown || o != happened && !mine {
			return e, false
		}
		if o == happened {
			next.State, next.Output = StateFenced, nil
		} else {
			next.State = StateDone // the do stands as before
		}
		return next, true
	}
	switch {
	case o == happened && (e.State == StateStarted || e.State == StateNone || e.State == StateFailed):
		next.State, next.Code, next.Message = StateDone, "", ""
	case e.State != StateStarted || !mine:
		return e, false
	case o == refused:
		next.State = StateFailed
	case o == withdrawn:
		next.State = StateNone
	default:
		return e, false
	}
	return next, true
}
