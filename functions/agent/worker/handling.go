package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"runtime/debug"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

type handling struct {
	w        *Worker
	replies  port.Sender
	req      *message.Request
	span     port.Handling // nil if no span is recorded
	op       Operation
	received time.Time
	times    int       // number of receives of the request, including the present receive
	until    time.Time // end of all tries, including ledger writes, by the agent's clock
	deadline time.Time // end of the present call; equals until if the call does not use the ledger
	last     time.Time // end of the reply, by the machine's clock; zero if the handler's context has no deadline

	try int
	// outcome of the last try: nil after a success; otherwise *tried, *deferral or errSilent
	err    error
	output json.RawMessage // output of the last try; nil unless the try succeeded
	doubt  *Failure        // failure of the first try whose effect is in doubt, or nil
	pivot  pivot
}

// errSilent ends the tries without a reply, because too little time is left or the effect is in doubt.
var errSilent = errors.New("no answer")

// pivot states what is proven about the call of a point of no return (P22a, a proven refusal permits undo).
type pivot int

const (
	pivotUnknown  pivot = iota // nothing is known, or the call is not a point of no return
	pivotBegan                 // this handling has stored a ledger entry for the call, before the call
	pivotNoEffect              // the ledger proves that no call with this key had an effect
)

func (h *handling) failure() *tried {
	t, _ := h.err.(*tried) //nolint:errorlint // the tries store it unwrapped
	return t
}

func (h *handling) run(ctx context.Context) Verdict {
	w := h.w
	if end, bounded := ctx.Deadline(); bounded && w.SendTimeout >= 0 {
		h.last = end.Add(w.SendTimeout)
	}
	if !h.inTime() {
		return h.tooLate(ctx)
	}
	var known bool
	h.op, known = w.Operations.find(h.req.Name)
	if !known {
		return h.refuse(ctx, "unknown-operation",
			fmt.Errorf("agent %q has no operation %q; deploy one that has it, or correct the workflow",
				w.Agent, h.req.Name))
	}
	if h.req.Grade == core.Plain && w.Ledger == nil {
		return h.refuse(ctx, "no-ledger",
			fmt.Errorf(
				"operation %q is of a plain service, and agent %q was started without a ledger; give it one "+
					"(a table on AWS; elsewhere the option ledger.InFolder, and a folder)",
				h.req.Name, w.Agent))
	}
	limit := h.limit(ctx)
	if limit <= 0 || ctx.Err() != nil {
		return w.nack(0)
	}
	h.until = w.Clock.Now().Add(limit)
	h.deadline = h.until
	inner, cancel := context.WithTimeout(ctx, limit)
	if w.Tracer != nil {
		inner, h.span = w.Tracer.Begin(inner, w.Agent+"."+h.req.Name)
		defer h.traced()
	}
	watched, end := h.watched(inner)
	h.tries(watched)
	end()
	cancel()
	if wait, fits := h.heldBack(); fits {
		return w.nack(wait)
	}
	h.prove(ctx)
	f := h.failure()
	if f != nil && errors.Is(ctx.Err(), context.Canceled) && !f.Permanent && h.pivot != pivotNoEffect {
		// A shutdown interrupted the handling. Another instance continues with the same key.
		return w.nack(0)
	}
	return h.answer(ctx)
}

// left returns the time limit of the reply: within, or less near the end of the handler's context. The handler has
// SendTimeout after that end, for all writes to the ledger and the reply together.
func (h *handling) left(within time.Duration) time.Duration {
	if h.last.IsZero() {
		return within
	}
	//nolint:forbidigo // a context uses the machine's clock, whatever the Clock shows
	return min(within, max(0, time.Until(h.last)))
}

// toLedger returns a context for writes to the ledger, which does not end with ctx. Near the end of the handler's
// context, it leaves half of the time to the reply.
func (h *handling) toLedger(ctx context.Context) (context.Context, context.CancelFunc) {
	return outlasting(ctx, min(ledgerTime, h.left(2*ledgerTime)/2))
}

