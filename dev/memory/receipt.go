package memory

import (
	"strconv"
	"strings"
)

// receipt returns the text that names one delivery. The text contains the number of the message, its slot in
// memory, and how often it was received. The message ID is the first part of the text, so that the ID and
// the text need only one allocation.
func receipt(seq uint64, slot uint32, received int) (id, text string) {
	var space [48]byte
	b := strconv.AppendUint(space[:0], seq, 36)
	n := len(b)
	b = append(b, '.')
	b = strconv.AppendUint(b, uint64(slot), 36)
	b = append(b, '.')
	b = strconv.AppendUint(b, uint64(received), 36)
	text = string(b)
	return text[:n], text
}

type parsedReceipt struct {
	seq      uint64
	slot     uint32
	received int
}

func parseReceipt(text string) (r parsedReceipt, ok bool) {
	first, rest, _ := strings.Cut(text, ".")
	second, third, _ := strings.Cut(rest, ".")
	seq, err1 := strconv.ParseUint(first, 36, 64)
	s, err2 := strconv.ParseUint(second, 36, 32)
	n, err3 := strconv.ParseUint(third, 36, 31)
	ok = err1 == nil && err2 == nil && err3 == nil && seq != 0
	return parsedReceipt{seq, uint32(s), int(n)}, ok
}
