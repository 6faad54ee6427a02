package message

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// ContentHash returns the hash of a submission. Repeated submissions of the same order have the same hash
// (P14, submit creates once). The hash consists of the first 16 bytes of SHA-256, in hexadecimal. The input
// of SHA-256 is the canonical JSON of the order, the priority, the reply-to and the workflow. White space,
// the sequence of members, escapes, and the spelling of numbers (1.0 or 1) do not change the hash.
func ContentHash(o SubmitOrder) string {
	b := append(make([]byte, 0, 128+len(o.Order)), `{"order":`...)
	b, _ = rawjson.AppendCanonical(b, o.Order) // cannot fail, because the order has passed rawjson.Check
	for _, m := range [...][2]string{
		{`,"priority":`, cmp.Or(o.Priority, PriorityNormal)},
		{`,"replyTo":`, o.ReplyTo},
		{`,"workflow":`, o.Workflow},
	} {
		b, _ = jsontext.AppendQuote(append(b, m[0]...), m[1]) // invalid UTF-8 becomes U+FFFD
	}
	sum := sha256.Sum256(append(b, '}'))
	return hex.EncodeToString(sum[:16])
}
