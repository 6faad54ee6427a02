package api

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"

	"github.com/stepkeeper/stepkeeper/dev/answerpage"
)

// guard stands before everything: it lets only programs of this machine in, and no panic out.
//
// Every page in a browser may send requests to the loopback interface. What gives such a request
// away is its Origin, its Sec-Fetch-Site, or, where a name was rebound to 127.0.0.1, its Host.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(under http.ResponseWriter, r *http.Request) {
		w := &response{ResponseWriter: under}
		defer w.finish()
		defer recovered(w)
		if p := foreignOrigin(r); p != nil {
			writeProblem(w, p)
			return
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// response holds the status back until there is something of the body, so that a failure to make the
// body is still answered with its own status.
type response struct {
	http.ResponseWriter
	status int // 0: none was given yet
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

// FlushError is what http.ResponseController looks for.
func (w *response) FlushError() error {
	w.begin()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap leads http.ResponseController to everything else.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *response) begin() {
	if !w.begun && w.status != 0 {
		w.ResponseWriter.WriteHeader(w.status)
	}
	w.begun = true
}

// finish sends the status of an answer without a body.
func (w *response) finish() {
	if w.status != 0 {
		w.begin()
	}
}

func foreignOrigin(r *http.Request) *Problem {
	if !loopbackHost(r.Host) {
		return problem(http.StatusForbidden, CodeForbidden,
			"the host %.100q is not this machine's loopback address; use http://127.0.0.1 or http://localhost with the port", r.Host)
	}
	if strings.HasPrefix(r.URL.Path, answerpage.Prefix) { // P39: links come from mails, and only a token counts; its form has the origin null
		return nil
	}
	if o := r.Header.Get("Origin"); o != "" && o != "http://"+r.Host {
		return problem(http.StatusForbidden, CodeForbidden,
			"a page of the origin %.100q may not use this interface; call it from a program", o)
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); site {
	case "", "none", "same-origin":
		return nil
	default:
		return problem(http.StatusForbidden, CodeForbidden,
			"a page of another site may not use this interface (Sec-Fetch-Site: %.20s); call it from a program", site)
	}
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

// recovered answers a panic with a problem; the log gets the stack, never the body. An answer that
// has begun is cut off instead: text in the middle of it could be taken for a part of it.
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