func (h *handling) inTime() bool { return h.w.Clock.Now().Before(h.stop()) }

func (h *handling) stop() time.Time { return h.req.StopBy.Add(-h.req.ClockSkew).Std() }

// limit returns the time limit of the handling: the step's timeout, or the maxDuration of long work. A
// shorter time until stop, or until the deadline of ctx, replaces this limit. With the ledger, the timeout is
// longer by ledgerTime, because an interrupted call would be in doubt.
func (h *handling) limit(ctx context.Context) time.Duration {
	now := h.w.Clock.Now()
	limit := h.req.Timeout.Std()
	if h.long() { // P43, long work reports progress
		limit = h.req.MaxDuration.Std()
	}
	if h.byLedger() {
		limit += ledgerTime
	}
	limit = min(limit, h.stop().Sub(now))
	if end, bounded := ctx.Deadline(); bounded {
		//nolint:forbidigo // a context uses the machine's clock, whatever the Clock shows
		limit = min(limit, time.Until(end))
	}
	return limit
}

// refuse sends a reply with a transient failure without effect. A repetition may succeed, because a new
// deployment can remove the cause.
func (h *handling) refuse(ctx context.Context, code string, err error) Verdict {
	h.err = &tried{Failure: Failure{Code: code, NoEffect: true, Err: err}}
	h.prove(ctx)
	return h.answer(ctx)
}

// byLedger reports whether the operation uses the ledger (P31, a plain service needs a ledger; P22a).
func (h *handling) byLedger() bool { return h.req.Grade == core.Plain || h.isPivot() }

func (h *handling) tries(ctx context.Context) {
	g := h.w.guard(h.req.Name)
	var err error
	for again := true; again; {
		err = g.call(h.req.Key, func() error { return h.once(ctx) })
		t := (*tried)(nil)
		again = errors.As(err, &t) && t.again
		if again {
			r := h.w.Retry
			jitter := 1 + *r.Jitter*(2*h.spread()-1)
			again = port.Sleep(ctx, time.Duration(jitter*float64(r.wait(h.try, t.RetryAfter)))) == nil
		}
	}
	switch {
	case h.try == 0 && errors.Is(err, circuitbreaker.ErrOpen), h.unreached(g):
		h.err = h.notCalled(g)
	case h.failure() != nil && h.doubt != nil && core.Uncounted(h.failure().Code):
		// an earlier try called the service, so the attempt counts (P45, "not now" is not a failure)
		h.err = &tried{Failure: *h.doubt}
	}
}

// unreached reports whether the breaker is not closed and no try of this handling had an effect. Such a handling
// opened the breaker or was its probe. Its failure counts for the breaker, and not for the step (P45, "not now"
// is not a failure).
func (h *handling) unreached(g *guard) bool {
	f := h.failure()
	return f != nil && f.service && f.NoEffect && h.doubt == nil && !g.closed()
}

func (h *handling) notCalled(g *guard) *tried {
	cause, wait := g.openCause()
	if wait <= 0 {
		wait = h.w.Breaker.Delay / 2
	}
	code := core.CodeBreakerOpen
	if cause.Code == core.CodeUnauthorized {
		code = cause.Code
	}
	call := "the call was not made"
	if h.try > 0 {
		call = "the call had no effect"
	}
	return &tried{Failure: Failure{
		Code: code, NoEffect: true, RetryAfter: wait,
		Err: fmt.Errorf("the circuit breaker of %s %s is open, and %s; the last failure was %s: %w",
			h.w.Agent, h.req.Name, call, cause.Code, cause.Err),
	}}
}

// maxHeldBack is the largest number of receives at which heldBack still returns a request to its queue. It is
// below maxReceiveCount, the number of receives after which SQS moves a message to the dead letters.
const maxHeldBack = 3

