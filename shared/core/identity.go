package core

import (
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
)

// Causes are logical, not a queue's message ID, so that a redelivery is recognised (P4).
func causeReply(r Reply) string {
	return "reply/" + r.Step + "/" + strconv.Itoa(r.Attempt) + "/" + string(r.Outcome)
}

func causeOf(ev Event, t *Task) string {
	switch e := ev.(type) {
	case Submitted:
		return "submit"
	case Reply:
		return causeReply(e)
	case Overdue:
		return "overdue/" + e.Step + "/" + strconv.Itoa(e.Attempt)
	case Wake:
		return "wake/" + e.Step + "/" + strconv.Itoa(e.Attempt)
	case DeadlinePassed:
		return fmt.Sprintf("deadline/%d/%d", e.Run, t.DeadlineSeq)
	case Cancel:
		return "cancel/" + strconv.Itoa(e.Run)
	case UndoCommand:
		return "undo/" + strconv.Itoa(e.Command)
	case Resubmit:
		return "resubmit/" + strconv.Itoa(e.Command)
	case Resolve:
		return "resolve/" + strconv.Itoa(e.Command)
	}
	return ""
}

// Key is the idempotency key of a step: the same for every attempt in a run, do and undo (P2).
func Key(orderID string, run int, step string) string {
	return orderID + "/" + strconv.Itoa(run) + "/" + step
}

// trace derives a W3C traceparent: one trace for a run, one span for an attempt. It is derived
// so that a re-emission is the same, byte for byte (P12).
func trace(orderID string, run int, step string, attempt int) string {
	h := fnv.New128a()
	fmt.Fprintf(h, "%s/%d", orderID, run)
	id := h.Sum(nil)
	s := fnv.New64a()
	fmt.Fprintf(s, "%s/%d/%s/%d", orderID, run, step, attempt)
	return fmt.Sprintf("00-%x-%016x-01", id, s.Sum64()|1)
}

// jitter is a number in [0, 1) that belongs to one attempt: random enough to spread retries,
// and the same on every instance.
func jitter(orderID string, run int, step string, attempt int) float64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d/%s/%d", orderID, run, step, attempt)
	x := h.Sum64()
	// FNV's high bits change little between short inputs: mix once more (the finaliser of MurmurHash3).
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return float64(x>>11) / (1 << 53)
}

// backoff is the wait after the n-th counted failure, n from 1.
func (b Backoff) wait(n int, u float64) Duration {
	d := float64(b.Initial) * math.Pow(b.Multiplier, float64(n-1))
	if limit := float64(b.Max); d > limit {
		d = limit
	}
	return Duration(math.Round(d * (1 - b.Jitter*u)))
}
