package sqsproto

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

const macSize = 16

// encoding decodes strictly, so that no two texts decode to the same MAC.
var encoding = base64.RawURLEncoding.Strict()

// receiptHandle appends a MAC to the queue's receipt. The MAC is necessary because a receipt consists
// of small numbers, which anyone could guess.
func (h *handler) receiptHandle(queue, receipt string) string {
	return receipt + "." + encoding.EncodeToString(h.mac(queue, receipt))
}

// receiptOf returns the receipt in a receipt handle. It returns port.ErrReceipt if the handle was not
// made for this queue with this handler's key.
func (h *handler) receiptOf(queue, handle string) (string, error) {
	end := max(strings.LastIndexByte(handle, '.'), 0)
	receipt := handle[:end]
	mac, err := encoding.DecodeString(strings.TrimPrefix(handle[end:], "."))
	if err != nil || !hmac.Equal(mac, h.mac(queue, receipt)) {
		return "", fmt.Errorf("queue %q, receipt handle %.60q: %w", queue, handle, port.ErrReceipt)
	}
	return receipt, nil
}

// mac includes the length of the queue's name, so that the boundary between name and receipt is unambiguous.
func (h *handler) mac(queue, receipt string) []byte {
	m := hmac.New(sha256.New, h.ReceiptKey)
	fmt.Fprintf(m, "stepkeeper receipt 1\n%d\n%s\n%s", len(queue), queue, receipt)
	return m.Sum(nil)[:macSize]
}
