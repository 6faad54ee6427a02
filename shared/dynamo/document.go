package dynamo

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// compressors holds reusable writers, because a new one allocates much memory.
var compressors = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(nil, flate.DefaultCompression) // fails only for an unknown level
	return w
}}

// compress returns the document in the format DEFLATE (RFC 1951).
func compress(document []byte) []byte {
	var b bytes.Buffer
	w := compressors.Get().(*flate.Writer)
	defer compressors.Put(w)
	w.Reset(&b)
	_, _ = w.Write(document) // a write into a Buffer cannot fail
	_ = w.Close()
	return b.Bytes()
}

// documentOf returns the document in an item, or the reason why it cannot be read. It reads at most
// port.MaxDocument bytes, because an item of 400 KB can contain a document of 400 MB.
func documentOf(a attrs) (document []byte, damage string) {
	compressed, ok := a[documentAttribute].(*types.AttributeValueMemberB)
	if !ok {
		return nil, "the item has no binary attribute " + documentAttribute
	}
	document, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(compressed.Value)),
		port.MaxDocument+1))
	switch {
	case err != nil:
		return nil, fmt.Sprintf("the attribute %s (%d bytes) is not in the format DEFLATE", documentAttribute,
			len(compressed.Value))
	case len(document) > port.MaxDocument:
		return nil, fmt.Sprintf("the attribute %s contains more than %d bytes, the limit of a document",
			documentAttribute, port.MaxDocument)
	}
	return document, ""
}
