package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// ledgerTime is the time limit of a write to the ledger. The worker waits for the write even if the
// handling's time is over. Without the write, the entry stays in doubt, even if no call was made.
const ledgerTime = 2 * time.Second

const maxMoves = 8

// recorded executes an operation with the ledger:
//   - A plain service has at most one call per key that is done or in doubt (P31, a plain service needs a
//     ledger).
//   - For a point of no return, the ledger shows whether a call is the only call. The refusal of the only
//     call proves that there was no effect (P22a, a proven refusal permits undo).
//
// A retry of a point of no return uses the entry of the earlier try, while no call is in doubt.
func (h *handling) recorded(ctx context.Context) (json.RawMessage, error) {
	if h.pivot != pivotBegan || h.doubt != nil {
		entry, do, err := h.enter(ctx)
		if err != nil {
			return nil, err
		}
		switch do {
		case sayDone:
			return entry.Output, nil
		case sayFailed:
			if h.isPivot() {
				h.pivot = pivotNoEffect
			}
			return nil, h.failedBefore(entry)
		case sayNothing, sayInDoubt:
			return h.inDoubt(ctx, do)
		}
		if h.isPivot() {
			h.pivot = pivotBegan
		}
	}
	// Too little time is left, or ctx was cancelled, so do not call the service.
	if !h.inTime() || h.insufficientTime() || ctx.Err() != nil {
		h.leave(ctx, nil, &Failure{
			NoEffect: true, Code: codeLedger,
			Err: errors.New("the ledger took all the time, so the service was not called"),
		})
		h.pivot = pivotUnknown
		if h.inTime() && !h.insufficientTime() {
			return nil, h.ledgerFailed("write", context.Cause(ctx))
		}
		return nil, errSilent
	}
	out, err := h.timedCall(ctx)
	if err == nil {
		if h.req.Grade == core.Plain {
			h.leave(ctx, out, nil)
		}
		return out, nil
	}
	f := classify(err)
	if !h.isPivot() || f.Happened && h.req.Grade == core.Plain {
		h.leave(ctx, nil, &f)
	}
	return nil, &f
}

// isPivot reports whether the request is the do of a point of no return, and the agent has a ledger. Without
// a ledger, nothing proves that a refusal had no effect (P22a), and the order stops for the operator.
func (h *handling) isPivot() bool {
	return h.req.PointOfNoReturn && h.req.Operation == core.Do && h.w.Ledger != nil
}

// prove records that a point of no return has had no effect (P22a). The reply may state NoEffect only after
// this record. If prove cannot store the record, or another call may still have an effect, the reply does not
// state NoEffect.
func (h *handling) prove(ctx context.Context) {
	f := h.failure()
	if !h.isPivot() || f == nil || h.doubt != nil || h.pivot == pivotNoEffect {
		return
	}
	ctx, cancel := h.toLedger(ctx)
	defer cancel()
	proven := false
	err := h.change(ctx, func(e port.LedgerEntry) (next port.LedgerEntry, move bool) {
		next, move, proven = refuse(e, h.req.Attempt, h.req.Resolved, h.pivot == pivotBegan, f.Permanent)
		if move {
			next.Code = f.Code
			next.Message = core.TrimMessage(f.Error())
		}
		return next, move
	}, func(err error) bool { return errors.Is(err, port.ErrConflict) })
	switch {
	case err != nil:
		h.w.Log.Warn(
			"the refusal of a point of no return could not be recorded, so the reply does not say that it "+
				"had no effect", about(h.w.Agent, h.req), "error", err)
	case proven:
		h.pivot = pivotNoEffect
	}
}

// timedCall makes the call. The step's timeout starts now, because the ledger has additional time.
func (h *handling) timedCall(ctx context.Context) (json.RawMessage, error) {
	now := h.w.Clock.Now()
	limit := min(h.until.Sub(now), h.req.Timeout.Std())
	h.deadline = now.Add(limit)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if h.req.Grade != core.Plain {
		return h.checked(ctx)
	}
	return h.call(ctx)
}

// insufficientTime reports whether less than the step's timeout is left before stopBy. The cause is a wait in
// the queue (P32, queue time is not a failure). The worker then does not call a plain service, because an
// interrupted call would be in doubt. The request of a later attempt has the full time.
func (h *handling) insufficientTime() bool {
	allowed := h.req.StopBy.Sub(h.req.ClaimedAt) - h.req.Timeout
	if h.req.Grade != core.Plain || h.req.ClaimedAt == 0 || allowed <= 2*h.req.ClockSkew {
		return false // otherwise a step with so little time could never make a call
	}
	return h.w.Clock.Now().Add(h.req.Timeout.Std()).After(h.req.StopBy.Std())
}