// heldBack reports whether the request must return to its queue without a reply, and for how long. The
// request returns if the breaker was open, or if the failure has Requeue. The request does not return if it
// was received too often or has too little time left.
//
// A step uses up no attempts while its requests wait in the queue. The waits after an open breaker differ, so
// that the requests do not all come again at the same time.
func (h *handling) heldBack() (wait time.Duration, fits bool) {
	f := h.failure()
	if f == nil || h.try > 0 && !f.Requeue || h.times > maxHeldBack {
		return 0, false
	}
	wait = f.RetryAfter
	if !f.Requeue {
		wait += time.Duration(h.spread() * float64(h.w.Breaker.Delay) / 2)
	}
	back := h.w.Clock.Now().Add(wait + h.req.Timeout.Std()/2)
	return wait, back.Before(h.stop())
}

// spread returns a number in [0, 1): a hash of the request, the number of receives and the number of tries.
func (h *handling) spread() float64 {
	sum := fnv.New32a()
	fmt.Fprintf(sum, "%s/%d/%d/%d", h.req.Key, h.req.Attempt, h.times, h.try)
	return float64(sum.Sum32()>>8) / (1 << 24)
}

// once makes one try. It stores the outcome in h.err and h.output. It returns nil after a success and
// for a deferred reply, and otherwise h.err.
func (h *handling) once(ctx context.Context) error {
	h.try++
	if h.try > 1 {
		h.w.counters.retried.Add(1)
	}
	h.output = nil
	h.err = errSilent
	if !h.inTime() {
		return h.err
	}
	var out json.RawMessage
	var err error
	if h.byLedger() {
		out, err = h.recorded(ctx)
	} else {
		out, err = h.checked(ctx)
	}
	var deferred *deferral
	if errors.As(err, &deferred) {
		if h.long() {
			h.err = deferred
			return nil
		}
		err = errNotDeferred
	}
	switch {
	case errors.Is(err, errSilent):
	case h.req.Operation == core.UndoOp && (err == nil || classify(err).Happened):
		h.err = nil // the output of an undo is not used (P24, an undo needs no output)
	case err != nil:
		h.err = h.judge(ctx, classify(err))
	default:
		h.output = out
		h.err = nil
	}
	return h.err
}

func (h *handling) judge(ctx context.Context, f Failure) *tried {
	if !f.NoEffect {
		if !f.Permanent && core.Uncounted(f.Code) { // this code is reserved for attempts without a call (P45)
			f.Code = "failed"
		}
		if h.doubt == nil {
			h.doubt = &f
		}
	}
	if !f.Permanent && errors.Is(context.Cause(ctx), errNoProgress) {
		f.Code = "timeout"
		f.Err = fmt.Errorf("for %s %w", h.req.Timeout.Std(), errNoProgress)
	}
	t := &tried{Failure: f}
	t.service = !f.Permanent && h.pivot != pivotNoEffect && f.Code != codeLedger &&
		f.Code != core.CodeNotYet && !f.Requeue &&
		!errors.Is(context.Cause(ctx), context.Canceled)
	left := h.deadline.Sub(h.w.Clock.Now())
	r := h.w.Retry
	t.again = h.try < r.Tries && !f.Permanent && h.pivot != pivotNoEffect && !f.turnedAway() &&
		!f.Requeue && ctx.Err() == nil &&
		time.Duration((1+*r.Jitter)*float64(r.wait(h.try, f.RetryAfter))) < left
	if h.req.Grade == core.Plain && !f.NoEffect && h.op.Check == nil {
		t.again = false // the call must not be repeated if the operation has no check
	}
	return t
}

func (h *handling) checked(ctx context.Context) (json.RawMessage, error) {
	if h.op.Check != nil && (h.req.Attempt > 1 || h.doubt != nil) {
		happened, out, err := h.check(ctx)
		switch {
		case err != nil:
			return nil, err
		case happened:
			return out, nil
		case !h.inTime():
			return nil, errSilent
		}
	}
	return h.call(ctx)
}

