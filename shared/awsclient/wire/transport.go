package wire

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
)

// Transport sends each request with its own copy of the body, in memory.
//
// The SDK closes a request's body when the headers of the response arrive. If a fast server responds before
// net/http has noted that the whole body is written, net/http finds a closed body and drops the connection
// with the response. The SDK then repeats a call that has succeeded, and a conditional write reports its own
// success as a conflict. A private copy of the body prevents this. Stepkeeper's requests are small.
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