func (h *handling) enter(ctx context.Context) (port.LedgerEntry, act, error) {
	for range maxMoves {
		e, err := h.w.Ledger.Entry(ctx, h.req.Key)
		if err != nil {
			return e, 0, h.ledgerFailed("read", err)
		}
		e.Key = h.req.Key
		next, move, do := enter(e, h.req.Operation, h.req.Attempt, h.req.Resolved,
			h.isPivot() && h.req.Grade != core.Plain)
		if !move {
			return next, do, nil
		}
		err = h.store(ctx, next)
		if err == nil {
			return next, do, nil
		}
		if !errors.Is(err, port.ErrConflict) {
			return e, 0, h.ledgerFailed("write", err)
		}
	}
	return port.LedgerEntry{}, 0,
		h.ledgerFailed("write", fmt.Errorf("lost %d times in a row: %w", maxMoves, port.ErrConflict))
}

func (h *handling) store(ctx context.Context, e port.LedgerEntry) error {
	ctx, cancel := h.toLedger(ctx)
	defer cancel()
	return h.w.Ledger.Move(ctx, e)
}

func (h *handling) ledgerFailed(what string, err error) error {
	return &Failure{
		Code: codeLedger, NoEffect: true,
		Err: fmt.Errorf("the agent could not %s its ledger, so the service was not called: %w", what, err),
	}
}

func (h *handling) failedBefore(e port.LedgerEntry) error {
	f := &Failure{Permanent: e.State != StateLater, NoEffect: true, Code: e.Code, Err: errors.New(e.Message)}
	if e.State == StateFenced {
		f.Code = "fenced"
		f.Err = errors.New("the step has been undone; it is not done any more")
	}
	return f
}

// inDoubt handles a request whose operation may have been called before. It calls Check, if the
// operation has one. Only the result "happened" counts, because an earlier call may still arrive.
func (h *handling) inDoubt(ctx context.Context, do act) (json.RawMessage, error) {
	// The check of an undo counts only if an undo has begun.
	if h.op.Check != nil && (do == sayNothing || h.undoBegun(ctx)) {
		happens, out, err := h.check(ctx)
		if happens {
			h.leave(ctx, out, nil)
			return out, err
		}
		if f := classify(err); err != nil && (do == sayNothing && h.doubt != nil || h.doubt == nil &&
			f.turnedAway()) {
			// Another try may repeat the check: either this handling made the call in doubt, or the service
			// turned the check away.
			return nil, err
		}
	}
	if do == sayInDoubt {
		return nil, &Failure{
			Permanent: true, Code: "in-doubt",
			Err: errors.New(
				"a call to this plain service was begun and whether it happened is not known; find out " +
					"and resolve it"),
		}
	}
	if h.doubt != nil {
		return nil, &Failure{
			Code: "in-doubt",
			Err:  fmt.Errorf("the call was sent, and whether it happened is not known: %w", h.doubt),
		}
	}
	return nil, errSilent
}

func (h *handling) undoBegun(ctx context.Context) bool {
	e, err := h.w.Ledger.Entry(ctx, h.req.Key)
	return err == nil && e.State == StateUndoStarted
}

// leave stores the outcome of the call. It removes tokens for answers from the output, because a service may
// repeat its input (P39, a token is an answer's permission); the Scheduler removes them from a reply. If the
// write fails, the entry stays in doubt, which is safe.
func (h *handling) leave(ctx context.Context, out json.RawMessage, f *Failure) {
	if f != nil && !f.Happened && !f.NoEffect {
		return
	}
	ctx, cancel := h.toLedger(ctx)
	defer cancel()
	err := h.change(ctx, func(e port.LedgerEntry) (port.LedgerEntry, bool) {
		return leave(e, h.req.Operation, h.req.Attempt, h.isPivot(), core.RedactJSON(out), f)
	}, func(error) bool { return true })
	if err != nil {
		h.w.Log.Error("the outcome of a call could not be written; the step stays in doubt",
			about(h.w.Agent, h.req), "error", err)
	}
}

// change loads the entry and stores the result of decide. After an error it retries if again(err) is true.
func (h *handling) change(ctx context.Context, decide func(port.LedgerEntry) (port.LedgerEntry, bool),
	again func(error) bool,
) (err error) {
	for range maxMoves {
		var e port.LedgerEntry
		e, err = h.w.Ledger.Entry(ctx, h.req.Key)
		if err == nil {
			e.Key = h.req.Key
			next, move := decide(e)
			if !move {
				return nil
			}
			err = h.w.Ledger.Move(ctx, next)
		}
		if err == nil || !again(err) {
			return err
		}
	}
	return err
}
