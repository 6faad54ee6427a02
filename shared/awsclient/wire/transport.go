package wire

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
)

// maxResponse is the largest response in bytes. DynamoDB has the highest limit, 16 MB before its encoding.
const maxResponse = 32 << 20

// Transport reads each request's body into memory and sends a copy of the body. It limits the size of the
// response, because the SDK reads any response into memory.
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
	res, err := t.send(req)
	if err == nil {
		res.Body = &limited{res.Body, maxResponse}
	}
	return res, err
}

// CloseIdleConnections closes the connections that are kept and not in use.
func (t *Transport) CloseIdleConnections() {
	if c, keeps := t.Next.(interface{ CloseIdleConnections() }); keeps {
		c.CloseIdleConnections()
	}
}

func (t *Transport) send(req *http.Request) (*http.Response, error) {
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

// limited is a body that returns an error after a number of bytes.
type limited struct {
	io.ReadCloser
	left int
}

// Read reads the next bytes of the body.
func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("the response has more than %d bytes", maxResponse)
	}
	n, err := l.ReadCloser.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}
