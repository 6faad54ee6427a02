package wire

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
)

// Transport reads each request's body into memory and sends a copy of the body.
//
// The SDK closes a request's body when the headers of the response arrive. A fast server may respond before
// net/http has noted that the whole body is written. Then net/http finds a closed body, and drops the
// connection with the response. The SDK repeats the call, although the server has executed it. A repeated
// conditional write then fails with a conflict, because the first write has succeeded. Transport prevents
// this failure, because the SDK cannot close the copy. Stepkeeper's requests are small enough to copy.
type Transport struct {
	Next http.RoundTripper // nil means http.DefaultTransport
}

// RoundTrip reads the request's body into memory, and sends a copy of the request with this body.
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
	own := *req // a RoundTripper must not change the caller's request, so change a shallow copy
	own.Body = io.NopCloser(bytes.NewReader(data))
	own.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	return next.RoundTrip(&own)
}
