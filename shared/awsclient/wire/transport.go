package wire

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
)

// Transport hands each request on with a body of its own, in memory.
//
// The SDK closes a request's body as soon as the answer's headers are there. Where a fast server
// answers before net/http has taken note that the whole body is written, net/http sees a body that
// was closed under its hands, drops the connection with the answer, and the SDK repeats a call that
// has succeeded; a conditional write then reports its own first success as a conflict. With a body
// that nothing else holds this cannot happen. Our requests are small.
type Transport struct {
	Next http.RoundTripper // nil means http.DefaultTransport
}

// RoundTrip sends a copy of the request with the body read into memory.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	next := cmp.Or(t.Next, http.DefaultTransport)
	if req.Body == nil || req.Body == http.NoBody {
		return next.RoundTrip(req)
	}
	data, err := io.ReadAll(req.Body)
	if closed := req.Body.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, fmt.Errorf("reading the body of a request: %w", err)
	}
	if len(data) == 0 { // net/http sends an empty body of unknown length in chunks
		own := *req
		own.Body, own.GetBody, own.ContentLength = http.NoBody, nil, 0
		return next.RoundTrip(&own)
	}
	own := *req // the original must not be changed; headers and context are only read
	own.Body = io.NopCloser(bytes.NewReader(data))
	own.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	own.ContentLength = int64(len(data))
	return next.RoundTrip(&own)
}