// check asks the service whether the operation has happened. A failed check is a transient failure.
// The effect stays in doubt, unless the service turned the check away.
func (h *handling) check(ctx context.Context) (happened bool, out json.RawMessage, err error) {
	defer h.recovered(&err)
	happened, value, err := h.op.Check(ctx, h.asCall())
	if err != nil {
		f := classify(err)
		if f.turnedAway() {
			return false, nil, &f
		}
		return false, nil, &Failure{
			Code: "check-" + f.Code, RetryAfter: f.RetryAfter,
			Err: fmt.Errorf("asking whether it happened before failed: %w", err),
		}
	}
	if !happened {
		return false, nil, nil
	}
	h.w.counters.checked.Add(1)
	out, err = encode(value)
	return true, out, err
}

func (h *handling) call(ctx context.Context) (out json.RawMessage, err error) {
	defer h.recovered(&err)
	value, err := h.op.Run(ctx, h.asCall())
	if err != nil {
		f := classify(err) // here, because the text of an error may panic
		return nil, &f
	}
	return encode(value)
}

func (h *handling) recovered(err *error) {
	if p := recover(); p != nil {
		h.w.counters.panics.Add(1)
		h.w.Log.Error("an operation panicked", about(h.w.Agent, h.req), "panic",
			core.RedactText(fmt.Sprint(p)), "stack", string(debug.Stack()))
		*err = &Failure{
			Code: "panic",
			Err:  errors.New("the operation panicked; the agent's log has its stack"),
		}
	}
}

// traced ends the span. For a failure, the span contains only the code, because the service's text may
// contain parts of an order.
func (h *handling) traced() {
	var err error
	if f := h.failure(); f != nil {
		err = errors.New(f.Code)
	}
	r := h.req
	h.span.End(port.Span{OrderID: r.OrderID, Run: r.Run, Step: r.Step, Attempt: r.Attempt, Trace: r.Trace},
		err)
}

func (h *handling) parent() string {
	if h.span != nil {
		if p := h.span.Traceparent(); p != "" {
			return p
		}
	}
	return h.req.Trace
}

func (h *handling) asCall() Call {
	r := h.req
	return Call{
		OrderID: r.OrderID, Run: r.Run, Step: r.Step, Attempt: r.Attempt, Try: h.try, Operation: r.Operation,
		Name:  r.Name,
		Grade: r.Grade, Key: r.Key, Input: r.Input, Deadline: h.deadline, StopBy: r.StopBy.Std(),
		Resolved: r.Resolved, Trace: h.parent(),
		PointOfNoReturn: r.PointOfNoReturn,
	}
}

// encode returns an output in its shortest form, which the limit is about. An output that is not what
// rawjson.Check accepts, or is too large, is a permanent failure (P28, what is too large fails once). The
// operation has happened, and a repetition would return the same output.
func encode(value any) (json.RawMessage, error) {
	var out json.RawMessage
	switch v := value.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		if len(v) == 0 {
			return nil, nil
		}
		out = v
	default:
		var err error
		out, err = rawjson.Marshal(v)
		if err != nil {
			return nil, unusable(core.CodeOutput, rawjson.In("output", err))
		}
	}
	out, err := rawjson.Shortest(out, rawjson.MaxLevels)
	if err != nil {
		return nil, unusable(core.CodeOutput, rawjson.In("output", err))
	}
	if len(out) > MaxOutput {
		return nil, unusable(core.CodeOutputTooLarge, fmt.Errorf("it has %d bytes and the limit is %d; store it "+
			"elsewhere and return a reference", len(out), MaxOutput))
	}
	return out, nil
}

func unusable(code string, err error) *Failure {
	return &Failure{
		Permanent: true, Happened: true, Code: code,
		Err: fmt.Errorf("the operation was done, but its output cannot be kept: %w", err),
	}
}

// codeLedger means that no call was made, because the ledger could not be used.
const codeLedger = "ledger"
