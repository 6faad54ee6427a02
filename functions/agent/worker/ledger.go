package worker

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// States of a ledger entry (P31, a plain service needs a ledger). An absent entry is StateNone too.
const (
	StateNone    = "none"    // never called, or proven without effect
	StateStarted = "started" // the do was perhaps called, so its effect is in doubt
	// a point of no return may have been called more than once, so that no refusal proves anything (P22a, a
	// proven refusal permits undo).
	StateRepeated = "repeated"
	StateDone     = "done"   // the do has happened
	StateFailed   = "failed" // the do of that attempt was refused, without effect
	// the same for a point of no return, if a later attempt may succeed (P22a).
	StateLater       = "later"
	StateUndoStarted = "undo-started" // the undo was perhaps called, so its effect is in doubt
	StateFenced      = "fenced"       // undone, or must never be done
)

// act is the action that the ledger allows for a request.
type act int

const (
	callService act = iota // call the service once the new entry is stored
	sayDone                // reply done again, with the stored output
	sayFailed              // reply failed: again, or because a do came after its undo
	// reply that the operator must check, because an undo came while the do is in doubt.
	sayInDoubt
	sayNothing // send no reply, because a do is in doubt
)

// enter is the ledger's transition for a request: the next entry, whether it must be stored first, and the
// next action. It is pure. The caller stores the entry only if its version is unchanged, so that one of two
// concurrent requests finds the entry of the other.
//
// The operator's fact is applied first, once per command. knowsKeys means that the service executes the key
// of a point of no return only once, so that it may be called again while its effect is in doubt.
func enter(e port.LedgerEntry, op core.Operation, attempt int, fact *core.Resolved,
	knowsKeys bool) (next port.LedgerEntry, move bool, do act) {
	next, move = state(e, attempt, fact)
	if op == core.UndoOp {
		return enterUndo(next, move, attempt)
	}
	return enterDo(next, move, attempt, knowsKeys)
}

// state applies the operator's fact: "happened" sets the entry to done, any other fact to none.
func state(e port.LedgerEntry, attempt int, fact *core.Resolved) (next port.LedgerEntry, move bool) {
	if fact == nil || fact.Command <= e.Command {
		return e, false
	}
	e.Command = fact.Command
	e.Attempt = attempt
	e.Code = ""
	e.Message = ""
	if fact.Fact == core.Happened {
		e.State = StateDone // a known output stays
	} else {
		e.State, e.Output = StateNone, nil
	}
	return e, true
}

func enterDo(e port.LedgerEntry, move bool, attempt int, knowsKeys bool) (port.LedgerEntry, bool, act) {
	switch e.State {
	case StateDone:
		return e, move, sayDone
	case StateFailed, StateLater:
		if attempt <= e.Attempt { // H33: the refusal of an older attempt says nothing about a newer attempt
			return e, move, sayFailed
		}
		return start(e, attempt), true, callService
	case StateFenced:
		return e, move, sayFailed
	case "", StateNone:
		return start(e, attempt), true, callService
	case StateStarted, StateRepeated:
		if knowsKeys && attempt >= e.Attempt {
			again := start(e, attempt)
			again.State = StateRepeated
			return again, move || e.State != StateRepeated || e.Attempt != attempt, callService
		}
	}
	// started: the service may have been called; undo-started: this is a late copy, and nobody waits for its
	// reply
	return e, move, sayNothing
}

// refuse is the ledger's transition if a point of no return is proven to have had no effect by this or an
// older attempt (P22a): its only open call was refused (began), or it had no open call. proven is false if an
// earlier or another call may still have its effect.
func refuse(e port.LedgerEntry, attempt int, fact *core.Resolved, began,
	permanent bool) (next port.LedgerEntry, move, proven bool) {
	next, _ = state(e, attempt, fact)
	switch next.State {
	case StateStarted:
		if !began || next.Attempt != attempt {
			return e, false, false
		}
	case "", StateNone:
	case StateFailed, StateLater:
		if attempt <= next.Attempt {
			return e, false, true
		}
	default:
		return e, false, false
	}
	next.State, next.Attempt = StateLater, attempt
	if permanent {
		next.State = StateFailed
	}
	return next, true, true
}

func enterUndo(e port.LedgerEntry, move bool, attempt int) (port.LedgerEntry, bool, act) {
	switch e.State {
	case "", StateNone, StateFailed, StateLater:
		return port.LedgerEntry{Key: e.Key, State: StateFenced, Attempt: attempt, Command: e.Command,
			Version: e.Version}, true, sayDone
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
	return port.LedgerEntry{Key: e.Key, State: StateStarted, Attempt: attempt, Command: e.Command,
		Version: e.Version}
}

// outcome is the result of a call or a check.
type outcome int

const (
	unknown  outcome = iota // the effect is in doubt, and the entry stays unchanged
	happened                // the effect is proven
	refused                 // permanently refused, and proven without effect
	// proven without effect, and a repetition may succeed: never sent, or rejected for now.
	withdrawn
)

// leave is the ledger's transition for a known outcome. It changes only an entry that this attempt has
// started, with one exception: a do that has happened counts for any attempt.
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
			next.State = StateDone // the do stays done
		}
		return next, true
	}
	switch {
	case o == happened && e.State != StateDone && e.State != StateUndoStarted && e.State != StateFenced:
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
