package api

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"unicode"

	"github.com/stepkeeper/stepkeeper/shared/loopback"
)

// guard wraps every handler. It turns panics into responses. It refuses paths that a proxy and this server
// could read differently, and compressed bodies, in which no handler would find JSON.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(under http.ResponseWriter, r *http.Request) {
		w := &response{ResponseWriter: under}
		body := r.Body
		if r.ContentLength != 0 {
			// finish reads the rest of the body, so no handler may close the body
			r.Body = io.NopCloser(body)
		}
		defer w.finish(r.Header.Get("Expect"), body)
		defer recovered(w)
		if !plainPath(r.URL) {
			writeProblem(w, problem(http.StatusBadRequest, CodeInvalid,
				"the path has a dot segment, a doubled, encoded or backward slash, or a sign that no path "+
					"here has; "+
					"write it plainly"))
			return
		}
		coding := r.Header.Get("Content-Encoding")
		if coding != "" && coding != "identity" {
			writeProblem(w, problem(http.StatusUnsupportedMediaType, CodeMediaType,
				"Content-Encoding %.40q is not read here; send the body without compression", coding))
			return
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// plainPath reports whether all proxies and routers split the path into the same segments.
func plainPath(u *url.URL) bool {
	segments := strings.Split(strings.TrimPrefix(u.EscapedPath(), "/"), "/")
	for i, escaped := range segments {
		s, err := url.PathUnescape(escaped)
		empty := s == "" && i < len(segments)-1
		odd := strings.ContainsAny(s, `/\%;`) || strings.ContainsFunc(s, unicode.IsControl)
		if err != nil || empty || odd || s == "." || s == ".." {
			return false
		}
	}
	return true
}

// thisMachine refuses requests whose Host header does not name the loopback interface. Such a request can
// come from a web page whose host name resolves to 127.0.0.1.
func thisMachine(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopback.Is(r.Host) {
			writeProblem(w, problem(http.StatusForbidden, CodeForbidden,
				"the host %.100q is not this machine's loopback address; "+
					"use http://127.0.0.1 or http://localhost with the port", r.Host))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ownOrigin refuses requests from web pages of other origins. Any page in a browser may send requests to the
// loopback interface, but the browser adds the header Origin or Sec-Fetch-Site.
func ownOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if o := r.Header.Get("Origin"); o != "" && o != "http://"+r.Host {
			writeProblem(w, problem(http.StatusForbidden, CodeForbidden,
				"a page of the origin %.100q may not use this interface; call it from a program", o))
			return
		}
		if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "none" && site != "same-origin" {
			writeProblem(w, problem(http.StatusForbidden, CodeForbidden,
				"a page of another site may not use this interface (Sec-Fetch-Site: %.20s); call it from "+
					"a program",
				site))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// response delays the status until the first bytes of the body. If encoding the body fails, the handler can
// still set the status of an error.
type response struct {
	http.ResponseWriter
	status int // 0 means that the handler has set no status yet
	begun  bool
}

func (w *response) WriteHeader(status int) {
	if !w.begun {
		w.status = status
	}
}

func (w *response) Write(b []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(b)
}

// FlushError implements the interface that http.ResponseController expects.
func (w *response) FlushError() error {
	w.begin()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap gives http.ResponseController access to the wrapped writer.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *response) begin() {
	if !w.begun && w.status != 0 {
		if w.status == http.StatusRequestEntityTooLarge {
			w.Header().Set("Connection", "close")
		}
		w.ResponseWriter.WriteHeader(w.status)
	}
	w.begun = true
}

// maxDiscarded is the largest number of bytes that finish reads from the body of a refused request.
const maxDiscarded = 64 << 20

// finish sends the status of a response without a body. After a refusal it also reads the rest of the
// request's body. Otherwise a client that sends its whole body first would get a connection reset instead of
// the response. The time limit of the request limits this read too.
func (w *response) finish(expect string, body io.Reader) {
	if w.status != 0 {
		w.begin()
	}
	if w.status < http.StatusBadRequest || expect != "" { // a client that sends Expect has sent no body yet
		return
	}
	some := make([]byte, 1<<10)
	if n, err := body.Read(some); n == 0 && err != nil {
		return // the handler has read the whole body
	}
	_ = w.FlushError() // the client may have disconnected
	_, _ = io.CopyN(io.Discard, body, maxDiscarded)
}

// recovered turns a panic into a problem. It logs the stack, but never the body. If the response has begun,
// recovered breaks the connection. Otherwise the client could read an appended problem as a part of the
// response.
func recovered(w *response) {
	v := recover()
	if v == nil {
		return
	}
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(v) // the standard way to break a connection
	}
	p := internalProblem(fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
	if w.begun {
		panic(http.ErrAbortHandler)
	}
	writeProblem(w, p)
}
