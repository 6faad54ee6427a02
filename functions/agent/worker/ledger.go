package worker

import (
	"encoding/json"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// States of a ledger entry (P31, a plain service needs a ledger). An absent entry counts as StateNone.
const (
	StateNone    = "none"    // no call, or only calls that provably had no effect
	StateStarted = "started" // the do may have been called, so its effect is in doubt
	// A point of no return may have been called more than once. So a refusal does not prove that no call had
	// an effect (P22a, a proven refusal permits undo).
	StateRepeated = "repeated"
	StateDone     = "done"   // the do has happened
	StateFailed   = "failed" // the do was refused for good, without effect
	// The do of a point of no return was refused without effect, and a later attempt may succeed (P22a).
	StateLater       = "later"
	StateUndoStarted = "undo-started" // the undo may have been called, so its effect is in doubt
	StateFenced      = "fenced"       // undone, or undone before any do; the do must not be called
)

type act int

const (
	callService act = iota // call the service after the new entry is stored
	sayDone                // reply done, with the stored output of a do
	sayFailed              // refuse the do: it was refused before, or its undo came first
	// Reply that the operator must check the service, because an undo came while a call is in doubt.
	sayInDoubt
	sayNothing // the do is in doubt or being undone: reply only if Check finds the effect
)

// enter returns the ledger's transition for a request, without side effects. next is the new entry, and do is
// the action. move reports whether the caller must store next before the action. The caller stores next only
// if the stored version has not changed. So one of two concurrent requests finds the entry of the other
// request.
//
// enter first applies the operator's fact, once for each command. knowsKeys means that the service executes
// each key of a point of no return only once. Then the worker may repeat a call whose effect is in doubt.
func enter(e port.LedgerEntry, op core.Operation, attempt int, fact *core.Resolved,
	knowsKeys bool,
) (next port.LedgerEntry, move bool, do act) {
	next, move = state(e, attempt, fact)
	if op == core.UndoOp {
		return enterUndo(next, move, attempt)
	}
	return enterDo(next, move, attempt, knowsKeys)
}

// state applies the operator's fact. The fact "happened" sets the entry to done, and any other fact to none.
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
		e.State = StateNone
		e.Output = nil
	}
	return e, true
}

func enterDo(e port.LedgerEntry, move bool, attempt int, knowsKeys bool) (port.LedgerEntry, bool, act) {
	switch e.State {
	case StateDone:
		return e, move, sayDone
	case StateFailed, StateLater:
		// a newer attempt calls again after a stored refusal
		if attempt <= e.Attempt {
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
	// In StateStarted and StateRepeated the service may have been called. In StateUndoStarted the request is
	// a late copy, and nobody waits for a reply.
	return e, move, sayNothing
}

// refuse returns the ledger's transition for a point of no return whose attempt failed without effect (P22a).
// began means that this handling has begun the call of the entry. proven reports whether the key provably has
// had no effect: no call is in doubt, or the only call in doubt is the refused call.
func refuse(e port.LedgerEntry, attempt int, fact *core.Resolved, began,
	permanent bool,
) (next port.LedgerEntry, move, proven bool) {
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
	next.State = StateLater
	next.Attempt = attempt
	if permanent {
		next.State = StateFailed
	}
	return next, true, true
}

func enterUndo(e port.LedgerEntry, move bool, attempt int) (port.LedgerEntry, bool, act) {
	switch e.State {
	case "", StateNone, StateFailed, StateLater:
		return port.LedgerEntry{
			Key: e.Key, State: StateFenced, Attempt: attempt, Command: e.Command,
			Version: e.Version,
		}, true, sayDone
	case StateFenced:
		return e, move, sayDone
	case StateDone:
		e.State = StateUndoStarted
		e.Attempt = attempt
		return e, true, callService
	default:
		return e, move, sayInDoubt
	}
}

func start(e port.LedgerEntry, attempt int) port.LedgerEntry {
	return port.LedgerEntry{
		Key: e.Key, State: StateStarted, Attempt: attempt, Command: e.Command,
		Version: e.Version,
	}
}

// leave returns the ledger's transition for a call with the output out, or with the failure f. A proven effect counts
// for an entry of any attempt. A proof that there was none counts only if the same attempt stored the entry. An effect
// in doubt changes nothing. later replaces StateNone for a point of no return (P22a).
func leave(e port.LedgerEntry, op core.Operation, attempt int, later bool, out json.RawMessage,
	f *Failure,
) (next port.LedgerEntry, move bool) {
	next = e
	next.Attempt = attempt
	happened := f == nil || f.Happened
	if !happened && (!f.NoEffect || e.Attempt != attempt) {
		return e, false
	}
	if op == core.UndoOp {
		next.State = StateDone // the do stays done
		if happened {
			next.State = StateFenced
			next.Output = nil
		}
		return next, e.State == StateUndoStarted
	}
	if happened {
		next.State = StateDone
		next.Output = out
		next.Code = ""
		next.Message = ""
		return next, !slices.Contains([]string{StateDone, StateUndoStarted, StateFenced}, e.State)
	}
	next.State = StateNone
	if f.Permanent {
		next.State = StateFailed
	} else if later {
		next.State = StateLater
	}
	if next.State != StateNone {
		next.Code = f.Code
		next.Message = core.TrimMessage(f.Error())
	}
	return next, e.State == StateStarted
}
