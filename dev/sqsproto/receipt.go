package sqsproto

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// macSize is the number of MAC bytes in a receipt handle.
const macSize = 16

// encoding has one form for each value.
var encoding = base64.RawURLEncoding.Strict()

// receiptHandle returns the handle for a receiver: the queue's receipt, which consists of small numbers, and
// a MAC. So only the receiver of a message can delete or extend it.
func (h *handler) receiptHandle(queue, receipt string) string {
	return receipt + "." + encoding.EncodeToString(h.mac(queue, receipt))
}

// receiptOf returns the receipt of a handle that this handler made for the queue, or port.ErrReceipt for any
// other handle.
func (h *handler) receiptOf(queue, handle string) (string, error) {
	end := max(strings.LastIndexByte(handle, '.'), 0)
	receipt := handle[:end]
	mac, err := encoding.DecodeString(strings.TrimPrefix(handle[end:], "."))
	if err != nil || !hmac.Equal(mac, h.mac(queue, receipt)) {
		return "", fmt.Errorf("queue %q, receipt handle %.60q: %w", queue, handle, port.ErrReceipt)
	}
	return receipt, nil
}

// mac returns the MAC of the queue and the receipt. The length of the queue's name separates them.
func (h *handler) mac(queue, receipt string) []byte {
	m := hmac.New(sha256.New, h.ReceiptKey)
	fmt.Fprintf(m, "stepkeeper receipt 1\n%d\n%s\n%s", len(queue), queue, receipt)
	return m.Sum(nil)[:macSize]
}
