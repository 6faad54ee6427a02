package sqsproto

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// macSize is how many bytes of its MAC a receipt handle has.
const macSize = 16

// encoding has one form for each value.
var encoding = base64.RawURLEncoding.Strict()

// receiptHandle makes the handle that a receiver gets: a receipt of the queue, which is made of small
// numbers, and a MAC, so that only who has received the message can delete or extend it.
func (h *handler) receiptHandle(queue, receipt string) string {
	return receipt + "." + encoding.EncodeToString(h.mac(queue, receipt))
}

// receiptOf returns the receipt of a handle that was made here for the queue; port.ErrReceipt for any other.
func (h *handler) receiptOf(queue, handle string) (string, error) {
	end := max(strings.LastIndexByte(handle, '.'), 0)
	receipt := handle[:end]
	mac, err := encoding.DecodeString(strings.TrimPrefix(handle[end:], "."))
	if err != nil || !hmac.Equal(mac, h.mac(queue, receipt)) {
		return "", fmt.Errorf("queue %q, receipt handle %.60q: %w", queue, handle, port.ErrReceipt)
	}
	return receipt, nil
}

// mac is over the queue and the receipt; the length of the queue's name parts them.
func (h *handler) mac(queue, receipt string) []byte {
	m := hmac.New(sha256.New, h.ReceiptKey)
	fmt.Fprintf(m, "stepkeeper receipt 1\n%d\n%s\n%s", len(queue), queue, receipt)
	return m.Sum(nil)[:macSize]
}
