package api

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"strings"
	"unicode"
)

// guard wraps every handler. It recovers from panics, and refuses paths that a proxy could read differently.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(under http.ResponseWriter, r *http.Request) {
		w, body := &response{ResponseWriter: under}, r.Body
		if r.ContentLength != 0 {
			// finish reads the rest of the body, so no handler may close it
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
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// plainPath reports whether proxies and routers of every kind read the same segments from a path.
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

// thisMachine refuses requests whose Host does not name the loopback interface, because the name of another
// site may resolve to 127.0.0.1.
func thisMachine(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopbackHost(r.Host) {
			writeProblem(w, problem(http.StatusForbidden, CodeForbidden,
				"the host %.100q is not this machine's loopback address; "+
					"use http://127.0.0.1 or http://localhost with the port", r.Host))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ownOrigin refuses requests of pages of other origins. Every page in a browser may send requests to the
// loopback interface. Its Origin or Sec-Fetch-Site reveals such a request.
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

// response holds the status back until the first bytes of the body, so that a failure to make the body still
// gets its own status.
type response struct {
	http.ResponseWriter
	status int // 0 means that none was set yet
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

// FlushError implements the interface of http.ResponseController.
func (w *response) FlushError() error {
	w.begin()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap gives http.ResponseController access to all other methods.
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

// maxDiscarded is the number of bytes of a refused body that are read, so that its sender reads the refusal.
const maxDiscarded = 64 << 20

// finish sends the status of a response without a body. After a refusal it reads the rest of the request's
// body, because a sender that writes everything first would get a connection reset instead of the response.
// The time limit of the request bounds that read too.
func (w *response) finish(expect string, body io.Reader) {
	if w.status != 0 {
		w.begin()
	}
	if w.status < http.StatusBadRequest || expect != "" { // a client that expects "continue" has sent no body
		return
	}
	some := make([]byte, 1<<10)
	if n, err := body.Read(some); n == 0 && err != nil {
		return // the body was read completely
	}
	_ = w.FlushError() // the client may have disconnected
	_, _ = io.CopyN(io.Discard, body, maxDiscarded)
}

// loopbackHost reports whether the Host header names the loopback interface, with or without port.
func loopbackHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	} else if len(host) > 1 && host[0] == '[' && host[len(host)-1] == ']' {
		name = host[1 : len(host)-1]
	}
	if name == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(name)
	return err == nil && a.Unmap().IsLoopback()
}

// recovered turns a panic into a problem. It logs the stack, never the body. It breaks off a response that
// has begun, because the client could take an appended problem for a part of it.
func recovered(w *response) {
	v := recover()
	if v == nil {
		return
	}
	if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(v) // the standard library's way to drop a connection
	}
	p := internalProblem(fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
	if w.begun {
		panic(http.ErrAbortHandler)
	}
	writeProblem(w, p)
}
