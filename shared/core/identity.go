package core

import (
	"encoding/binary"
	"encoding/hex"
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
		return "deadline/" + strconv.Itoa(e.Run) + "/" + strconv.Itoa(t.Deadline.Seq)
	case Cancel:
		return "cancel/" + strconv.Itoa(e.Run)
	case UndoCommand:
		return "undo/" + strconv.Itoa(e.Command)
	case Resubmit:
		return "resubmit/" + strconv.Itoa(e.Command)
	case Resolve:
		return "resolve/" + strconv.Itoa(e.Command)
	case Close:
		return "close/" + strconv.Itoa(e.Command)
	case Move:
		return "move/" + strconv.Itoa(e.Command)
	case Erase:
		return "erase/" + strconv.Itoa(e.Command)
	case Answered:
		return causeAnswer(e)
	case AskChild:
		return "parent/" + strconv.Itoa(e.Parent.Attempt) + "/" + string(e.Ask)
	case ChildEnded:
		return "child/" + e.Parent.Step + "/" + strconv.Itoa(e.Parent.Attempt) + "/" +
			strconv.Itoa(e.Parent.Index)
	}
	return ""
}

// causeAnswer holds a hash of the answer's ID, so that no cause is longer than that of a reply.
func causeAnswer(e Answered) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(e.Name + "/" + strconv.Itoa(e.Run) + "/" + strconv.Itoa(e.Round) + "/" + e.ID))
	return "answer/" + e.Step + "/" + hex.EncodeToString(h.Sum(nil))
}

// Key is the idempotency key of a step: the same for every attempt in a run, do and undo (P2).
func Key(orderID string, run int, step string) string {
	return orderID + "/" + strconv.Itoa(run) + "/" + step
}

// Trace is the W3C traceparent of a run of an order, with which the spans of its handlings are linked.
func Trace(orderID string, run int) string { return trace(orderID, run, "", 0) }

// trace derives a W3C traceparent: one trace for a run, one span for an attempt. It is derived
// so that a re-emission is the same, byte for byte (P12).
func trace(orderID string, run int, step string, attempt int) string {
	var room [128]byte
	name := append(append(room[:0], orderID...), '/')
	name = strconv.AppendInt(name, int64(run), 10)
	id := fnv.New128a()
	_, _ = id.Write(name)
	span := fnv.New64a()
	name = append(append(append(name, '/'), step...), '/')
	_, _ = span.Write(strconv.AppendInt(name, int64(attempt), 10))
	b := append(make([]byte, 0, len("00-0123456789abcdef0123456789abcdef-0123456789abcdef-01")), "00-"...)
	b = hex.AppendEncode(b, id.Sum(room[:0]))
	b = append(b, '-')
	b = hex.AppendEncode(b, binary.BigEndian.AppendUint64(room[:0], span.Sum64()|1))
	return string(append(b, "-01"...))
}

// jitter is a number in [0, 1) that belongs to one attempt: random enough to spread retries,
// and the same on every instance.
func jitter(orderID string, run int, step string, attempt int) float64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s/%d/%s/%d", orderID, run, step, attempt)
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
