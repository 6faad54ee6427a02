package core

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
	"strconv"
)

// Key returns the idempotency key of a step, for its do and its undo (P2, attempts of a run share a key).
func Key(orderID string, run int, step string) string {
	return orderID + "/" + strconv.Itoa(run) + "/" + step
}

// Trace returns the W3C traceparent that links all spans of a run.
func Trace(orderID string, run int) string { return AttemptTrace(orderID, run, "", 0) }

// AttemptTrace returns the W3C traceparent of an attempt. The attempts of a run share one trace, and each
// attempt has its own span. The value depends on the arguments only, so that a repeated request has the same
// bytes (P12, effects are emitted again).
func AttemptTrace(orderID string, run int, step string, attempt int) string {
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

// MaxID is the longest ID of a task, in bytes.
const MaxID = 128

// ChildID returns the ID of a child task. From run 1 on, the ID contains the parent's run. The order of a
// task never changes, but another run may have other orders. An ID of more than MaxID bytes is cut, and ends
// with two ChildMarks and a hash. No other ID has two adjacent ChildMarks.
func (p Parent) ChildID() string {
	id := p.OrderID + ChildMark + p.Step + ChildMark + strconv.Itoa(p.Index)
	if p.Run > 0 {
		id += "." + strconv.Itoa(p.Run)
	}
	if len(id) <= MaxID {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	tail := ChildMark + ChildMark + hex.EncodeToString(sum[:16])
	return id[:MaxID-len(tail)] + tail
}

// ChildMark occurs in the IDs of child tasks only.
const ChildMark = "~"
